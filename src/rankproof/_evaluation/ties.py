"""Tied scores: the range of a value over the orders of documents with the same score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from rankproof._align.hits import Hits, Ties
from rankproof._data.arrays import FloatArray, IntArray, list_places, repeat_each
from rankproof._evaluation.notes import TIED_SCORES, VALUE_NOTES, Note, summary_over
from rankproof._evaluation.result import MeasureResult
from rankproof.measures._base import BinaryMeasure, GainScheme, Measure, gains

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
    begins = np.flatnonzero(np.diff(owners, prepend=-1) | np.diff(starts, prepend=-1))
    members = np.diff(begins, append=len(order))
    places = list_places(members)
    first = starts if best else starts + sizes - repeat_each(members, members)
    codes = None if hits.codes is None else hits.codes[order]
    return replace(hits, ranks=first + places, grades=hits.grades[order], ties=Ties(starts, sizes), codes=codes)


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
    """For each system a note if the order of ties changes a value by more than .005, or the order of the systems.

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
            return Note(TIED_SCORES, tied, f"{text}{also}; {VALUE_NOTES[TIED_SCORES]}")
    return None
