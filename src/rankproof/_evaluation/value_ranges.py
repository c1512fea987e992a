"""What a value could be: its range over the orders of tied documents, and over the grades of unjudged documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from rankproof._align.hits import Hits, Ties
from rankproof._data.arrays import BoolArray, FloatArray, IntArray, list_places, repeat_each
from rankproof._evaluation.notes import TIED_ORDER, TIED_SCORES, VALUE_NOTES, Note, summary_over
from rankproof._evaluation.result import MeasureResult
from rankproof.measures._base import BinaryMeasure, GainScheme, Measure, discounts, gains

WIDE_RANGE = 0.005
"""A range above this is noted."""
_DECIMALS = 4
"""Values are compared as they are printed."""
ORDERED_MEASURES = ("RR", "Success", "AP", "ERR", "bpref")
"""The measures that are no sum over documents and grow if a better document comes first."""


@dataclass(frozen=True, slots=True)
class TieRange:
    """The value of a measure, and the lowest and the highest over all orders of ties."""

    value: float
    worst: float
    best: float

    @property
    def is_wide(self) -> bool:
        """Whether the order of ties changes the value much."""
        return self.best - self.worst > WIDE_RANGE

    @property
    def shown(self) -> TieRange:
        """The range as it is printed."""
        return TieRange(*(round(value, _DECIMALS) for value in (self.value, self.worst, self.best)))

    def can_change_places(self, other: TieRange) -> bool:
        """Whether another order of ties puts the lower of two values above the higher one, as they are printed."""
        high, low = sorted((self.shown, other.shown), key=lambda tie_range: -tie_range.value)
        return high.value > low.value and high.worst < low.best


def can_tie(measure: Measure) -> bool:
    """Whether the range of the measure is known: its value grows if a better document of a tie comes first."""
    ordered = measure.name in ORDERED_MEASURES and not getattr(measure, "judged_only", False)
    return measure.summary == "mean" and (measure.additive or ordered)


def _preferred(measure: Measure) -> int | GainScheme:
    """How the measure prefers documents: by the lowest grade that counts, or by gains."""
    if isinstance(measure, BinaryMeasure):
        return measure.least
    gain: GainScheme = getattr(measure, "gain", "linear")
    return 0 if measure.name == "Judged" else gain


def gain_for(measure: Measure) -> Callable[[IntArray], FloatArray]:
    """The function from grades to gains by which the measure prefers documents."""
    return partial(_gains_by, _preferred(measure))


def _gains_by(preferred: int | GainScheme, grades: IntArray) -> FloatArray:
    return (grades >= preferred).astype(np.float64) if isinstance(preferred, int) else gains(grades, preferred)


def value_range(measure: Measure, hits: Hits) -> tuple[FloatArray, FloatArray]:
    """The worst and the best value of each query."""
    worst, best = _extremes(hits, _preferred(measure))
    return measure.values(worst), measure.values(best)


def _extremes(hits: Hits, preferred: int | GainScheme) -> tuple[Hits, Hits]:
    """The hits with each tie in the worst order, and in the best."""
    values = _gains_by(preferred, hits.grades)
    return _reordered(hits, values, best=False), _reordered(hits, values, best=True)


def _reordered(hits: Hits, gain_values: FloatArray, *, best: bool) -> Hits:
    """The hits with those of each tie at its first ranks, best first, or at its last ranks, best last."""
    starts, sizes = hits.ties
    order = np.lexsort((-gain_values if best else gain_values, starts, hits.query_index))
    starts, sizes, owners = starts[order], sizes[order], hits.query_index[order]
    # A tie begins where the query or the first rank changes.
    begins = np.flatnonzero(np.diff(owners, prepend=-1) | np.diff(starts, prepend=-1))
    members = np.diff(begins, append=len(order))
    places = list_places(members)
    first = starts if best else starts + sizes - repeat_each(members, members)
    codes = None if hits.codes is None else hits.codes[order]
    return replace(hits, ranks=first + places, grades=hits.grades[order], ties=Ties(starts, sizes), codes=codes)


def values_of_reversed_ties(measure: Measure, hits: Hits) -> FloatArray:
    """The value of each query with the documents of each tie in the opposite order."""
    starts, sizes = hits.ties
    ranks = 2 * starts + sizes - 1 - hits.ranks
    order = np.lexsort((ranks, hits.query_index))
    codes = None if hits.codes is None else hits.codes[order]
    ties = Ties(starts[order], sizes[order])
    return measure.values(replace(hits, ranks=ranks[order], grades=hits.grades[order], ties=ties, codes=codes))


def tie_ranges(hits: Hits, results: Mapping[str, MeasureResult]) -> dict[str, TieRange]:
    """The range of each measure of one system."""
    ranges = {}
    extremes = cache(partial(_extremes, hits))
    for name, result in results.items():
        if can_tie(result.measure):
            tied = extremes(_preferred(result.measure)) if hits.alignment_counts.tied else ()
            worst, best = (
                (summary_over(result, hits, result.measure.values(extreme)) for extreme in tied)
                if tied
                else (result.value, result.value)
            )
            ranges[name] = TieRange(result.value, worst, best)
    return ranges


def tie_notes(ranges: Sequence[Mapping[str, TieRange]], tied: Sequence[int]) -> list[Note | None]:
    """For each system a note if the order of ties changes a value by more than 0.005, or the order of the systems.

    `ranges` has the ranges of each system by measure, `tied` the number of its tied documents.
    """
    return [
        _tie_note(own, [other for other in ranges if other is not own], count) for own, count in zip(ranges, tied, strict=True)
    ]


def _tie_note(own: Mapping[str, TieRange], others: Sequence[Mapping[str, TieRange]], tied: int) -> Note | None:
    for name, tie_range in own.items():
        shown = tie_range.shown
        moves = shown.best > shown.worst and any(tie_range.can_change_places(other[name]) for other in others if name in other)
        if moves or tie_range.is_wide:
            text = f"{name} is between {shown.worst:.{_DECIMALS}f} and {shown.best:.{_DECIMALS}f} depending on the order of ties"
            also = ", which changes the order of the systems" if moves else ""
            return Note(TIED_ORDER if moves else TIED_SCORES, tied, f"{text}{also}; {VALUE_NOTES[TIED_SCORES]}")
    return None


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
