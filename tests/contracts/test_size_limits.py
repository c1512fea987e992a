"""The law of sizes: a buffer, block or batch that is full, nearly full or overfull changes no result.

Each limit is made small, and the results for sizes around it are those under the limit that the package has, which these sizes
do not reach. Limits in C cannot be changed: results around them are those of plain Python.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankproof as rp
from rankproof._analysis.decision.queries_needed import queries_needed
from rankproof._analysis.options import StabilityOptions
from rankproof._analysis.stability import Choice, _halves
from rankproof._data.arrays import PackedIds, merged_entries, sorted_entries
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Query
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._engine_choice import is_built
from rankproof._executors.base import SerialExecutor
from rankproof._experiment.cache import MemoryBlockCache
from rankproof._experiment.runner import StageRunner
from rankproof._formats.documents import read_corpus_files
from rankproof._generate.generated_queries import RejectedQuery, _report_blocks
from rankproof._importers.base import ImportOptions, ImportSource
from rankproof._importers.registry import import_source
from rankproof._importers.search_log.log import SearchLog
from rankproof._importers.search_log.options import LogOptions
from rankproof._importers.search_log.read import read_search_log
from rankproof._io.array_files import open_arrays, write_arrays
from rankproof._io.corpus_store import CorpusStorage
from rankproof._io.files import write_blocks
from rankproof._io.open import open_source, raw_lines, read_all_bytes
from rankproof._statistics import paired
from rankproof._statistics.collapse import CosineSums
from rankproof._statistics.intervals import resampled_means
from rankproof._statistics.permutation import label_p, randomisation_p
from rankproof._statistics.position_bias import RankedClicks
from rankproof.measures._parse import parse_measures
from rankproof.stages import BM25, RM3, Dense
from rankproof.stages._base import BuildContext, Stage
from rankproof.stores._memory import VectorRows, best_kernel, nearest
from support.paths import SOURCE
from support.small_models import HashedWords

Compute = Callable[[int, Path], Any]
"""The result for a size, which must not depend on the limit."""


def text_of(size: int) -> bytes:
    """A text of so many bytes, with all kinds of line ends and characters of several bytes."""
    pattern = "some words\r\nÄpfel\n\nzwei\rdrei 🍏\n".encode() * (size // 20 + 1)
    return pattern[:size].decode(errors="ignore").encode().ljust(size, b"x")


def lines_of(size: int, folder: Path) -> list[bytes]:
    (folder / "t.txt").write_bytes(text_of(size))
    found = [line for _, line in raw_lines(open_source(folder / "t.txt"))]
    assert found == text_of(size).splitlines(keepends=True)
    return found


def unpacked(size: int, folder: Path) -> bytes:
    """The text of gzip files of one and of two members, and of a zstd file."""
    text = text_of(size)
    (folder / "t.gz").write_bytes(gzip.compress(text) + gzip.compress(text))
    write_blocks(str(folder / "t.zst"), [text])
    found = [read_all_bytes(open_source(folder / name)) for name in ("t.gz", "t.zst")]
    assert found == [text + text, text]
    return b"".join(found)


def piped(size: int, folder: Path) -> bytes:
    given = sys.stdin
    try:
        sys.stdin = io.TextIOWrapper(io.BytesIO(text_of(size)), encoding="utf-8")
        found = read_all_bytes(open_source("-"))
    finally:
        sys.stdin = given
    assert found == text_of(size)
    return found


def written(size: int, folder: Path) -> bytes:
    blocks = [text_of(size)[start : start + 7] for start in range(0, size, 7)]
    write_blocks(str(folder / "t.bin"), blocks)
    assert (folder / "t.bin").read_bytes() == text_of(size)
    return text_of(size)


def stored_arrays(size: int, folder: Path) -> bytes:
    path = folder / f"{size}-{len(list(folder.iterdir()))}.arrays"
    write_arrays(path, {"numbers": np.arange(size, dtype=np.uint8), "more": np.arange(3)})
    assert open_arrays(path).arrays["numbers"].tolist() == [number % 256 for number in range(size)]
    return path.read_bytes()


def packed_ids(size: int, folder: Path) -> tuple[str, ...]:
    ids = [f"ä{at}" if at % 3 else f"d{at}" for at in range(size)]
    bounds = np.cumsum([0, *(len(one.encode()) for one in ids)])
    found = tuple(PackedIds("".join(ids).encode(), bounds))
    assert found == tuple(ids)
    return found


def merged(size: int, folder: Path) -> list[list[int]]:
    hashes = np.random.default_rng(size).integers(0, 50, 2 * size).astype(np.uint64) << np.uint64(58)
    parts = [(0, sorted_entries(hashes[:size])), (size, sorted_entries(hashes[size:]))]
    found: list[list[int]] = np.concatenate(list(merged_entries(parts))).tolist()
    assert found == [[int(key), at] for key, at in sorted((int(key), at) for at, key in enumerate(hashes))]
    return found


def corpus_content(corpus: Corpus) -> list[Any]:
    return [corpus.fingerprint(), *((one.id, one.title, one.text, dict(one.fields), one.line) for one in corpus.values())]


def imported(size: int, folder: Path, storage: CorpusStorage | None = None) -> list[Any]:
    """A table in which each document comes twice, every third with another text."""
    rows = [f"q{at % 3},d{at},title {at},text {at},{at % 2}\n" for at in range(size)]
    again = [f"r{at % 3},d{at},title {at},text {at}{' new' if at % 3 == 0 else ''},1\n" for at in range(size)]
    (folder / "t.csv").write_text("query,doc_id,title,text,grade\n" + "".join(rows + again))
    found = import_source(folder / "t.csv", ImportOptions(), storage=storage or CorpusStorage(None))
    changed = len(range(0, size, 3))
    assert f"{changed} document{'s' if changed > 1 else ''} with more than one text" in found.report.notes[0]
    assert [one.text for one in found.dataset.corpus.values()] == [f"text {at}" for at in range(size)]
    return [found.report, corpus_content(found.dataset.corpus), found.dataset.fingerprint()]


def read_documents(size: int, folder: Path, storage: CorpusStorage | None = None) -> list[Any]:
    """Documents of lines that C reads, and of lines that it leaves to Python."""
    items = [{"_id": f"d{at}", "text": f"text {at}", **({"nested": {"a": [at]}} if at % 5 == 0 else {})} for at in range(size)]
    (folder / "c.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    corpus = read_corpus_files([str(folder / "c.jsonl")], storage or CorpusStorage(None))
    assert [one.text for one in corpus.values()] == [item["text"] for item in items]
    assert all(corpus[f"d{at}"].id == f"d{at}" for at in range(size))
    return corpus_content(corpus)


def both(size: int, folder: Path) -> list[Any]:
    return [imported(size, folder), read_documents(size, folder)]


def judged_run(size: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """So many queries, with ties, unjudged documents and queries without hits."""
    draw = np.random.default_rng(size)
    docs = [f"d{at}" for at in range(12)]
    qrels = {f"q{at}": {doc: int(draw.integers(0, 3)) for doc in docs[:7]} for at in range(size)}
    run = {f"q{at}": {doc: float(draw.integers(0, 5)) for doc in docs[at % 5 :]} for at in range(size) if at % 4 != 3 or at == 3}
    return qrels, run


def measured(size: int, folder: Path) -> list[Any]:
    result = rp.evaluate(*judged_run(size), ["nDCG@10", "RR@10", "R@5", "AP", "INST", "BPM"])
    return [result.per_query(), result.means, [str(note) for note in result.notes]]


def audited(size: int, folder: Path) -> str:
    qrels, run = judged_run(size)
    return str(rp.audit(qrels, {"a": run}, measures=["nDCG@10", "AP"]))


def trec_files(size: int, folder: Path) -> tuple[Path, Path]:
    qrels, run = judged_run(size)
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items()))
    rows = (f"{q} Q0 {d} {at} {s} x\n" for q, docs in run.items() for at, (d, s) in enumerate(docs.items()))
    (folder / "a.run").write_text("".join(rows))
    return folder / "qrels.txt", folder / "a.run"


def measured_files(size: int, folder: Path, threads: int = 1) -> list[Any]:
    result = rp.evaluate(*trec_files(size, folder), ["nDCG@10", "RR@10"], threads=threads)
    assert result.per_query() == rp.evaluate(*judged_run(size), ["nDCG@10", "RR@10"]).per_query()
    return [result.per_query(), result.means]


def sliced(size: int, folder: Path) -> list[Any]:
    """The hits of a run that three threads read."""
    native = import_module("rankproof._align.native")
    qrels, run = trec_files(size, folder)
    judged = native.judge_text(open_source(qrels))
    hits = [native.align_text(judged, open_source(run), ReadOptions(threads=threads), least=1) for threads in (1, 3)]
    found = [[list(one.queries), one.ranks.tolist(), one.grades.tolist(), one.offsets.tolist()] for one in hits]
    assert found[0] == found[1]
    return found


def converted(size: int, folder: Path) -> list[Any]:
    """Runs and judgements in every format of text and in Parquet."""
    qrels, run = judged_run(size)
    found: list[Any] = []
    for suffix in ("run", "csv", "tsv", "jsonl", "json", "parquet"):
        rp.write_run(Run(run), folder / f"a.{suffix}")
        read = rp.read_run(folder / f"a.{suffix}")
        rows: dict[str, dict[str, float]] = {}
        for row in read.rows():
            rows.setdefault(row.query, {})[row.doc] = row.score
        found.append(rows)
        rp.write_qrels(Qrels(qrels), folder / f"q.{suffix}")
        found.append({query: dict(docs) for query, docs in rp.read_qrels(folder / f"q.{suffix}").items()})
    assert found == [run, qrels] * 6
    return found


def imported_parquet(size: int, folder: Path) -> list[Any]:
    rows = [{"query": f"q{at % 3}", "doc_id": f"d{at}", "text": f"text {at}", "grade": at % 2} for at in range(size)]
    pq.write_table(pa.Table.from_pylist(rows), folder / "t.parquet")
    found = [import_source(source).dataset for source in (folder / "t.parquet", pa.Table.from_pylist(rows))]
    assert [[one.text for one in dataset.corpus.values()] for dataset in found] == [[row["text"] for row in rows]] * 2
    return [found[0].fingerprint(), found[1].fingerprint()]


def log_row(at: int) -> dict[str, str]:
    """One of four rows of a session: three documents, of which the third has no session, and a click on the second."""
    session, place = divmod(at, 4)
    action, rank = ("click", 2) if place == 3 else ("shown", place + 1)
    time = f"2026-01-01T00:00:{at % 60:02}Z"
    name = "" if place == 2 and session % 2 else f"s{session}"
    return {"session": name, "action": action, "rank": str(rank), "doc": f"d{session + rank}", "time": time}


def logged(size: int, folder: Path) -> list[Any]:
    """A log of live search as CSV, as lines of JSON and as a Parquet table."""
    rows = [log_row(at) for at in range(size)]
    (folder / "log.csv").write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]) + "\n")
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), folder / "log.parquet")
    files = (str(folder / f"log.{suffix}") for suffix in ("csv", "jsonl", "parquet"))
    logs = [read_search_log(ImportSource((file,)), LogOptions(now=2e9)) for file in files]
    for log in logs:
        assert (len(log.sessions), len(log.events)) == ((size + 3) // 4, size // 4)
        assert log.sessions.lengths.sum() + log.counts[0].read - log.counts[0].kept == size - size // 4
    return [log_content(log) for log in logs]


def clicked(size: int, folder: Path) -> list[Any]:
    """Three pairs at three ranks each; every other impression has a click."""
    at = np.arange(size)
    cells = RankedClicks.of(at % 3, at // 3 % 3, at % 2 == 0)
    return [getattr(cells, one.name).tolist() for one in fields(cells)]


def rejected(size: int, folder: Path) -> Any:
    queries = [RejectedQuery("c", "d", "empty", f"query {at}") for at in range(size)]
    return json.loads(b"".join(_report_blocks({"kept": 0}, queries)))


def log_content(log: SearchLog) -> list[Any]:
    columns = [getattr(part, one.name) for part in (log.sessions, log.events) for one in fields(part)]
    return [[str(list(column)) for column in columns], log.docs, log.actions, log.counts, log.notes]


def random_values(rows: int, columns: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(rows).random((rows, columns))


def flipped(size: int, folder: Path) -> list[Any]:
    return [randomisation_p(random_values(20, 3), size, 0, kernel).tolist() for kernel in (paired.best_kernel(), "numpy")]


def resampled(size: int, folder: Path) -> list[Any]:
    return resampled_means(random_values(6, 2), size, 0).tolist()  # type: ignore[no-any-return]


def labelled(size: int, folder: Path) -> list[Any]:
    return label_p(random_values(12, 2), [5, 7], samples=size, seed=0).tolist()  # type: ignore[no-any-return]


def halves(size: int, folder: Path) -> list[Any]:
    choice = Choice(("a", "b"), 0, parse_measures("RR")[0], 0.02, 0.05)
    found = _halves(random_values(40, 2), choice, StabilityOptions(splits=size))
    return [found.stands.tolist(), found.is_reversed.tolist(), list(found.best)]


def cosines(size: int, folder: Path) -> list[Any]:
    found = CosineSums.of(np.random.default_rng(size).standard_normal((size, 5)).astype(np.float32))
    return [found.sums.tolist(), found.count]


def nearest_rows(size: int, folder: Path) -> list[Any]:
    draw = np.random.default_rng(size)
    vectors, queries = (np.round(draw.standard_normal((size, 8)), 1).astype(np.float32) for _ in range(2))
    return [part.tolist() for kernel in {best_kernel(), "numpy"} for part in nearest(VectorRows.of(vectors), queries, 5, kernel)]


def corpus_of(size: int, partition: int = 1000) -> Corpus:
    draw = np.random.default_rng(5)
    words = ["red", "apple", "pie", "dough", "knife", "hob"]
    texts = [" ".join(draw.choice(words, 4)) for _ in range(size)]
    return Corpus((Document(f"d{at * 7 % 1009}", text) for at, text in enumerate(texts)), partition_size=partition)


def searched(stage: Stage, corpus: Corpus, queries: int) -> list[Any]:
    asked = [Query(f"q{at}", ["red apple", "dough knife pie", "hob"][at % 3]) for at in range(queries)]
    with MemoryBlockCache(lambda label, done, total: None) as cache:
        context = BuildContext(corpus, corpus.fingerprint(), cache, executor=SerialExecutor())
        output = StageRunner(context, asked, range(queries), cache, None).stage_run(stage, "").output
    return [(list(docs), np.asarray(scores).tolist()) for docs, scores in output.rankings]


def documents_searched(stage: Stage, size: int, folder: Path) -> list[Any]:
    return searched(stage, corpus_of(size), 3)


def queries_searched(size: int, folder: Path) -> list[Any]:
    return searched(BM25(), corpus_of(30), size)


def partitions_searched(size: int, folder: Path) -> list[Any]:
    return searched(BM25(depth=3), corpus_of(size, partition=2), 2)


def sent(size: int, folder: Path) -> list[Any]:
    from rankproof._render import mlflow

    values: Any = {f"m{at}": at for at in range(size)}
    found = {name: value for part in mlflow._batches(values) for name, value in part.items()}
    assert found == values
    return [*found.items()]


def deciding_queries(size: int, folder: Path) -> Any:
    """How many queries decide between so many systems."""
    values = np.random.default_rng(size).random((40, max(2, size))) + 0.02 * np.arange(max(2, size))
    return queries_needed(values, None, 0.02, "one", 30)


LAWS: dict[str, tuple[int, Compute]] = {
    "_io.streams:read_blocks.size": (16, lines_of),
    "_io.streams:_INPUT_BYTES": (16, unpacked),
    "_io.streams:_OUTPUT_BYTES": (16, unpacked),
    "_io.open:_PIPE_BYTES": (16, piped),
    "_io.files:_BUFFER_BYTES": (16, written),
    "_io.array_files:_CHUNK_BYTES": (16, stored_arrays),
    "_data.arrays:_BLOCK_IDS": (4, packed_ids),
    "_data.arrays:merged_entries.at_once": (8, merged),
    "_data.partition_builder:_SINGLE_DOCUMENTS": (4, both),
    "_data.partition_builder:PARTITION_BYTES": (64, both),
    "_io.corpus_store:PARTITION_BYTES": (64, both),
    "_formats.source_table:_ROWS_AT_ONCE": (4, imported_parquet),
    "_importers.builder:_CACHED_ROWS": (4, imported),
    "_formats.arrow:_BATCH_ROWS": (16, lambda size, folder: converted(size // 8 + 1, folder)),
    "_formats.native:BLOCK_BYTES": (64, lambda size, folder: converted(size // 16 + 1, folder)),
    "_align.native:align_text.block": (64, measured_files),
    "_align.native:judge_text.block": (64, measured_files),
    "_align.native:align_text.least": (64, partial(measured_files, threads=3)),
    "_align.native:_LOOKAHEAD_BYTES": (64, sliced),
    "_align.hits:QUERIES_PER_BLOCK": (4, measured),
    "measures._continuation:_QUERIES_AT_ONCE": (4, measured),
    "_evaluation.value_ranges:_BATCH": (4, measured),
    "_analysis.audit.unjudged:_BATCH_SIZE": (3, audited),
    "_analysis.audit.rearranged:_QUERIES_AT_ONCE": (3, audited),
    "_statistics.permutation:_FLIP_CELLS": (80, flipped),
    "_statistics.permutation:_LABEL_CELLS": (96, labelled),
    "_statistics.intervals:_CELLS": (24, resampled),
    "_analysis.stability:_CELLS": (160, halves),
    "_analysis.decision.queries_needed:_BLOCK": (4, deciding_queries),
    "_statistics.collapse:_ROWS_PER_CHUNK": (4, cosines),
    "stores._memory:QUERIES_PER_BATCH": (4, nearest_rows),
    "stores._memory:PRODUCTS_PER_BATCH": (32, nearest_rows),
    "stores._memory:CANDIDATES_PER_BATCH": (4, nearest_rows),
    "stages._bm25_index:_ROWS_PER_CALL": (4, partial(documents_searched, BM25())),
    "stages._bm25_index:build_postings.block": (4, partial(documents_searched, BM25())),
    "stages._rewrite:_CACHED_DOCUMENTS": (4, partial(documents_searched, RM3(BM25()))),
    "stages._rewrite:_CACHED_TERMS": (4, partial(documents_searched, RM3(BM25()))),
    "stages._vectors:FIRST_BLOCK": (4, partial(documents_searched, Dense(HashedWords(dimensions=32)))),
    "stages._vectors:LARGEST_BLOCK": (4, partial(documents_searched, Dense(HashedWords(dimensions=32)))),
    "stages._partitions:_MERGED_HITS": (4, partitions_searched),
    "_experiment.queries:_QUERIES_PER_BLOCK": (4, queries_searched),
    "_importers.search_log.read:_BLOCK_ROWS": (4, logged),
    "_importers.search_log.columns:_CHUNK_ROWS": (4, logged),
    "_importers.search_log.join:_SESSIONS_AT_ONCE": (4, logged),
    "_statistics.position_bias:_ROWS_AT_ONCE": (4, clicked),
    "_generate.generated_queries:_REJECTED_PER_BLOCK": (4, rejected),
    "_render.mlflow:_BATCH_SIZE": (4, sent),
}
"""Each limit as module:constant or module:function.argument, the value that it gets, and what must not depend on it."""


def sizes_around(limit: int) -> list[int]:
    return [limit - 1, limit, limit + 1, 3 * limit, 3 * limit + 1]


def set_limit(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    """Gives a constant, or the default of an argument, the value."""
    where, _, what = name.partition(":")
    module = import_module(f"rankproof.{where}")
    function, _, argument = what.partition(".")
    if not argument:
        monkeypatch.setattr(module, what, value)
        return
    made = getattr(module, function)
    if argument in (made.__kwdefaults__ or {}):
        old = made.__kwdefaults__[argument]
        monkeypatch.setitem(made.__kwdefaults__, argument, (value,) * len(old) if isinstance(old, tuple) else value)
    else:
        names = made.__code__.co_varnames[: made.__code__.co_argcount][-len(made.__defaults__) :]
        values = [value if one == argument else given for one, given in zip(names, made.__defaults__, strict=True)]
        assert argument in names
        monkeypatch.setattr(made, "__defaults__", tuple(values))


@pytest.mark.parametrize("name", LAWS)
def test_no_result_depends_on_a_limit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.startswith("_align.native") and not is_built():
        pytest.skip("the native engine is not built")
    limit, compute = LAWS[name]
    expected = {size: compute(size, tmp_path) for size in sizes_around(limit)}
    set_limit(monkeypatch, name, limit)
    for size in sizes_around(limit):
        assert compute(size, tmp_path) == expected[size], size


@pytest.mark.parametrize("size", sizes_around(4))
@pytest.mark.parametrize("storage", [{"partition_size": 4}, {"most_in_memory": 4}, {"partition_size": 4, "most_in_memory": 64}])
def test_no_result_depends_on_how_documents_are_stored(size: int, storage: dict[str, int], tmp_path: Path) -> None:
    for read in (imported, read_documents):
        assert read(size, tmp_path, CorpusStorage(None, **storage)) == read(size, tmp_path)  # type: ignore[arg-type]


NO_BLOCKS = {
    "_data.corpus:PARTITION_SIZE": "the default of CorpusStorage, for which there is a test above",
    "_align.native:MIN_SLICE_BYTES": "the default of align_text.least",
    "_align.native:BLOCK_BYTES": "the default of align_text.block and judge_text.block",
    "_io.streams:BLOCK_BYTES": "the default of read_blocks.size",
    "_data.arrays:_ENTRIES_AT_ONCE": "the default of merged_entries.at_once",
    "_statistics.deterministic:_VARIATES": "random numbers that are drawn at once: others give other numbers",
    **dict.fromkeys(
        (
            *("_data.claims:_CACHED_TEXTS", "_data.wording.remarks:_CACHED_TEXTS", "_evaluation.claim_judges:_CACHED_SOURCES"),
            *("measures._claims:_CACHED_PAIRS", "measures._claim_base:_CACHED_TEXTS"),
        ),
        "the size of a cache of pure functions",
    ),
    **dict.fromkeys(
        (
            *("_formats.source_table:_SAMPLED_LINES", "_importers.examples:_SAMPLED_ROWS", "_importers.quepid:_SAMPLED_ROWS"),
            *("_importers.rag:_SAMPLED_ROWS", "_importers.conversations:_SAMPLED_ROWS", "_importers.spans:_SAMPLED_ROWS"),
            *("_importers.table:_SAMPLED_ROWS", "_importers.trec:_SAMPLED_LINES", "_importers.log_costs:_SAMPLED_ROWS"),
            *("_importers.trec_rag:_SAMPLED_ROWS", "_io.streams:HEAD_BYTES", "_formats.detect:LONG_HEAD_BYTES"),
            *(
                "_io.files:_HEAD_BYTES",
                "_results.live_results:_HEAD_BYTES",
                "_importers.promptfoo:_SAMPLED_LINES",
                "_importers.promptfoo:_SAMPLED_ROWS",
                "_importers.conversations:_SAMPLED_ROWS",
                "_importers.spans:_SAMPLED_ROWS",
            ),
        ),
        "what is read to detect a format; sizes around HEAD_BYTES and LONG_HEAD_BYTES are tested below",
    ),
    **dict.fromkeys(
        (
            *("models._tokenizer:TEXTS_PER_CALL", "models._tokenizer:_TEXTS_PER_TASK", "models._wordllama:_TEXTS_PER_TASK"),
            *("models._trained.checkpoint:_TOKENS_PER_BATCH", "models._transformers:_TOKENS_PER_BATCH"),
            *("models._trained.shape:ATTENTION_BLOCK", "_tokenizer_lab.train:_BLOCK"),
        ),
        "needs the weights of a model; the tests of models compare batches",
    ),
    **dict.fromkeys(
        (
            "stages._lancedb_fts:BATCH_ROWS",
            "stages._dense:INGEST_BATCH",
            "stores._qdrant:_BLOCK",
            "_server.server:_BLOCK",
            "models._download.hub:_BLOCK_BYTES",
        ),
        "needs a server or a database; their own tests run one",
    ),
    **dict.fromkeys(
        (
            *("_experiment.cache:_BLOCK_KEY_LENGTH", "_generate.generators:_CALLS_PER_UPDATE", "_io.memory:_HELD_PER_FREE"),
            *("_llm.budget:_UNITS_PER_PRICE", "_llm.budget:_TOKENS_PER_MESSAGE", "_llm.budget:_MAX_BYTES_PER_TOKEN"),
            *("_llm.embedding:_TOKENS_PER_TEXT", "_tokenizer_lab.train:_PASSES_PER_STEP", "models._chat.base:BYTES_PER_TOKEN"),
            *(
                "stages._engines.function:_BLOCKED_FACTOR",
                "stages._lexical:_ITEMS_PER_PROGRESS",
                "stages._rewrite:_QUERIES_PER_BLOCK",
            ),
            *("stages._rerank_apis.apis:_BYTES_PER_TOKEN", "stages._rerank_apis.wire:_TOKENS_PER_PAIR"),
            *("stages._rerank_apis.wire:_DOCUMENTS_PER_UNIT", "stages._rerank_apis.wire:_TOKENS_PER_CHUNK"),
            *(
                "_evaluation.value_ranges:_MAX_CELLS",
                "_judge.claims.prompts:_TOKENS_PER_CLAIM",
                "stages._llm_scorers:_TOKENS_PER_PASSAGE",
            ),
            *("_analysis.audit.judge_next:_PER_GROUP", "_analysis.decision.decide:_STEPS_PER_MARGIN"),
        ),
        "a price, an estimate, a progress report or the most that is computed: no block",
    ),
}
"""Constants with the name of a limit that no law covers, and why."""
_NAMED_LIKE_LIMITS = re.compile(
    r"BLOCK|BATCH|CHUNK|BUFFER|CELLS|AT_ONCE|_PER_|SINGLE|PARTITION|MERGED|SLICE|LOOKAHEAD|PIPE|INPUT_BYTES|OUTPUT_BYTES"
    r"|HEAD_BYTES|VARIATES|CACHED|INGEST|SAMPLED_ROWS|SAMPLED_LINES"
)


_CONSTANTS = re.compile(r"^([A-Z_][A-Z0-9_, ]*)(?:: [A-Za-z\[\]]+)? = (?=.*[0-9])[0-9(][0-9_ ,<*()]*?(?:  #.*)?$", re.MULTILINE)


def constants(source: str) -> Iterator[str]:
    """The constants of a module that are a number and are named like a limit."""
    for names in _CONSTANTS.findall(source):
        yield from filter(_NAMED_LIKE_LIMITS.search, names.split(", "))


def test_every_limit_of_the_package_has_a_law_or_a_reason() -> None:
    modules: Mapping[str, Path] = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")
    }
    found = {f"{name}:{one}" for name, path in modules.items() for one in constants(path.read_text(encoding="utf-8"))}
    # A constant of another module, and limits that are defaults of arguments, are no constants of their module.
    imported_names = {"_io.corpus_store:PARTITION_BYTES"}
    own = {name for name in LAWS if "." not in name.partition(":")[2]} - imported_names
    assert found - {*LAWS} - {*NO_BLOCKS} == set(), "write a law for the limit"
    assert (own | {*NO_BLOCKS}) - found == set(), "the limit is gone"
    assert (len(LAWS), len(NATIVE)) == (47, 8)
    assert len(found) >= 80


def reciprocal_rank(qrels: Any, run: Any) -> float:
    return rp.evaluate(qrels, run, ["RR"]).systems[0].measures["RR"].value


def tied(size: int, folder: Path) -> None:
    """So many documents of one score: they are ordered by id, larger first."""
    docs = sorted(f"d{at}" for at in range(size))
    for place in {0, size // 2, size - 1}:
        assert reciprocal_rank({"q": {docs[place]: 1}}, {"q": dict.fromkeys(docs, 1.0)}) == pytest.approx(1 / (size - place))


def graded(size: int, folder: Path) -> None:
    """So many judged documents, all found, the last of them relevant."""
    (folder / "q.txt").write_text("".join(f"q 0 d{at} {int(at == size - 1)}\n" for at in range(size)))
    (folder / "r.run").write_text("".join(f"q Q0 d{at} {at} {-at} x\n" for at in range(size)))
    assert reciprocal_rank(folder / "q.txt", folder / "r.run") == pytest.approx(1 / size)


def long_lines(size: int, folder: Path) -> None:
    """Lines of so many bytes in a run, and in documents."""
    rows = [f"q Q0 d{at} {at} {-at} " for at in range(3)]
    (folder / "r.run").write_text("".join(f"{row}{'x' * (size - len(row) - 1)}\n" for row in rows))
    assert reciprocal_rank({"q": {"d2": 1}}, folder / "r.run") == pytest.approx(1 / 3)
    texts = ["ä" + "x" * (size + at) for at in range(3)]
    (folder / "c.jsonl").write_text("".join(json.dumps({"_id": f"d{at}", "text": text}) + "\n" for at, text in enumerate(texts)))
    assert [one.text for one in read_corpus_files([str(folder / "c.jsonl")], CorpusStorage(None)).values()] == texts


def many_fields(size: int, folder: Path) -> None:
    """Documents and rows of a run with so many fields."""
    fields = {f"f{at}": at for at in range(size - 2)}
    (folder / "c.jsonl").write_text(json.dumps({"_id": "d1", "text": "words", **fields}) + "\n")
    (one,) = read_corpus_files([str(folder / "c.jsonl")], CorpusStorage(None)).values()
    assert one.fields == fields
    (folder / "r.jsonl").write_text(json.dumps({**fields, "query": "q", "doc_id": "d1", "score": 2.5}) + "\n")
    assert [(row.query, row.doc, row.score) for row in rp.read_run(folder / "r.jsonl").rows()] == [("q", "d1", 2.5)]


def long_heads(size: int, folder: Path) -> None:
    """A file whose first line has so many bytes, in each form of which the first bytes are read to detect it."""
    run = {"q": {f"d{at}": float(-at) for at in range(size // 12)}}
    plain = json.dumps(run)
    (folder / "r.json").write_text(plain[:-2].ljust(size - 2) + "}}" if len(plain) < size else plain)
    header = "query_id,doc_id,score," + "x" * (size - 22)
    (folder / "r.csv").write_text(f"{header}\nq,d0,1,\n")
    assert reciprocal_rank({"q": {"d0": 1}}, folder / "r.json") == 1
    assert [(row.query, row.doc) for row in rp.read_run(folder / "r.csv").rows()] == [("q", "d0")]


NATIVE: dict[str, tuple[int, Callable[[int, Path], None]]] = {
    "align_src/hits.h: SHORT_TIE": (64, tied),
    "merge_src/order.h: FEW": (48, tied),
    "align_src/py_judge.h: CLOSE_GRADES": (64, graded),
    "align_src/run_text.h: MOST_PENDING": (512, graded),
    "align_src/scan.h: SCAN_BYTES": (16_384, long_lines),
    "documents_src/json.h: MOST_MEMBERS, align_src/table_json.h: MOST_FIELDS": (64, many_fields),
    "_io.streams: HEAD_BYTES": (4096, long_heads),
    "_formats.detect: LONG_HEAD_BYTES": (65_536, long_heads),
}
"""Limits in C, and of the detection of formats, at their own values; the results are computed here."""


@pytest.mark.parametrize("name", NATIVE)
def test_results_around_a_limit_that_cannot_be_changed_are_right(name: str, tmp_path: Path) -> None:
    limit, check = NATIVE[name]
    for size in (limit - 1, limit, limit + 1, 2 * limit):
        check(size, tmp_path)
