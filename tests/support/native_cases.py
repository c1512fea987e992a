"""Inputs for the native reader, and assertions that both engines agree."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import TypeVar
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

from rankproof import _engine_choice
from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._formats import native
from rankproof._formats.columns import Kind
from rankproof._formats.registry import format_named
from rankproof._formats.rows import ParseOptions
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError

Value = TypeVar("Value")
BLOCKS = st.sampled_from([1, 2, 3, 7, 16, 61, 64, 100, 1000, 1 << 18])
LEVELS = st.sampled_from([0, 1, 2, 3])


def source_of(text: bytes) -> ByteSource:
    """A source of bytes in memory."""
    return ByteSource(name="file.txt", open=lambda: io.BytesIO(text))


NOISE = [
    b"\xff",
    b"\xe9",
    b"\xed\xa0\x80",
    b"\x00",
    b"\xc2\x85",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"#",
    b"\n",
    b"\r",
    b" ",
    b"\xe2\x80",
]


@st.composite
def noisy(draw: st.DrawFn, texts: st.SearchStrategy[bytes]) -> bytes:
    """A text with noise bytes somewhere in it."""
    text = draw(texts)
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(st.sampled_from(NOISE)) + text[at:]


def values_of(run: Run) -> list[object]:
    """Everything that a run holds, scores as their bits."""
    columns = [None if column is None else column.tolist() for column in (run.offsets, run.ranks, run.lines)]
    return [run.name, run.source, run.queries, run.tags, tuple(run.docs), run.scores.tobytes(), *columns]


def readings() -> st.SearchStrategy[ReadOptions]:
    """Every way of reading that is the engine's business."""
    return st.builds(
        ReadOptions,
        order=st.sampled_from(["score", "score", "rank"]),
        lower_is_better=st.booleans(),
        float32=st.booleans(),
        on_duplicate=st.sampled_from(["error", "keep-best", "keep-first", "keep-last"]),
    )


def outcome(call: Callable[[], Value]) -> Value | str:
    """What a call gives, or the message of what it refuses."""
    try:
        return call()
    except InputError as error:
        return str(error)


def assert_same_hits(found: Hits | str, wanted: Hits | str) -> None:
    """Equal in every array and every count, or refused in the same words."""
    if isinstance(wanted, str) or isinstance(found, str):
        assert found == wanted
        return
    assert found.alignment_counts == wanted.alignment_counts
    for name in ("present", "retrieved", "offsets", "ranks", "grades"):
        left, right = getattr(found, name), getattr(wanted, name)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right, err_msg=name)
    for name, left, right in zip(found.ties._fields, found.ties, wanted.ties, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=f"ties, {name}")


def assert_same_judged(found: JudgedQueries | str, wanted: JudgedQueries | str) -> None:
    """Equal in every array, or refused in the same words."""
    if isinstance(wanted, str) or isinstance(found, str):
        assert found == wanted
        return
    assert (found.queries, found.repeats, found.source) == (wanted.queries, wanted.repeats, wanted.source)
    assert found.judge_labels == wanted.judge_labels
    np.testing.assert_array_equal(found.offsets, wanted.offsets)
    np.testing.assert_array_equal(found.grades, wanted.grades)


def rows_at_random(seed: int) -> list[tuple[str, str, int, float]]:
    """Rows (query, doc, rank, score) such as real runs have, of a shape that the seed picks."""
    chance = random.Random(seed)
    docs = [
        f"{front}{index}"
        for front in ("d", "é", "e\u0301", "a-longer-front-of-an-id")
        for index in range(chance.choice([3, 12, 40]))
    ]
    kind = chance.randrange(3)
    repeated = chance.random() < 0.2
    rows: list[tuple[str, str, int, float]] = []
    for query in chance.sample(["1", "2", "é", "e\u0301", "long-query-number-five"], chance.randrange(1, 6)):
        size = chance.randrange(1, len(docs))
        picked = chance.choices(docs, k=size) if repeated else chance.sample(docs, size)
        scores = _arranged([_score(kind, chance) for _ in picked], chance)
        ranks = _arranged([float(rank) for rank in range(chance.choice([0, 1, 1]), size + 2)], chance)
        rows += [(query, doc, int(rank), value) for doc, rank, value in zip(picked, ranks, scores, strict=False)]
    if chance.random() < 0.3:
        chance.shuffle(rows)
    return rows


def _score(kind: int, chance: random.Random) -> float:
    return (chance.uniform(-5, 5), float(chance.randrange(4)), chance.gauss(0, 1e-9))[kind]


def _arranged(values: list[float], chance: random.Random) -> list[float]:
    """Rising, falling, falling but for a few, with repeats, or in no order."""
    ordered = sorted(values, reverse=chance.random() < 0.7)
    kind = chance.random()
    if kind < 0.2:
        chance.shuffle(ordered)
    elif kind < 0.4:
        at = chance.randrange(len(ordered))
        ordered[at] = chance.choice(ordered)
    return ordered


def run_text(rows: list[tuple[str, str, int, float]]) -> bytes:
    """The rows as a TREC run."""
    return "".join(f"{query} Q0 {doc} {rank} {score!r} tag\n" for query, doc, rank, score in rows).encode()


def judged_at_random(seed: int) -> dict[str, dict[str, int]]:
    """Judgements of some of the documents and queries that rows_at_random can have."""
    chance = random.Random(seed)
    docs = [f"{front}{index}" for front in ("d", "é", "e\u0301", "a-longer-front-of-an-id", "other") for index in range(40)]
    queries = chance.sample(["1", "2", "é", "e\u0301", "long-query-number-five", "absent"], chance.randrange(1, 6))
    return {query: {doc: chance.randrange(-1, 4) for doc in chance.sample(docs, chance.randrange(1, 150))} for query in queries}


def qrels_text(judged: dict[str, dict[str, int]]) -> bytes:
    """The judgements as TREC qrels."""
    return "".join(f"{query} 0 {doc} {grade}\n" for query, docs in judged.items() for doc, grade in docs.items()).encode()


def read(format: str, text: bytes, kind: Kind, options: ParseOptions) -> Run | Qrels:
    """The text by the engine that is chosen."""
    reader = format_named(format)
    return reader.read_run(source_of(text), "x", options) if kind == "run" else reader.read_qrels(source_of(text), options)


def assert_same_in_both(format: str, text: bytes, kind: Kind, options: ParseOptions, block: int) -> None:
    """Equal in every value, or rejected with the same message."""
    with patch.object(native, "BLOCK_BYTES", block):
        found = outcome(lambda: read(format, text, kind, options))
    with patch.object(_engine_choice, "chosen_name", lambda: "reference"):
        wanted = outcome(lambda: read(format, text, kind, options))
    assert contents(found) == contents(wanted)


def contents(found: Run | Qrels | str) -> object:
    """Every value of a run or of judgements, or the message."""
    if isinstance(found, Run):
        return values_of(found)
    if isinstance(found, Qrels):
        judgements = [(query, list(docs.items())) for query, docs in found.items()]
        return judgements, found.source, found.repeats, found.converted, dict(found.judge_labels)
    return found
