"""Lets the n-th allocation of every native function fail, for every n: a MemoryError each time, and the same result afterwards.

It needs extensions that are built with faults.h, as tools/fuzz/sanitize.sh and tools/fuzz/coverage.sh build them.
"""

from __future__ import annotations

import ctypes
import io
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa

from rankproof._align import native
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._io.streams import ByteSource
from rankproof._native import align, bert, bm25, documents, merge, permutation, topk, word_vectors
from rankproof.models._tokenizer import TokenizerFile, word_pieces
from rankproof.stages._bm25 import TermAnalysis
from rankproof.stages._bm25_index import build_postings, pair_factors
from support.tiny_bert import write_tokenizer
from tools.fuzz.dicts import hits_values

Call = Callable[[], object]
ALL = ctypes.c_size_t(-1)
MOST = 5_000
QRELS = "".join(f"{query} 0 d{doc} {doc * query % 1000}\n" for query in (1, 2) for doc in range(70)) + "é 0 日 1\né 0 e\u0301 2\n"
ROWS = [(query, f"d{doc}", rank) for query in "123" for rank, doc in enumerate(range(0, 90, 2), start=1)]
RUN = "".join(f"{query} Q0 {doc} {rank} {100 - rank} tag\n" for query, doc, rank in ROWS)
MIXED = "".join(sorted(RUN.splitlines(keepends=True), key=lambda line: line[5:]))
JSON = '[{"q": "1", "d": "\\u00e9", "s": 1.5, "r": 1}, {"q": "2", "d": "x", "s": 2, "r": 2}]'
DOCUMENTS = b"".join(b'{"id": "d%d", "title": "t", "text": "a \\u00e9", "z": [1, {"b": 2}], "a": 1}\n' % row for row in range(9))


def _source(text: str) -> ByteSource:
    return ByteSource(name="file.txt", open=lambda: io.BytesIO(text.encode()))


def _scores() -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for query, doc, rank in ROWS:
        scores.setdefault(query, {})[doc] = float(100 - rank)
    return scores


def align_calls() -> Iterator[Call]:
    """Judgements and runs of every form, and tables of every format."""
    options, grouped = ReadOptions(), ReadOptions(on_duplicate="keep-best")
    judged = native.judge_text(_source(QRELS))
    grades = {"1": {"d0": 1, "é": 2}, "2": {"d2": 300}}
    queries, docs, scores = ([row[0] for row in ROWS], [row[1] for row in ROWS], [1.0 * row[2] for row in ROWS])
    table = pa.table({"q": queries, "d": docs, "s": scores})
    mixed = pa.concat_tables([table, table.slice(0, 1)])
    run = Run.from_dict(_scores(), name="run", source="run")
    yield lambda: native.judge_text(_source(QRELS)).grades.tolist()
    yield lambda: native.judge_text(_source(QRELS), only=frozenset(["1", "é"])).grades.tolist()
    yield lambda: native.judge_dict(grades, "qrels").grades.tolist()
    yield lambda: hits_values(native.align_text(judged, _source(RUN), options))
    yield lambda: hits_values(native.align_text(judged, _source(MIXED), options))
    yield lambda: hits_values(native.align_dict(native.judge_dict(grades, "qrels"), _scores(), "run", options))
    yield lambda: hits_values(native.align_run(judged, run, options))
    yield lambda: hits_values(native.align_arrow(judged, table, (0, 1, 2), "run", options))
    yield lambda: hits_values(native.align_arrow(judged, mixed, (0, 1, 2), "run", grouped))
    yield lambda: align.read_table(io.BytesIO(RUN.encode()).readinto, True, 64, 3)
    yield lambda: align.read_delimited(io.BytesIO(b"1\td\t2\n" * 9).readinto, False, 9, 0, 3, (0, 1, 2, -1, -1, -1), 64)
    yield lambda: align.read_json(io.BytesIO(JSON.encode()).readinto, True, False, lambda names: (0, 1, 2, 3, -1, -1), 64)
    yield lambda: align.parse_score(b"0." + b"1" * 400, 0)


