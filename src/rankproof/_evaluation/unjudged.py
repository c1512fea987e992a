"""Unjudged documents at the top of rankings, and the bounds of a value over all of their grades."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof.measures._base import GainScheme, Measure, discounts, gains

Bounds = tuple[FloatArray, FloatArray]
"""The lowest and the highest value of each query."""
_BATCH = 1 << 16
_MAX_DEPTH, _MAX_CELLS = 100, 100_000_000
"""The deepest cutoff of nDCG, and the largest table of queries and ranks, for which bounds are computed."""


def unjudged_mask(hits: Hits, depth: int) -> BoolArray:
    """For each query, which of its ranks 1 to `depth` have a document without a grade; a grade below 0 is none."""
    unjudged = np.arange(1, depth + 1) <= hits.retrieved[:, None]
    known = (hits.ranks <= depth) & (hits.grades >= 0)
    unjudged[hits.query_index[known], hits.ranks[known] - 1] = False
    return unjudged


def own_bounds(measure: Measure, hits: Hits) -> Bounds | None:
    """The bounds of each query's value over the grades of the documents that the run has; None for another measure."""
    lows, highs = [], []
    for block in hits.blocks if _is_bounded(measure) else ():
        judged = np.bincount(block.query_index[block.grades >= 0], minlength=len(block.queries))
        bounds = value_bounds(measure, block, block.retrieved - judged)
        if bounds is None:
            return None
        lows.append(bounds[0])
        highs.append(bounds[1])
    return (np.concatenate(lows), np.concatenate(highs)) if lows else None


def _is_bounded(measure: Measure) -> bool:
    return measure.name in _BOUNDS and not getattr(measure, "judged_only", False)


def value_bounds(measure: Measure, hits: Hits, documents: IntArray) -> Bounds | None:
    """The bounds of each query's value over the grades of so many unjudged documents, those of the run included.

    None for a measure without them.
    """
    cutoff = getattr(measure, "cutoff", None)
    if not _is_bounded(measure) or (measure.name == "nDCG" and (cutoff is None or cutoff > _MAX_DEPTH)):
        return None
    depth = int(hits.retrieved.max(initial=1) if cutoff is None else cutoff)
    if depth > _MAX_CELLS // len(hits.queries):
        return None
    unjudged = unjudged_mask(hits, depth)
    return _BOUNDS[measure.name](measure, hits, unjudged, documents - unjudged.sum(axis=1))


def _precision(measure: Measure, hits: Hits, unjudged: BoolArray, elsewhere: IntArray) -> Bounds:
    values = measure.values(hits)
    return values, values + unjudged.sum(axis=1) / unjudged.shape[1]


def _success(measure: Measure, hits: Hits, unjudged: BoolArray, elsewhere: IntArray) -> Bounds:
    values = measure.values(hits)
    return values, np.maximum(values, unjudged.any(axis=1))


def _reciprocal_rank(measure: Measure, hits: Hits, unjudged: BoolArray, elsewhere: IntArray) -> Bounds:
    values = measure.values(hits)
    first = np.where(unjudged.any(axis=1), 1.0 / (1 + unjudged.argmax(axis=1)), 0.0)
    return values, np.maximum(values, first)


def _recall(measure: Measure, hits: Hits, unjudged: BoolArray, elsewhere: IntArray) -> Bounds:
    total = hits.judged.relevant(getattr(measure, "least", 1)).astype(np.float64)
    retrieved, inside = measure.values(hits) * total, unjudged.sum(axis=1)
    return _ratio(retrieved, total + elsewhere), _ratio(retrieved + inside, total + inside)


def _ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    return np.divide(over, under, out=np.zeros(len(over)), where=under > 0)


def _ndcg(measure: Measure, hits: Hits, unjudged: BoolArray, elsewhere: IntArray) -> Bounds:
    """Lowest with all documents elsewhere and some of the last ones at the top grade, highest by Dinkelbach's algorithm."""
    gain: GainScheme = getattr(measure, "gain", "linear")
    steps = np.unique(np.append(gains(np.arange(max(hits.judged.highest, 1) + 1), gain), 0.0))
    every = gains(hits.judged.grades, gain)
    reaching = np.stack([hits.judged.count(every >= step) for step in steps[1:]], axis=1)
    top = hits.ranks <= unjudged.shape[1]
    own = gains(hits.grades[top], gain) * discounts(hits.ranks[top])
    judged = np.asarray(np.bincount(hits.query_index[top], weights=own, minlength=len(hits.queries)), dtype=np.float64)
    low, high = np.zeros(len(judged)), np.zeros(len(judged))
    for start in range(0, len(judged), _BATCH):
        part = slice(start, start + _BATCH)
        batch = _GainSteps(np.diff(steps), judged[part], reaching[part], unjudged[part])
        low[part], high[part] = batch.lowest(elsewhere[part]), batch.highest()
    return low, high


class _GainSteps:
    """The gains of queries as steps of these heights; `reaching` counts the judged documents that reach each step."""

    def __init__(self, heights: FloatArray, judged: FloatArray, reaching: IntArray, unjudged: BoolArray) -> None:
        self._heights, self._judged, self._reaching = heights, judged, reaching
        self._size, self._depth = unjudged.sum(axis=1), unjudged.shape[1]
        by_rank = discounts(np.arange(1, self._depth + 1))
        self._sums = np.concatenate(([0.0], np.cumsum(by_rank)))
        first = np.take_along_axis(np.where(unjudged, by_rank, 0.0), np.argsort(~unjudged, axis=1, kind="stable"), axis=1)
        self._gained = np.concatenate((np.zeros((len(judged), 1)), np.cumsum(first, axis=1)), axis=1)

    def lowest(self, elsewhere: IntArray) -> FloatArray:
        """The least value over how many of the last unjudged documents have the top grade, as all documents elsewhere have."""
        values = np.full(len(self._judged), np.inf)
        for count in range(self._depth + 1):
            others = np.take_along_axis(self._gained, np.maximum(self._size - count, 0)[:, None], axis=1)[:, 0]
            gained = self._judged + self._heights.sum() * (self._gained[:, -1] - others)
            ideal = self._ideal(np.repeat((elsewhere + np.minimum(count, self._size))[:, None], len(self._heights), axis=1))
            values = np.minimum(values, _ratio(gained, ideal))
        return values

    def highest(self) -> FloatArray:
        """The greatest value over how many of the first unjudged documents reach each step."""
        places = np.minimum(self._reaching[:, :, None] + np.arange(self._depth + 1), self._depth)
        counts, values = np.zeros_like(self._reaching), np.full(len(self._judged), -1.0)
        while ((now := self._values(counts)) > values).any():
            values = np.maximum(values, now)
            counts = np.argmax(self._gained[:, None, :] - values[:, None, None] * self._sums[places], axis=2)
        return values

    def _values(self, counts: IntArray) -> FloatArray:
        gained = np.take_along_axis(self._gained, counts, axis=1) @ self._heights
        return _ratio(self._judged + gained, self._ideal(np.minimum(counts, self._size[:, None])))

    def _ideal(self, more: IntArray) -> FloatArray:
        """The ideal DCG with so many more documents at each step."""
        return np.asarray(self._sums[np.minimum(self._reaching + more, self._depth)] @ self._heights)


_BOUNDS: dict[str, Callable[[Measure, Hits, BoolArray, IntArray], Bounds]] = {
    "P": _precision,
    "Success": _success,
    "RR": _reciprocal_rank,
    "R": _recall,
    "nDCG": _ndcg,
}
