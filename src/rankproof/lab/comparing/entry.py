"""What one system came to under one condition: values and times of every repeat, counts, and what must be known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...analysis.statistics.bootstrap import Interval, resampled_means
from ...analysis.statistics.intervals import interval_of
from ...analysis.statistics.many import draws
from ...data.arrays import FloatArray
from ...data.counting import counted
from ...measures import parse
from .contestants import Family
from .counts import Counts
from .seeds import joined

SLOW_MS = 100.0
"""What a query may take before it feels slow."""
PARTS = ("embed", "search", "total")


@dataclass(frozen=True, slots=True)
class Condition:
    """In which language, and with how many typing errors in each query, the systems were asked."""

    language: str
    edits: int

    def __str__(self) -> str:
        return f"{self.language}, {counted(self.edits, 'edit')}"


@dataclass(frozen=True, eq=False)
class Entry:
    """`values` and `times` (ms) have a row for each repeat and a column for each query.

    `encode_ms` is what one document took to encode, None for a system that does not; `training` is what the encoder says of how
    it was trained, empty where it says nothing, `sources` where the models of the repeats come from.
    """

    system: str
    family: Family
    condition: Condition
    queries: tuple[str, ...]
    values: Mapping[str, FloatArray]
    times: Mapping[str, FloatArray]
    counts: Counts
    index_bytes: int
    encode_ms: float | None
    training: str = ""
    remembered: bool = False
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def repeats(self) -> int:
        """How many models stand behind it that differ in their seed alone."""
        return len(next(iter(self.values.values())))

    def per_query(self, measure: str) -> FloatArray:
        """For each query the mean over the repeats."""
        return mean_of(self.values[measure])

    def mean(self, measure: str) -> float:
        """The mean over queries and repeats."""
        return float(self.values[measure].mean())

    def interval(self, measure: str) -> Interval | None:
        """The 95% interval of the mean, over queries and over repeats; None where the queries have no spread."""
        return self._intervals[measure]

    @cached_property
    def _intervals(self) -> dict[str, Interval | None]:
        ranges = [parse(name).range for name in self.values]
        found = intervals_of([self.per_query(name) for name in self.values], ranges)
        return {name: self._widened(name, one, within) for name, one, within in zip(self.values, found, ranges, strict=True)}

    def _widened(self, measure: str, interval: Interval | None, within: Interval) -> Interval | None:
        """The interval joined with the spread of the repeats, inside of the measure's range."""
        wide = joined(interval, self.mean(measure), self.values[measure].mean(axis=1))
        return wide and (max(wide[0], within[0]), min(wide[1], within[1]))

    def span(self, measure: str) -> Interval:
        """The lowest and the highest mean of a repeat."""
        means = self.values[measure].mean(axis=1)
        return float(means.min()), float(means.max())

    def ms(self, part: str) -> FloatArray:
        """For each query the milliseconds of a part, the mean over the repeats."""
        return mean_of(self.times[part])

    @cached_property
    def slow(self) -> NDArray[np.bool_]:
        """For each query whether it took longer than feels quick."""
        return self.ms("total") > SLOW_MS

    def per_ms(self, measure: str) -> float | None:
        """Quality per millisecond: the mean of the measure over the median total time of a query."""
        middle = float(np.median(self.ms("total")))
        return self.mean(measure) / middle if middle else None


def mean_of(rows: FloatArray) -> FloatArray:
    """The mean over the rows, those of one row to the last bit."""
    found: FloatArray = rows[0] if len(rows) == 1 else rows.mean(axis=0)
    return found


def intervals_of(columns: Sequence[FloatArray], within: Sequence[Interval]) -> list[Interval | None]:
    """The 95% intervals of means over the same queries, by the same resamples (BCa, or Student's t where they are few)."""
    resampled = resampled_means(np.column_stack(columns), draws(len(columns[0])), 0)
    return [interval_of(one, resampled[:, at], "bca", 0.95, within[at]) for at, one in enumerate(columns)]
