"""The loops of fusion"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray, PackedIds, list_numbers
from rankproof._data.ordering import best_first_order

if TYPE_CHECKING:
    from rankproof._native import merge

Kernel = Literal["native", "plain"]
RowsOfRun = tuple[Sequence[str] | PackedIds, IntArray, IntArray]
"""The documents of a run, a tuple, a list or packed, and where those of each query start and end."""


@cache
def best_kernel() -> Kernel:
    """`native` if the C extension was built, else `plain`."""
    return "native" if find_spec("rankproof._native.merge") is not None else "plain"


def candidates(runs: Sequence[RowsOfRun], queries: int, *, kernel: Kernel | None = None) -> tuple[list[str], IntArray, IntArray]:
    """The documents of each query once, where those of each query start, and the place of each row among them, run by run.

    A document that occurs twice in one ranking is a KeyError.
    """
    rows = sum(int((ends - starts).sum()) for _, starts, ends in runs)
    places, offsets = np.empty(rows, dtype=np.int64), np.empty(queries + 1, dtype=np.int64)
    if (kernel or best_kernel()) == "plain":
        return _candidates_in_python([_as_text(run) for run in runs], places, offsets), offsets, places
    from rankproof._native import merge

    try:
        return merge.candidates([_as_bytes(run) for run in runs], queries, places, offsets), offsets, places
    except UnicodeEncodeError:
        # A lone surrogate in a dict has no bytes.
        return merge.candidates([_as_text(run) for run in runs], queries, places, offsets), offsets, places


def _as_text(run: RowsOfRun) -> tuple[Sequence[str], IntArray, IntArray]:
    docs, starts, ends = run
    return tuple(docs) if isinstance(docs, PackedIds) else docs, starts, ends


def _as_bytes(run: RowsOfRun) -> merge.Rows:
    docs, starts, ends = run
    return (docs.text, starts, ends, np.ascontiguousarray(docs.bounds)) if isinstance(docs, PackedIds) else (docs, starts, ends)


def _candidates_in_python(
    runs: Sequence[tuple[Sequence[str], IntArray, IntArray]], places: IntArray, offsets: IntArray
) -> list[str]:
    docs: list[str] = []
    next_rows = np.cumsum([0, *(int((ends - starts).sum()) for _, starts, ends in runs)]).tolist()
    offsets[0] = 0
    for query in range(len(offsets) - 1):
        numbers: dict[str, int] = {}
        for at, (ids, starts, ends) in enumerate(runs):
            here = ids[starts[query] : ends[query]]
            if len(set(here)) < len(here):
                raise KeyError("a document occurs twice")
            rows = [numbers.setdefault(doc, len(docs) + len(numbers)) for doc in here]
            places[next_rows[at] : next_rows[at] + len(rows)] = rows
            next_rows[at] += len(rows)
        docs.extend(numbers)
        offsets[query + 1] = len(docs)
    return docs


def best_first(
    keys: FloatArray, offsets: IntArray, docs: list[str], places: IntArray | None = None, *, kernel: Kernel | None = None
) -> IntArray:
    """The indexes of each query by key, highest first, then by id, larger first.

    The document of an index is `docs[index]`, or `docs[places[index]]`.
    """
    order = np.empty(len(keys), dtype=np.int64)
    if (kernel or best_kernel()) == "native":
        from rankproof._native import merge

        merge.best_first(np.ascontiguousarray(keys), offsets, docs, places, order)
        return order
    for start, end in pairwise(offsets.tolist()):
        here = docs[start:end] if places is None else [docs[place] for place in places[start:end].tolist()]
        # -0.0 + 0.0 is 0.0: both zeros are one key, as in C.
        order[start:end] = start + best_first_order(here, keys[start:end] + 0.0)
    return order


def documents_at(docs: list[str], order: IntArray, *, kernel: Kernel | None = None) -> tuple[str, ...]:
    """The documents at these indexes."""
    if (kernel or best_kernel()) == "plain":
        return tuple([docs[at] for at in order.tolist()])
    from rankproof._native import merge

    return merge.taken(docs, np.ascontiguousarray(order))


def column_sums(terms: FloatArray, *, kernel: Kernel | None = None) -> FloatArray:
    """The sum of each column, its terms in ascending order, so that the order of the rows changes no bit."""
    total = np.zeros(terms.shape[1])
    if (kernel or best_kernel()) == "native":
        from rankproof._native import merge

        merge.added(np.ascontiguousarray(terms), total)
        return total
    for row in np.sort(terms, axis=0):
        total += row
    return total


def exact_sums(values: FloatArray, offsets: IntArray, *, kernel: Kernel | None = None) -> FloatArray:
    """The exact sum of each list, rounded once; the magnitude of no partial sum may exceed the range of a 64-bit float."""
    if (kernel or best_kernel()) == "plain":
        numbers = values.tolist()
        return np.array([math.fsum(numbers[start:end]) for start, end in pairwise(offsets.tolist())])
    from rankproof._native import merge

    sums = np.empty(len(offsets) - 1)
    merge.exact_sums(np.ascontiguousarray(values), offsets, sums)
    return sums


MOST_COUNTED = 64
"""Comparisons for each candidate from which sorting is faster than counting."""


def ranks_of(
    scores: FloatArray,
    offsets: IntArray,
    by_id: IntArray,
    chosen: IntArray,
    chosen_offsets: IntArray,
    *,
    kernel: Kernel | None = None,
) -> tuple[IntArray, IntArray, IntArray]:
    """The rank of each chosen candidate, the first rank with its score, and how many candidates have its score.

    `by_id` has the place of each candidate among the ids of its query, largest first.
    """
    work = int((np.diff(chosen_offsets) * np.diff(offsets)).sum())
    if (kernel or best_kernel()) == "native" and work <= MOST_COUNTED * (len(scores) + 1):
        from rankproof._native import merge

        counts = np.empty((len(chosen), 3), dtype=np.int64)
        merge.better(np.ascontiguousarray(scores), offsets, by_id, chosen, chosen_offsets, counts)
        higher, equal, larger = counts.T
        return higher + larger + 1, higher + 1, equal
    return _ranks_by_sorting(scores, offsets, by_id, chosen)


def _ranks_by_sorting(
    scores: FloatArray, offsets: IntArray, by_id: IntArray, chosen: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    lengths = np.diff(offsets)
    query = list_numbers(lengths)
    order = np.lexsort((by_id, -scores, query))
    sorted_scores = scores[order]
    is_first = np.ones(len(scores), dtype=np.bool_)
    is_first[1:] = (sorted_scores[1:] != sorted_scores[:-1]) | (query[1:] != query[:-1])
    firsts = np.flatnonzero(is_first)
    group = np.cumsum(is_first) - 1
    place = np.empty(len(scores), dtype=np.int64)
    place[order] = np.arange(len(scores))
    sizes = np.diff(np.append(firsts, len(scores)))
    at, start = place[chosen], offsets[query[chosen]]
    return at - start + 1, firsts[group[at]] - start + 1, sizes[group[at]]


def by_majority(
    ranks: IntArray, weights: FloatArray, offsets: IntArray, order: IntArray, *, kernel: Kernel | None = None
) -> IntArray:
    """The candidates of each query by merge sort, one before another if more votes rank it higher; `order` decides equal votes.

    A run votes by `ranks`, 0 for a candidate that it lacks, which comes after all that it has.
    """
    merged = order.copy()
    # Weights are added in ascending order, so that the order of the runs changes no vote.
    ascending = np.argsort(weights, kind="stable")
    ranks, weights = ranks[ascending], weights[ascending]
    if (kernel or best_kernel()) == "native":
        from rankproof._native import merge

        merge.by_majority(np.ascontiguousarray(ranks), np.ascontiguousarray(weights), offsets, merged)
        return merged
    places = np.where(ranks == 0, np.iinfo(np.int64).max, ranks).T.tolist()
    for start, end in pairwise(offsets.tolist()):
        merged[start:end] = _merge_sorted(merged[start:end].tolist(), places, weights.tolist())
    return merged


def _merge_sorted(items: list[int], places: list[list[int]], weights: list[float]) -> list[int]:
    if len(items) < 2:
        return items
    half = len(items) // 2
    left, right = (_merge_sorted(part, places, weights) for part in (items[:half], items[half:]))
    merged: list[int] = []
    while left and right:
        before = after = 0.0
        for place, other, weight in zip(places[left[0]], places[right[0]], weights, strict=True):
            before += weight if place < other else 0.0
            after += weight if other < place else 0.0
        merged.append(right.pop(0) if after > before else left.pop(0))
    return [*merged, *left, *right]
