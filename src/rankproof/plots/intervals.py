"""Intervals of many means at once, by the same resamples."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from ..analysis.statistics import many
from ..analysis.statistics.bootstrap import Interval
from ..analysis.statistics.intervals import method_words
from ..evaluation import MeasureResult

Key = TypeVar("Key", bound=Hashable)
RESAMPLES = 10_000


def intervals_of(values: Mapping[Key, MeasureResult]) -> dict[Key, Interval | None]:
    """The 95% interval of each mean; None for a sum, one query, or values that are all equal."""
    return many.intervals_of(values, resamples=RESAMPLES)


def how(values: Mapping[Key, MeasureResult], ranges: Mapping[Key, Interval | None]) -> str:
    """How the intervals were made, or that there is none."""
    sizes = [one.queries for key, one in values.items() if ranges[key]]
    if not sizes:
        return "no intervals: they take a mean over two queries or more, not all of one value"
    return f"whiskers: 95% intervals ({method_words('bca', RESAMPLES, min(sizes), max(sizes))})"