def bert_calls() -> Iterator[Call]:
    """A network of one layer."""
    chance = np.random.default_rng(1)
    shapes = [((24, 8), 24), ((8, 8), 8), ((16, 8), 16), ((8, 16), 8), ((8,), 8), ((8,), 8)]
    parts = [
        (-1, 0, chance.normal(size=8), chance.normal(size=8)),
        *((0, at, chance.normal(size=shape), chance.normal(size=size)) for at, (shape, size) in enumerate(shapes)),
    ]

    def states() -> bytes:
        network = bert.network(8, 8, 16, 2, 1, 0, 1e-12)
        for layer, part, weight, bias in parts:
            bert.fill(network, layer, part, weight.astype(np.float32), bias.astype(np.float32))
        return bert.run(network, np.ones((5, 8), np.float32), -1)

    yield states


def bm25_calls() -> Iterator[Call]:
    """An index that is built, opened and searched."""
    text = np.frombuffer(" ".join(f"word{number} é{number} two" for number in range(200)).encode(), np.uint8)
    bounds = np.array([0, len(text) // 2, len(text)], np.int64)
    analyzer = TermAnalysis(stemming=False, stop_words=False).analyzer()

    def found() -> list[object]:
        arrays = build_postings(lambda first, last: ((text, bounds),), 2, analyzer, kernel="native")
        parts = {**arrays._asdict(), "places": np.arange(2, dtype=np.int32), "factors": pair_factors(arrays, 1.5, 0.75, 2.0)}
        for name in ("pair_frequencies", "pair_lengths", "lengths"):
            del parts[name]
        index = bm25.index(tuple(parts.values()))
        rows, scores, counts = np.zeros((1, 2), np.int32), np.zeros((1, 2)), np.zeros(1, np.int64)
        one, ends = np.zeros(1, np.int64), np.array([0, 1], np.int64)
        bm25.search(index, one, ends, np.ones(1), np.zeros(0), 2, rows, scores, counts)
        return [bm25.find(index, ["two", "absent"]), rows.tolist(), scores.tolist(), bm25.count_distinct(((text, bounds),))]

    yield found


def documents_calls() -> Iterator[Call]:
    """Documents that are read, ordered and found."""
    offsets, data = np.array([0, 2, 4], np.int64), np.frombuffer(b"d1d2", np.uint8)
    hashes = np.sort(np.frombuffer(documents.scan(DOCUMENTS, 0, 1, 99, 9999, b"id\0", b"text\0")[4], np.uint64))
    entries = np.stack([hashes, np.zeros_like(hashes)], axis=1)
    yield lambda: documents.scan(DOCUMENTS, 0, 1, 99, 9999, b"id\0", b"text\0")
    yield lambda: documents.order(offsets, data)
    yield lambda: documents.find(["d1", "x"], entries, [(0, offsets, data)])


def merge_calls() -> Iterator[Call]:
    """Rankings of several systems and of several partitions."""
    ids = [(np.array([0, 1, 3], np.int64), np.frombuffer(b"abb", np.uint8))]
    hits = (np.array([[1, 0]], np.int64), np.ones((1, 2)), np.array([2], np.int64))

    def merged() -> list[object]:
        into = (np.zeros((1, 2), np.int64), np.zeros((1, 2)), np.zeros(1, np.int64))
        merge.merge_hits(ids, [hits, hits], 1, into)
        return [array.tolist() for array in into]

    starts, ends, bounds = np.zeros(1, np.int64), np.full(1, 2, np.int64), np.array([0, 2], np.int64)
    both = [(["a", "b"], starts, ends), (("b", "c"), starts, ends)]
    yield lambda: merge.candidates(both, 1, np.zeros(4, np.int64), bounds.copy())
    packed: list[merge.Rows] = [(b"ab", starts, ends, np.arange(3)), (["b", "c"], starts, ends)]
    yield lambda: merge.candidates(packed, 1, np.zeros(4, np.int64), bounds.copy())
    yield lambda: merge.best_first(np.ones(2), bounds, ["a", "b"], None, np.zeros(2, np.int64))
    yield lambda: merge.taken(["a", "b"], np.arange(2))
    yield lambda: merge.by_majority(np.ones((1, 2), np.int64), np.ones(1), bounds, np.arange(2))
    yield lambda: merge.added(np.ones((2, 2)), np.zeros(2))
    yield merged
    yield lambda: merge.hit_ids(ids, hits, 1, True)
    yield lambda: merge.hit_ids(ids, hits, 1, False)


def permutation_calls() -> Iterator[Call]:
    """Sums under sign flips, how many of them are far apart, and statistics of pairs."""
    numbers = np.arange(300, dtype=np.int64).reshape(100, 3)
    values = numbers.astype(np.float64)
    yield lambda: permutation.paired(values, 100, np.array([[0, 1], [2, 1]]), np.zeros((2, 6)))
    yield lambda: permutation.sums(numbers, 3, 7, 0, 5)
    yield lambda: permutation.count_far(numbers, 100, np.array([[0, 1, 50], [2, 1, 250]], dtype=np.int64))


def topk_calls() -> Iterator[Call]:
    """The nearest vectors."""
    vectors, queries = np.arange(60, dtype=np.float32).reshape(20, 3), np.ones((2, 3), np.float32)

    def nearest() -> object:
        batch = topk.batch(np.full(2, 0.001, np.float32), 2, 132)
        topk.sieve(batch, np.ascontiguousarray(queries @ vectors.T), 0)
        return topk.settle(batch, vectors, queries)

    yield nearest


def word_vectors_calls() -> Iterator[Call]:
    """The sums of the vectors of words."""
    codes = np.arange(97, 123, dtype=np.int32)
    table = np.ones((300, 4), np.float32)

    def sums() -> object:
        vocabulary = word_vectors.vocabulary(codes, np.arange(256, dtype=np.int32), np.array([[0, 1, 2]], np.int32))
        return word_vectors.sums(vocabulary, b"ab abc", np.array([0, 3, 6], np.int64), table, 4)

    yield sums


def wordpiece_calls() -> Iterator[Call]:
    """A tokenizer that is prepared, and its tokens."""
    with tempfile.TemporaryDirectory() as folder:
        write_tokenizer(Path(folder))
        tokenizer = TokenizerFile(Path(folder, "tokenizer.json"), max_tokens=16)

        def tokens() -> list[object]:
            pieces = word_pieces(tokenizer)
            assert pieces is not None
            return [array.tolist() for array in pieces.tokens(["pan baking", "x" * 200, "pan " * 40])]

        yield tokens


CALLS: dict[str, Callable[[], Iterator[Call]]] = {
    "align": align_calls,
    "bert": bert_calls,
    "bm25": bm25_calls,
    "documents": documents_calls,
    "merge": merge_calls,
    "permutation": permutation_calls,
    "topk": topk_calls,
    "word_vectors": word_vectors_calls,
    "wordpiece": wordpiece_calls,
}


def faults(allow: Callable[[ctypes.c_size_t], None], call: Call) -> int:
    """How many allocations a call makes; each of them fails once."""
    wanted = call()
    for count in range(MOST):
        allow(ctypes.c_size_t(count))
        try:
            found = call()
        except MemoryError:
            continue
        finally:
            allow(ALL)
        assert found == wanted
        assert call() == wanted
        return count
    raise AssertionError(f"{MOST} allocations were not enough")


def main() -> None:
    """Prints the number of faults for each extension."""
    for name, calls in CALLS.items():
        library = ctypes.CDLL(str(import_module(f"rankproof._native.{name}").__file__))
        counts = [faults(library.allow_allocations, call) for call in calls()]
        print(f"{name}: {len(counts)} calls, {sum(counts)} failed allocations", flush=True)


if __name__ == "__main__":
    main()
