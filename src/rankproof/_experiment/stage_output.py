"""StageOutput and its bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rankproof._data.answers import Answer
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.ordering import Ranking
from rankproof._data.run import PARTS
from rankproof._data.text import pluralise
from rankproof._io.journal import Block
from rankproof._llm.call_counts import COUNT_NAMES, CountName, estimation_note
from rankproof.stages._base import Cost, QueryTimer

CountsByName = Mapping[str, IntArray]


def call_count_notes(counts: CountsByName) -> tuple[str, ...]:
    """A sentence for each thing that a reader must know; `counts` has one number a query under each name."""
    sums = {name: int(values.sum()) for name, values in counts.items()}
    estimated = estimation_note(sums["estimated"])
    told = [
        _failed_calls_note(sums),
        *_yes_no_note(counts),
        *_order_bias_note(sums),
        *_answer_format_note(sums),
        _unreadable_note(sums),
        estimated,
    ]
    return tuple(note for note in told if note)


def _failed_calls_note(sums: Mapping[str, int]) -> str:
    """What came of the asks that brought nothing of use."""
    lost = sums["failed"] + sums["given_up"]
    if not lost:
        return ""
    causes = {**sums, "failed": sums["failed"] - sums["refused"]}
    why = ", ".join(f"{text} ({causes[name]})" for name, text in _FAILURE_REASONS.items() if causes[name])
    of, became = next(((sums[use], text) for use, text in _FAILURE_EFFECTS.items() if sums[use]), (0, _FAILED_CALLS))
    return f"{became.format(lost=lost, of=of, undecided=sums['undecided'])}: {why}"


_FAILED_CALLS = "{lost} asks brought nothing of use"
_FAILURE_REASONS: Mapping[CountName, str] = {
    "given_up": "no reply of use after every attempt",
    "refused": "refused by the server",
    "failed": "no reply at all",
}
_FAILURE_EFFECTS: Mapping[CountName, str] = {
    "rewritten": "{lost} of {of} queries were not rewritten and were asked as they are",
    "windows": "{lost} of {of} windows kept the order below",
    "graded": "{lost} of {of} documents kept their place below, the others were put in order around them",
    "compared": "{undecided} of {of} compared pairs count as ties",
}


def _yes_no_note(counts: CountsByName) -> list[str]:
    """Which way the replies of documents asked about one by one were read."""
    asked, odds, texts = (int(np.count_nonzero(counts[name])) for name in ("graded", "by_odds", "by_text"))
    if not asked:
        return []
    told = {
        f"{odds} of {asked} queries were ranked by the log-probabilities of Yes and No": odds,
        f"{texts} of {asked} queries were ranked by the replies' text, Yes above No: not every reply brought a log-probability "
        "of Yes or No": texts,
        f"{asked - odds - texts} of {asked} queries kept the order below: no document had a reply of use": asked - odds - texts,
    }
    return [note for note, count in told.items() if count]


def _order_bias_note(sums: Mapping[str, int]) -> list[str]:
    """How often the order of two documents decided, and not the documents."""
    pairs, disagreed = sums["compared"], sums["disagreed"]
    if not disagreed:
        return []
    return [f"{disagreed} of {pairs} compared pairs ({disagreed / pairs:.0%}) are ties: the model went by which one came first"]


def _answer_format_note(sums: Mapping[str, int]) -> list[str]:
    """What answers lack: the form that was asked for, and sources that there are."""
    plain, strange = 0 if sums["graded"] else sums["by_text"], sums["dropped"]
    told = {
        f"{pluralise(plain, 'reply is', 'replies are')} plain text and not the JSON that was asked for": plain,
        pluralise(strange, "source was", "sources were") + " named by answers and never given to them, and left out": strange,
    }
    return [note for note, count in told.items() if count]


def _unreadable_note(sums: Mapping[str, int]) -> str:
    count = sums["unreadable"]
    one = "reply was not in the form that was asked for, or was cut or refused"
    return pluralise(count, one, "replies were not in the form that was asked for, or were cut or refused") if count else ""


PackedRankings = tuple[list[list[str]], FloatArray]


def pack_rankings(rankings: Iterable[Ranking]) -> PackedRankings:
    """The documents of each ranking, and the scores of all, one after the other."""
    each = list(rankings)
    scores = np.concatenate([np.zeros(0), *(np.asarray(scores, np.float64) for _, scores in each)])
    return [list(docs) for docs, _ in each], scores


def unpack_rankings(docs: Iterable[list[str]], scores: FloatArray) -> Iterator[Ranking]:
    """The rankings again, their scores copied."""
    at = 0
    for found in docs:
        yield found, np.array(scores[at : at + len(found)])
        at += len(found)


TimesByPart = dict[str, FloatArray]
_TRUNCATION_COUNTS = ("cut", "cut_queries")


@dataclass(frozen=True, eq=False, slots=True)
class BlockOutput:
    """The rankings of all queries, and of each the milliseconds by part, how many pairs were cut, and whether it was itself.

    `counts` is what asking language models came to, by query; `answers` is None where the stage gives none.
    """

    rankings: tuple[Ranking, ...]
    times: Mapping[str, FloatArray]
    cut: IntArray
    cut_queries: IntArray
    counts: Mapping[str, IntArray]
    answers: tuple[Answer, ...] | None = None

    def notes(self) -> tuple[str, ...]:
        """What a reader must see of the answers, however many starts they took."""
        count, asked, pairs = int(np.count_nonzero(self.cut_queries)), len(self.cut_queries), int(self.cut.sum())
        told = {
            f"{count} of {asked} queries ({count / max(asked, 1):.0%})": count,
            pluralise(pairs, "pair of query and passage", "pairs of query and passage"): pairs,
        }
        cut = (
            f"{what} {'is' if found == 1 else 'are'} longer than the model reads and {'was' if found == 1 else 'were'} cut"
            for what, found in told.items()
            if found
        )
        return (*cut, *call_count_notes(self.counts))


def query_block(rankings: Sequence[Ranking], clocks: Sequence[QueryTimer], answers: Sequence[Answer] | None = None) -> Block:
    """Rankings, times, counts and answers of some queries."""
    docs, scores = pack_rankings(rankings)
    times: TimesByPart = {part: np.array([timer.milliseconds[part] for timer in clocks]) for part in PARTS}
    cut = {name: np.array([getattr(timer, name) for timer in clocks], np.int64) for name in _TRUNCATION_COUNTS}
    counts = {str(name): np.array([timer.counts[name] for timer in clocks], np.int64) for name in COUNT_NAMES}
    said = {} if answers is None else {"answers": _json_bytes([asdict(answer) for answer in answers])}
    return {"docs": _json_bytes(docs), "scores": scores, **cut, **counts, **times, **said}


def read_query_blocks(blocks: Sequence[Block]) -> BlockOutput:
    """What the blocks say, copied out of them."""
    each = (unpack_rankings(json.loads(block["docs"].tobytes()), block["scores"]) for block in blocks)
    times: TimesByPart = {part: np.concatenate([np.zeros(0), *(block[part] for block in blocks)]) for part in PARTS}
    whole = {
        name: np.concatenate([np.zeros(0, np.int64), *(block[name] for block in blocks)])
        for name in (*_TRUNCATION_COUNTS, *COUNT_NAMES)
    }
    answered = [
        answer for block in blocks if "answers" in block for answer in answers_from_json(json.loads(block["answers"].tobytes()))
    ]
    return BlockOutput(
        tuple(ranking for rankings in each for ranking in rankings),
        times,
        whole["cut"],
        whole["cut_queries"],
        {name: whole[name] for name in COUNT_NAMES},
        tuple(answered) if blocks and "answers" in blocks[0] else None,
    )


def answers_from_json(values: Sequence[Mapping[str, object]]) -> list[Answer]:
    """Answers that were written as JSON."""
    return [Answer(**{**one, "cited": tuple(one["cited"]), "given": tuple(one["given"])}) for one in values]  # type: ignore[arg-type]


def _json_bytes(value: object) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


@dataclass(frozen=True, eq=False, slots=True)
class StageOutput:
    """A stage's rankings for the asked queries, in their order; `times` holds its own milliseconds a query, by part.

    `counts` is what its own asks of language models came to, by query; `answers` is None where neither it nor what it rests on
    answers.
    """

    rankings: tuple[Ranking, ...]
    times: Mapping[str, FloatArray]
    cost: Cost
    throughput: float | None
    facts: Mapping[str, Any]
    notes: tuple[str, ...]
    computed: str
    from_cache: bool = False
    counts: Mapping[str, IntArray] = field(default_factory=dict)
    answers: tuple[Answer, ...] | None = None


def inherited_answers(
    own: tuple[Answer, ...] | None, inputs: Sequence[StageOutput]
) -> tuple[tuple[Answer, ...] | None, tuple[str, ...]]:
    """The answers of a stage: its own, else those of the only stage below it; and a note where there are several, and so none."""
    if own is not None or len(inputs) == 1:
        return inputs[0].answers if own is None else own, ()
    many = sum(each.answers is not None for each in inputs)
    note = f"the answers of {many} of the {len(inputs)} rankings that are joined are dropped: the joined ranking has none"
    return None, (note,) if many else ()


def stage_output_bytes(output: StageOutput) -> bytes:
    """The outcome as an npz file without pickles."""
    docs, scores = pack_rankings(output.rankings)
    meta = {
        "docs": docs,
        "cost": [output.cost.seconds, output.cost.bytes, dict(output.cost.shared)],
        "throughput": output.throughput,
        "facts": output.facts,
        "notes": output.notes,
        "computed": output.computed,
        "answers": None if output.answers is None else [asdict(answer) for answer in output.answers],
    }
    arrays: dict[str, Any] = {f"time-{part}": values for part, values in output.times.items()}
    arrays |= {f"count-{name}": values for name, values in output.counts.items()}
    arrays["scores"] = scores
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)
    return buffer.getvalue()


def read_stage_output(content: bytes) -> StageOutput:
    """The outcome that was written."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        meta = json.loads(arrays["meta"].tobytes())
        scores = arrays["scores"]
        times = _without_prefix("time-", arrays)
        counts = _without_prefix("count-", arrays)
    seconds, size, shared = meta["cost"]
    return StageOutput(
        tuple(unpack_rankings(meta["docs"], scores)),
        times,
        Cost(seconds, size, {key: (part[0], part[1]) for key, part in shared.items()}),
        meta["throughput"],
        meta["facts"],
        tuple(meta["notes"]),
        meta["computed"],
        from_cache=True,
        counts=counts,
        answers=None if meta["answers"] is None else tuple(answers_from_json(meta["answers"])),
    )


def _without_prefix(start: str, arrays: Any) -> dict[str, Any]:
    return {name.removeprefix(start): arrays[name] for name in arrays.files if name.startswith(start)}
