"""The studentized range, the distribution behind Tukey's and Nemenyi's tests of all pairs of systems, and Tukey's test."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from rankproof._data.arrays import FloatArray

_STEP, _REACH = 0.125, 9.0
_POINTS = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
_WIDEST = 76.0
"""A range of normal variates above this has a probability below the smallest double."""
_NEGLIGIBLE = 40.0
"""A term of e^-40 of the largest one does not change a double."""
_PRECISION = 1e-14
_NO_VARIANCE = 1e-24
_DENSITY = 1 / math.sqrt(2 * math.pi)
_below = np.frompyfunc(lambda z: math.erfc(-z * math.sqrt(0.5)) / 2, 1, 1)


def studentized_range_above(q: float, groups: int, freedom: float) -> float:
    """P(Q >= q) of the range of `groups` standard normal variates over an independent estimate of their standard deviation.

    The formula is that of Tukey (1953): the probability of a range of at least q s, averaged over the distribution of s, which is
    the root of a chi-square variate over its degrees of freedom. `freedom` may be infinite. Both integrals are sums over equal
    steps, whose error falls exponentially with the step. No difference of probabilities is taken, so a small p has all digits.
    """
    assert groups >= 2, "a range needs two variates"
    if q <= 0:
        return 1.0
    if math.isinf(freedom):
        return min(1.0, float(_range_above(np.array([float(q)]), groups)[0]))
    logs, weights = _deviations(freedom, q)
    return min(1.0, math.fsum((weights * _range_above(q * np.exp(logs), groups)).tolist()))


@cache
def studentized_range_quantile(share: float, groups: int, freedom: float) -> float:
    """The q that a studentized range exceeds with probability 1 - share, by the Illinois method."""
    low, high = 0.0, 4.0
    while (above := studentized_range_above(high, groups, freedom) - (1 - share)) > 0:
        low, high = high, 2 * high
    low_value, high_value = studentized_range_above(low, groups, freedom) - (1 - share), above
    while high - low > _PRECISION * high:
        guess = (low * high_value - high * low_value) / (high_value - low_value)
        value = studentized_range_above(guess, groups, freedom) - (1 - share)
        if abs(value) <= _PRECISION * (1 - share):
            return guess
        if value > 0:
            low, low_value, high_value = guess, value, high_value / 2
        else:
            high, high_value, low_value = guess, value, low_value / 2
    return high


def _range_above(widths: FloatArray, groups: int) -> FloatArray:
    """The probability that the range of normal variates is at least each width: the largest is z, the least below z - width."""
    above = np.zeros(len(widths))
    near = widths < _WIDEST
    z = _POINTS + widths[near, None] / 2
    below = _below(z).astype(np.float64)
    under = _below(z - widths[near, None]).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(below > 0, np.minimum(under / below, 1.0), 1.0)
        missed = -np.expm1((groups - 1) * np.log1p(-share)) * below ** (groups - 1)
    above[near] = groups * _STEP * _DENSITY * np.sum(np.exp(-z * z / 2) * missed, axis=1)
    return above


def _deviations(freedom: float, q: float) -> tuple[FloatArray, FloatArray]:
    """Logarithms of the standard deviation in equal steps, with the probability of each.

    The density of u = log s is proportional to exp(v (u - exp(2 u) / 2)). With few degrees of freedom v, a large q is exceeded
    where s is small.
    """
    step = min(_STEP, 1 / (3 * math.sqrt(2 * freedom)))
    reach = _NEGLIGIBLE / freedom
    left = math.sqrt(reach) + reach + max(0.0, math.log(q / 3)) * min(1.0, 30 / freedom)
    right = min(math.sqrt(reach), math.log1p(2 * reach) / 2 + 0.5)
    logs: FloatArray = np.arange(-math.ceil(left / step), math.ceil(right / step) + 1, dtype=np.float64) * step
    weights: FloatArray = np.exp(freedom * (logs - np.expm1(2 * logs) / 2))
    return logs, weights / math.fsum(weights.tolist())


class Tukey(NamedTuple):
    """Tukey's honestly significant difference: all pairs of systems by one variance of the residuals.

    `means` are those of the systems, `freedom` the degrees of freedom of the variance, and `n` the number of queries.
    """

    means: FloatArray
    variance: float
    freedom: int
    n: int

    @property
    def error(self) -> float:
        """The standard error of a mean."""
        return math.sqrt(self.variance / self.n)

    def p(self, first: int, second: int) -> float:
        """Two-sided p of two systems, corrected for all pairs."""
        distance = abs(float(self.means[first] - self.means[second]))
        return studentized_range_above(distance / self.error, len(self.means), self.freedom)

    def margin(self, level: float) -> float:
        """Half the width of the simultaneous intervals of all differences."""
        return studentized_range_quantile(level, len(self.means), self.freedom) * self.error


def tukey_hsd(values: FloatArray, *, by_query: bool = True) -> Tukey | None:
    """The test of a row for each query and a column for each system; None if there is no residual variance.

    `by_query` removes the mean of each query before the variance is computed: two-way analysis of variance without replication,
    as in a paired test. Without it the systems are taken for independent samples: one-way, as scipy's `tukey_hsd` computes it.
    """
    n, systems = values.shape
    means = np.array([math.fsum(column.tolist()) / n for column in values.T])
    residuals = values - means
    if by_query:
        residuals = residuals - residuals.mean(axis=1, keepdims=True)
    freedom = (n - 1) * (systems - 1) if by_query else systems * (n - 1)
    variance = math.fsum(np.square(residuals).ravel().tolist()) / freedom
    scale = float(np.abs(values).max(initial=0.0)) ** 2
    return Tukey(means, variance, freedom, n) if variance > _NO_VARIANCE * scale else None
