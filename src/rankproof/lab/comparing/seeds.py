"""Chance in the training, which repeats show, joined with chance in the choice of queries."""

from __future__ import annotations

import math

from ...analysis.statistics.bootstrap import Interval
from ...analysis.statistics.distributions import student_quantile
from ...data.arrays import FloatArray

_SHARE = 0.975


def joined(interval: Interval | None, middle: float, *repeats: FloatArray) -> Interval | None:
    """The interval over queries, widened by how far the means of repeats lie apart; each array is those of one system.

    The two kinds of chance are independent, so their half-widths are joined as the sides of a right angle are. The one of the
    training is Student's t over the repeats, by Welch's degrees of freedom where there are two systems.
    """
    if interval is None:
        return None
    wide = _half_width([(float(means.var(ddof=1)) / len(means), len(means) - 1) for means in repeats if len(means) > 1])
    return middle - math.hypot(middle - interval[0], wide), middle + math.hypot(interval[1] - middle, wide)


def _half_width(parts: list[tuple[float, int]]) -> float:
    """Of the sum of means with these squared errors and degrees of freedom."""
    whole = sum(squared for squared, _ in parts)
    if not whole:
        return 0.0
    freedom = whole**2 / sum(squared**2 / free for squared, free in parts)
    return student_quantile(_SHARE, freedom) * math.sqrt(whole)
