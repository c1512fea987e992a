"""Intervals of many means at once, by the same resamples."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np

from ...evaluation import MeasureResult
from .bootstrap import Interval, resampled_means
from .intervals import interval_of

Key = TypeVar("Key", bound=Hashable)


def intervals_of(
    values: Mapping[Key, MeasureResult], *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> dict[Key, Interval | None]:
    """The interval of each mean; None for a sum, one query, or values that are all equal."""
    means = {key: one for key, one in values.items() if one.summary == "mean" and one.queries}
    found: dict[Key, Interval | None] = dict.fromkeys(values)
    for queries in dict.fromkeys(one.query_ids for one in means.values()):
        keys = [key for key, one in means.items() if one.query_ids == queries]
        columns = np.column_stack([means[key].values for key in keys])
        resampled = resampled_means(columns, resamples, seed)
        for at, key in enumerate(keys):
            found[key] = interval_of(columns[:, at], resampled[:, at], "bca", level, means[key].measure.range)
    return found
