"""The inverted index of BM25, and its search compiled by numba."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import IntArray, Matrix
from rankproof._extras import extra

RowArray = NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class InvertedIndex:
    """The rows and weights of term t are at starts[t] to starts[t + 1]; its rows ascend."""

    vocabulary: dict[str, int]
    weights: Matrix
    rows: RowArray
    starts: IntArray
    lengths: IntArray

    def term_ids(self, terms: Sequence[str]) -> list[int]:
        """The ids of the terms in the vocabulary, repeated as in the query."""
        return [at for term in terms if (at := self.vocabulary.get(term, -1)) >= 0]

    def document_scores(self, term_ids: Sequence[int]) -> Matrix:
        """The score of every row: the weights of the terms, added in order."""
        totals = np.zeros(len(self.lengths), dtype=np.float32)
        for at in term_ids:
            span = slice(self.starts[at], self.starts[at + 1])
            totals[self.rows[span]] += self.weights[span]
        return totals

    def weight(self, term: int, row: int) -> float:
        """What a term adds to the score of a row, 0 if the document does not have it."""
        start, end = int(self.starts[term]), int(self.starts[term + 1])
        at = start + int(np.searchsorted(self.rows[start:end], row))
        return float(self.weights[at]) if at < end and self.rows[at] == row else 0.0

    def size(self) -> int:
        """The bytes of the arrays."""
        return self.weights.nbytes + self.rows.nbytes + self.starts.nbytes + self.lengths.nbytes


def build_inverted_index(documents: Iterable[Sequence[str]], k1: float, b: float) -> InvertedIndex:
    """The index of tokenized documents; without any term it finds nothing."""
    numbering: defaultdict[str, int] = defaultdict()
    numbering.default_factory = numbering.__len__
    numbers = [list(map(numbering.__getitem__, terms)) for terms in documents]
    vocabulary = dict(numbering)
    lengths = np.array(list(map(len, numbers)), dtype=np.int64)
    if not vocabulary:
        empty = np.zeros(0, dtype=np.int32)
        return InvertedIndex(vocabulary, np.zeros(0, dtype=np.float32), empty, np.zeros(1, dtype=np.int64), lengths)
    import logging

    with extra("retrieval"):
        import bm25s

    # Importing bm25s sets this logger to report every step.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    index = bm25s.BM25(k1=k1, b=b, method="atire", idf_method="lucene")
    index.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
    made = index.scores
    return InvertedIndex(vocabulary, made["data"], made["indices"], np.asarray(made["indptr"], dtype=np.int64), lengths)


def best_rows(document_scores: Matrix, depth: int) -> tuple[IntArray, Matrix]:
    """The rows with the highest scores above 0, best first, and their scores; ties go to the lower row."""
    rows = np.flatnonzero(document_scores)
    scores = document_scores[rows]
    if len(rows) > depth:
        least = np.partition(scores, len(rows) - depth)[len(rows) - depth]
        level = np.flatnonzero(scores == least)
        above = np.flatnonzero(scores > least)
        kept = np.sort(np.concatenate([above, level[: depth - len(above)]]))
        rows, scores = rows[kept], scores[kept]
    order = np.argsort(-scores, kind="stable")
    return rows[order], scores[order]


CompiledResult = tuple[Any, Any, Any]


def is_numba_installed() -> bool:
    """Whether the extra numba is installed."""
    return find_spec("numba") is not None


def search_compiled(index: InvertedIndex, queries: list[list[int]], depth: int) -> CompiledResult:
    """The rows and scores of each query, best first, and how many were found; ties go to the lower row."""
    bounds = np.cumsum([0, *map(len, queries)], dtype=np.int64)
    flat = np.array([term for query in queries for term in query], dtype=np.int64)
    depth = min(depth, len(index.lengths))
    found: CompiledResult = _kernel()(flat, bounds, index.weights, index.rows, index.starts, len(index.lengths), depth)
    return found


@lru_cache(maxsize=1)
def _kernel() -> Callable[..., CompiledResult]:
    with extra("numba"):
        from numba import njit

    worse = njit(inline="always")(_worse)
    sift_down = njit(_make_sift_down(worse))
    sift_up = njit(_make_sift_up(worse))
    compiled: Callable[..., CompiledResult] = njit(nogil=True)(_make_search(sift_down, sift_up))
    return compiled


def _worse(score: Any, row: Any, other_score: Any, other_row: Any) -> Any:
    return score < other_score or (score == other_score and row > other_row)


def _make_sift_down(worse: Any) -> Callable[..., None]:
    def sift_down(scores: Any, rows: Any, score: Any, row: Any, length: Any) -> None:
        """Replaces the worst entry, the root of the heap."""
        at = 0
        child = 1
        while child < length:
            if child + 1 < length and worse(scores[child + 1], rows[child + 1], scores[child], rows[child]):
                child += 1
            if not worse(scores[child], rows[child], score, row):
                break
            scores[at], rows[at] = scores[child], rows[child]
            at, child = child, 2 * child + 1
        scores[at], rows[at] = score, row

    return sift_down


def _make_sift_up(worse: Any) -> Callable[..., None]:
    def sift_up(scores: Any, rows: Any, score: Any, row: Any, length: Any) -> None:
        """Adds an entry to a heap of this length."""
        at = length
        while at > 0:
            parent = (at - 1) >> 1
            if not worse(score, row, scores[parent], rows[parent]):
                break
            scores[at], rows[at] = scores[parent], rows[parent]
            at = parent
        scores[at], rows[at] = score, row

    return sift_up


def _make_search(sift_down: Any, sift_up: Any) -> Callable[..., CompiledResult]:
    def search(flat: Any, bounds: Any, weights: Any, rows: Any, starts: Any, documents: Any, depth: Any) -> CompiledResult:
        count = len(bounds) - 1
        best_rows = np.zeros((count, depth), dtype=np.int32)
        best_scores = np.zeros((count, depth), dtype=np.float32)
        lengths = np.zeros(count, dtype=np.int64)
        totals = np.zeros(documents, dtype=np.float32)
        for query in range(count):
            totals[:] = 0
            for at in range(bounds[query], bounds[query + 1]):
                for place in range(starts[flat[at]], starts[flat[at] + 1]):
                    totals[rows[place]] += weights[place]
            scores, kept, length = best_scores[query], best_rows[query], 0
            least = np.float32(0)
            for row in range(documents):
                score = totals[row]
                if score > least:
                    if length < depth:
                        sift_up(scores, kept, score, row, length)
                        length += 1
                    else:
                        sift_down(scores, kept, score, row, length)
                    if length == depth:
                        least = scores[0]
            lengths[query] = length
            for last in range(length - 1, 0, -1):
                score, row = scores[last], kept[last]
                top_score, top_row = scores[0], kept[0]
                sift_down(scores, kept, score, row, last)
                scores[last], kept[last] = top_score, top_row
        return best_rows, best_scores, lengths

    return search
