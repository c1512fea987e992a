"""Bootstrap intervals of means (Efron 1979): queries are drawn again with replacement, the same draws for every column.

A mean is linear in how often each query was drawn, so one matrix of counts serves all columns, and differences of columns are
differences of their means.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...data.arrays import FloatArray
from .distributions import normal_below, normal_quantile
from .whole import products, whole
from .words import key_of, words

Method = Literal["bca", "percentile"]
Interval = tuple[float, float]
_CELLS = 1 << 21


def resampled_means(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    """The mean of each column over each of the resamples, a row each: the same bits on every machine."""
    n, numbers = len(values), whole(values)
    block = max(1, _CELLS // n)
    parts = [_sums(numbers.numbers, first, min(block, resamples - first), seed) for first in range(0, resamples, block)]
    return np.concatenate(parts) * (numbers.unit / n)


def _sums(numbers: np.ndarray[tuple[int, ...], np.dtype[np.int64]], first: int, count: int, seed: int) -> FloatArray:
    """The sums over some of the resamples, each of which takes the next n words of the stream."""
    n = len(numbers)
    upper = words(key_of(seed, "resamples"), first * n, count * n) >> np.uint64(32)
    drawn = (upper * np.uint64(n) >> np.uint64(32)).astype(np.int64).reshape(count, n)
    drawn += np.arange(count)[:, None] * n
    counts = np.bincount(drawn.ravel(), minlength=count * n).reshape(count, n)
    return products(counts.astype(np.float64), numbers).astype(np.float64)


def bootstrap_interval(apart: FloatArray, means: FloatArray, method: Method, level: float = 0.95) -> Interval:
    """The interval of the mean of these values, which are not all equal; `means` are the resampled ones."""
    low, high = (1 - level) / 2, (1 + level) / 2
    if method == "bca":
        low, high = _bca_shares(apart, means, (low, high))
    found = np.quantile(means, [low, high])
    return float(found[0]), float(found[1])


def _bca_shares(apart: FloatArray, means: FloatArray, shares: Interval) -> Interval:
    """Which quantiles to take once bias and skewness are seen to (Efron 1987); a mean's acceleration has a closed form."""
    centre = float(apart.mean())
    below = (np.count_nonzero(means < centre) + np.count_nonzero(means <= centre)) / 2 / len(means)
    bias = normal_quantile(min(max(below, 0.5 / len(means)), 1 - 0.5 / len(means)))
    off = apart - centre
    skew = float((off**3).sum() / (6 * (off**2).sum() ** 1.5))

    def share(of: float) -> float:
        z = bias + normal_quantile(of)
        return normal_below(bias + z / (1 - skew * z))

    return share(shares[0]), share(shares[1])
