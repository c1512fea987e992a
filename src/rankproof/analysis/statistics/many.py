"""Intervals of many means at once, by the same resamples."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np

from ...evaluation import MeasureResult
from .bootstrap import Interval, resampled_means
from .intervals import interval_of, method_words

Key = TypeVar("Key", bound=Hashable)
_MOST, _LEAST = 10_000, 1_000
_DRAWINGS = 10_000_000


def draws(n: int, most: int = _MOST) -> int:
    """How often n queries are drawn again: `most`, but no more than ten million drawings, and a thousand at least."""
    return max(_LEAST, min(most, _DRAWINGS // max(n, 1)))


def intervals_of(values: Mapping[Key, MeasureResult], *, seed: int = 0, level: float = 0.95) -> dict[Key, Interval | None]:
    """The interval of each mean; None for a sum, one query, or values that are all equal."""
    means = {key: one for key, one in values.items() if one.summary == "mean" and one.queries}
    resamples = draws(max((one.queries for one in means.values()), default=0))
    found: dict[Key, Interval | None] = dict.fromkeys(values)
    for queries in dict.fromkeys(one.query_ids for one in means.values()):
        keys = [key for key, one in means.items() if one.query_ids == queries]
        columns = np.column_stack([means[key].values for key in keys])
        resampled = resampled_means(columns, resamples, seed)
        for at, key in enumerate(keys):
            found[key] = interval_of(columns[:, at], resampled[:, at], "bca", level, means[key].measure.range)
    return found


def how_made(values: Mapping[Key, MeasureResult], ranges: Mapping[Key, Interval | None]) -> str | None:
    """How `intervals_of` made these, the method and its count; None where there is no interval."""
    sizes = [one.queries for key, one in values.items() if ranges[key]]
    everything = [one.queries for one in values.values() if one.summary == "mean"]
    return method_words("bca", draws(max(everything)), min(sizes), max(sizes)) if sizes else None
