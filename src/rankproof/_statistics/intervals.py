"""Confidence intervals of a mean: Student's t, and the bootstrap (BCa, percentile)."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.deterministic import products, random_words, stream_key, to_exact_sum
from rankproof._statistics.distributions import normal_below, normal_quantile, student_quantile
from rankproof._statistics.means import effective_size
from rankproof._statistics.options import IntervalMethod
from rankproof._statistics.paired import PairedStatistics, paired_statistics

BootstrapMethod = Literal["bca", "percentile"]
METHOD_NAMES: dict[IntervalMethod, str] = {"t": "Student's t", "bca": "bootstrap, BCa", "percentile": "bootstrap, percentile"}
Interval = tuple[float, float]
UNBOUNDED: Interval = (-math.inf, math.inf)
SMALL_SAMPLE = 20
"""With fewer values than this an interval is approximate."""
MIN_DIFFERENT = 10
"""The interval of a difference needs so many queries on which two systems differ (`python -m benchmarks.interval_coverage`)."""
RESAMPLES = 10_000
_NO_VARIANCE = 1e-24
# The counts of a block of resamples take 16 MB.
_CELLS = 1 << 21


def mean_interval(
    values: FloatArray, *, level: float = 0.95, within: Interval = UNBOUNDED, weights: FloatArray | None = None
) -> Interval | None:
    """The mean plus and minus its standard error times the quantile of Student's t (1908), cut to the range `within`.

    None for one value, where all are equal, as they show no variance, and where one has almost all of the weight.
    """
    if len(values) < 2 or values.max() == values.min() or effective_size(len(values), weights) < 2:
        return None
    return t_interval(paired_statistics(values, weights), level, within)


def t_interval(statistics: PairedStatistics, level: float, within: Interval) -> Interval:
    """The interval of `mean_interval` from the statistics of values that vary."""
    margin = student_quantile((1 + level) / 2, statistics.freedom) * statistics.error
    return max(statistics.mean - margin, within[0]), min(statistics.mean + margin, within[1])


def bounded_mean_interval(
    values: FloatArray, *, level: float = 0.95, within: Interval = UNBOUNDED, weights: FloatArray | None = None
) -> Interval | None:
    """The interval of `mean_interval`; for equal values in a finite range Wilson's, as of a share of so many trials.

    No values in a range vary more around their mean than 0 and 1 do, so this is wide enough for any measure. None for one value,
    and where one has almost all of the weight.
    """
    interval, size = mean_interval(values, level=level, within=within, weights=weights), effective_size(len(values), weights)
    if interval is not None or size < 2 or not all(map(math.isfinite, within)):
        return interval
    return effective_share_interval(float(values[0]), 0.0, size - 1, within, size, level=level)


def effective_share_interval(
    mean: float,
    variance: float,
    freedom: float,
    within: Interval,
    least: float,
    spread_at: float | None = None,
    *,
    level: float = 0.95,
) -> Interval:
    """Wilson's interval (1927) of a mean in a range, with Student's t and the effective sample size.

    The effective size is m (1 - m) / variance, as for a share m of independent values (Korn and Graubard 1998). `spread_at` is
    the mean m that the variance belongs to, if it is not `mean`. Where no value varies, the effective size is `least`.
    """
    low, width = within[0], within[1] - within[0]
    share, at = (mean - low) / width, ((mean if spread_at is None else spread_at) - low) / width
    spread = at * (1 - at)
    size = spread * width**2 / variance if variance > _NO_VARIANCE * width**2 and spread > 0 else float(least)
    square = student_quantile((1 + level) / 2, freedom) ** 2 / size
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    return clip(low + width * (middle - half), within), clip(low + width * (middle + half), within)


def clip(value: float, within: Interval) -> float:
    """The value clipped to the interval; never -0."""
    return max(within[0], min(value, within[1])) + 0.0


def enough_differ(differences: FloatArray, weights: FloatArray | None = None) -> bool:
    """Whether enough differences are not 0, and not all the same, for an interval of their mean; weighted ones by their worth."""
    differ = differences != 0
    vary = np.count_nonzero(differ) >= MIN_DIFFERENT and differences.max() > differences.min()
    return bool(vary) and (weights is None or effective_size(len(weights), weights[differ]) >= MIN_DIFFERENT)


def describe_interval_method(method: IntervalMethod = "t", resamples: int = RESAMPLES) -> str:
    """How intervals are computed."""
    return METHOD_NAMES[method] if method == "t" else f"{METHOD_NAMES[method]}, {resamples:,} resamples"


def resampled_means(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    """The mean of each column in each resample, a row each; the same bits on every machine."""
    n, numbers = len(values), to_exact_sum(values)
    block = max(1, _CELLS // n)
    parts = [_sums(numbers.numbers, first, min(block, resamples - first), seed) for first in range(0, resamples, block)]
    return np.concatenate(parts) * (numbers.unit / n)


def _sums(numbers: np.ndarray[tuple[int, ...], np.dtype[np.int64]], first: int, count: int, seed: int) -> FloatArray:
    """The sums of some resamples, each of which takes the next n words of the stream."""
    n = len(numbers)
    upper = random_words(stream_key(seed, "resamples"), first * n, count * n) >> np.uint64(32)
    # Multiplying 32 random bits by n and keeping the upper half maps them to 0 … n - 1 without a division (Lemire 2019).
    drawn = (upper * np.uint64(n) >> np.uint64(32)).astype(np.int64).reshape(count, n)
    drawn += np.arange(count)[:, None] * n
    counts = np.bincount(drawn.ravel(), minlength=count * n).reshape(count, n)
    return products(counts.astype(np.float64), numbers).astype(np.float64)


def bootstrap_interval(values: FloatArray, means: FloatArray, method: BootstrapMethod, level: float = 0.95) -> Interval:
    """The interval of the mean of these values, which are not all equal; `means` are those of the resamples."""
    low, high = (1 - level) / 2, (1 + level) / 2
    if method == "bca":
        low, high = _bca_shares(values, means, (low, high))
    bounds = np.quantile(means, [low, high])
    return float(bounds[0]), float(bounds[1])


def _bca_shares(values: FloatArray, means: FloatArray, shares: Interval) -> Interval:
    """The quantiles corrected for bias and skewness (Efron 1987); the acceleration of a mean has a closed form."""
    centre = float(values.mean())
    below = (np.count_nonzero(means < centre) + np.count_nonzero(means <= centre)) / 2 / len(means)
    bias = normal_quantile(min(max(below, 0.5 / len(means)), 1 - 0.5 / len(means)))
    off = values - centre
    skew = float((off**3).sum() / (6 * (off**2).sum() ** 1.5))

    def share(of: float) -> float:
        z = bias + normal_quantile(of)
        return normal_below(bias + z / (1 - skew * z))

    return share(shares[0]), share(shares[1])
