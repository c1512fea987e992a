"""Intervals of many means at once, by the same resamples."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np

from ..analysis.statistics.bootstrap import Interval, resampled_means
from ..analysis.statistics.intervals import interval_of, method_words
from ..evaluation import MeasureResult

Key = TypeVar("Key", bound=Hashable)
RESAMPLES = 10_000
_SEED = 0


def intervals_of(values: Mapping[Key, MeasureResult]) -> dict[Key, Interval | None]:
    """The 95% interval of each mean; None for a sum, one query, or values that are all equal."""
    means = {key: one for key, one in values.items() if one.summary == "mean" and one.queries}
    found: dict[Key, Interval | None] = dict.fromkeys(values)
    for queries in dict.fromkeys(one.query_ids for one in means.values()):
        keys = [key for key, one in means.items() if one.query_ids == queries]
        columns = np.column_stack([means[key].values for key in keys])
        resampled = resampled_means(columns, RESAMPLES, _SEED)
        for at, key in enumerate(keys):
            found[key] = interval_of(columns[:, at], resampled[:, at], "bca", within=means[key].measure.range)
    return found


def how(values: Mapping[Key, MeasureResult], ranges: Mapping[Key, Interval | None]) -> str:
    """How the intervals were made, or that there is none."""
    sizes = [one.queries for key, one in values.items() if ranges[key]]
    if not sizes:
        return "no intervals: they take a mean over two queries or more, not all of one value"
    return f"whiskers: 95% intervals ({method_words('bca', RESAMPLES, min(sizes), max(sizes))})"
