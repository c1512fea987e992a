"""The interval of a mean: by bootstrap, by Student's t where there are few queries, none where values have no spread.

Resamples of few values spread too little: of 5 normal values a BCa interval of 95% holds the true mean in 83% of cases.
"""

from __future__ import annotations

import math

from ...data.arrays import FloatArray
from .bootstrap import Interval, Method, bootstrap_interval, resampled_means
from .distributions import student_quantile
from .paired import paired

FEW = 20
"""With fewer queries than this the interval is Student's t."""
METHODS: dict[Method, str] = {"bca": "bootstrap, BCa", "percentile": "bootstrap, percentile"}
STUDENT = "Student's t"
EVERYTHING: Interval = (-math.inf, math.inf)


def interval_of(
    values: FloatArray, means: FloatArray, method: Method, level: float = 0.95, within: Interval = EVERYTHING
) -> Interval | None:
    """The interval of the mean of these values, no wider than what a mean can be; `means` are the resampled ones.

    None where there is one value, or all are equal: they do not say how far another would be from them.
    """
    if len(values) < 2 or values.max() == values.min():
        return None
    if len(values) >= FEW:
        return bootstrap_interval(values, means, method, level)
    low, high = student_interval(values, level)
    return max(low, within[0]), min(high, within[1])


def mean_interval(
    values: FloatArray,
    *,
    method: Method = "bca",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    within: Interval = EVERYTHING,
) -> Interval | None:
    """The interval of the mean of one row of values, no wider than what a mean can be."""
    return interval_of(values, resampled_means(values[:, None], resamples, seed)[:, 0], method, level, within)


def student_interval(values: FloatArray, level: float) -> Interval:
    """The mean, and on either side its standard error times the quantile of Student's t (1908)."""
    short = paired(values)
    reach = student_quantile((1 + level) / 2, short.n - 1) * short.error
    return short.mean - reach, short.mean + reach


def method_words(method: Method, resamples: int, fewest: int, most: int) -> str:
    """How intervals are made of as few values as `fewest` and as many as `most`."""
    resampled = f"{METHODS[method]}, {resamples:,} resamples"
    if fewest >= FEW:
        return resampled
    return f"{STUDENT}, as n < {FEW}" if most < FEW else f"{resampled}; {STUDENT} where n < {FEW}"
