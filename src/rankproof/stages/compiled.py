"""The same search as `postings` does, for many queries, compiled by numba where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from .._extras import extra
from .postings import Postings

Found = tuple[Any, Any, Any]


def numba_is_there() -> bool:
    """Whether the extra numba is installed."""
    return find_spec("numba") is not None


def search_compiled(index: Postings, queries: list[list[int]], depth: int) -> Found:
    """For each query the rows, the scores and how many were found, best first; of equal scores the first row."""
    bounds = np.cumsum([0, *map(len, queries)], dtype=np.int64)
    flat = np.array([term for query in queries for term in query], dtype=np.int64)
    depth = min(depth, len(index.lengths))
    found: Found = _kernel()(flat, bounds, index.weights, index.rows, index.starts, len(index.lengths), depth)
    return found


@lru_cache(maxsize=1)
def _kernel() -> Callable[..., Found]:
    with extra("numba"):
        from numba import njit

    worse = njit(inline="always")(_worse)
    sink = njit(_sink_with(worse))
    rise = njit(_rise_with(worse))
    compiled: Callable[..., Found] = njit(nogil=True)(_search_with(sink, rise))
    return compiled


def _worse(score: Any, row: Any, other_score: Any, other_row: Any) -> Any:
    return score < other_score or (score == other_score and row > other_row)


def _sink_with(worse: Any) -> Callable[..., None]:
    def sink(scores: Any, rows: Any, score: Any, row: Any, length: Any) -> None:
        """Puts an entry in the place of the worst one, which stands first in the heap."""
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

    return sink


def _rise_with(worse: Any) -> Callable[..., None]:
    def rise(scores: Any, rows: Any, score: Any, row: Any, length: Any) -> None:
        """Adds an entry to a heap of that length."""
        at = length
        while at > 0:
            parent = (at - 1) >> 1
            if not worse(score, row, scores[parent], rows[parent]):
                break
            scores[at], rows[at] = scores[parent], rows[parent]
            at = parent
        scores[at], rows[at] = score, row

    return rise


def _search_with(sink: Any, rise: Any) -> Callable[..., Found]:
    def search(flat: Any, bounds: Any, weights: Any, rows: Any, starts: Any, documents: Any, depth: Any) -> Found:
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
                        rise(scores, kept, score, row, length)
                        length += 1
                    else:
                        sink(scores, kept, score, row, length)
                    if length == depth:
                        least = scores[0]
            lengths[query] = length
            for last in range(length - 1, 0, -1):
                score, row = scores[last], kept[last]
                top_score, top_row = scores[0], kept[0]
                sink(scores, kept, score, row, last)
                scores[last], kept[last] = top_score, top_row
        return best_rows, best_scores, lengths

    return search
