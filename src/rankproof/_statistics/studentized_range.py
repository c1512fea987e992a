"""The studentized range: the distribution behind Tukey's and Nemenyi's tests of all pairs of systems."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from rankproof._data.arrays import FloatArray

_STEP, _REACH = 0.125, 9.0
_POINTS = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
_WIDEST = 76.0
"""A range of normal variates above this has a probability below the smallest double."""
_NEGLIGIBLE = 40.0
"""A term of e^-40 of the largest one does not change a double."""
_PRECISION = 1e-14
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
    found = np.zeros(len(widths))
    near = widths < _WIDEST
    z = _POINTS + widths[near, None] / 2
    below = _below(z).astype(np.float64)
    under = _below(z - widths[near, None]).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(below > 0, np.minimum(under / below, 1.0), 1.0)
        missed = -np.expm1((groups - 1) * np.log1p(-share)) * below ** (groups - 1)
    found[near] = groups * _STEP * _DENSITY * np.sum(np.exp(-z * z / 2) * missed, axis=1)
    return found


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
