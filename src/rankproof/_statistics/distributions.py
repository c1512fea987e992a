"""Student's t, the normal, chi-square and binomial distributions and the studentized range, accurate in the tails."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from rankproof._data.arrays import FloatArray

# math.gamma overflows above 171; from 100 on the series has all digits.
_LARGE_A = 100.0
# Above this, 1 minus the series would lose the digits of a small p.
_SMALL_P_SQUARE = 12.0
_STEPS = 10_000
_TINY = 1e-300
_ERFC = np.frompyfunc(math.erfc, 1, 1)


def student_two_sided(t: float, freedom: float) -> float:
    """P(|T| >= |t|)."""
    square = t * t
    if math.isinf(square):
        return 0.0
    a, x, y = freedom / 2, freedom / (freedom + square), square / (freedom + square)
    front = math.exp(-a * math.log1p(square / freedom)) * math.sqrt(y / math.pi) * gamma_ratio(a)
    # The continued fraction is accurate for a small p; the series, whose terms are all positive, for any other.
    return front * _beta_fraction(a, 0.5, x) / a if square > _SMALL_P_SQUARE else 1 - 2 * front * _beta_series(a, y)


def student_above(t: float, freedom: float) -> float:
    """P(T >= t)."""
    half = student_two_sided(t, freedom) / 2
    return half if t >= 0 else 1 - half


@cache
def student_quantile(share: float, freedom: float) -> float:
    """The quantile of T for a share above 1/2, by bisection to the last bit."""
    low, high = 0.0, 1.0
    while student_above(high, freedom) > 1 - share:
        high *= 2
    # Until no double lies between the two ends, so that the result has the same bits on every machine.
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if student_above(middle, freedom) > 1 - share else (low, middle)
    return high


def normal_below(z: float) -> float:
    """P(Z <= z) of the standard normal distribution."""
    return math.erfc(-z / math.sqrt(2)) / 2


def normal_above(scores: FloatArray) -> FloatArray:
    """P(Z >= score) for each score."""
    return np.asarray(_ERFC(scores / math.sqrt(2)), np.float64) / 2


@cache
def normal_quantile(share: float) -> float:
    """The quantile of the standard normal distribution."""
    # Late, as it imports decimal and fractions, which are slow.
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def chi_square_above(square: float, freedom: float) -> float:
    """P(X >= square) of the chi-square distribution: the upper incomplete gamma function (DLMF 8.7.1 and 8.9.2)."""
    a, x = freedom / 2, square / 2
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    return 1 - front * _gamma_series(a, x) if x < a + 1 else front * _gamma_fraction(a, x)


def binomial_two_sided(wins: int, losses: int) -> float:
    """P of a split at least as uneven as this one, if a win and a loss are equally likely; exact."""
    n, most = wins + losses, max(wins, losses)
    term = total = math.comb(n, most)
    for count in range(most, n):
        term = term * (n - count) // (count + 1)
        total += term
    return min(1.0, 2 * total / (1 << n))


def gamma_ratio(a: float) -> float:
    """Gamma(a + 1/2) / Gamma(a); for large a by the series of Concrete Mathematics, exercise 9.60."""
    if a <= _LARGE_A:
        return math.gamma(a + 0.5) / math.gamma(a)
    series = (1.0, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144, 869 / 4194304)
    return math.sqrt(a) * math.fsum(term / a**power for power, term in enumerate(series))


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def _beta_series(a: float, y: float) -> float:
    """The power series of the incomplete beta function of 1/2 and a (DLMF 8.17.8), whose terms are all positive."""
    total, term, step = 1.0, 1.0, 0
    while term > total * 1e-17:
        term *= y * (a + 0.5 + step) / (1.5 + step)
        total += term
        step += 1
    return total


def _gamma_series(a: float, x: float) -> float:
    """The series of the lower incomplete gamma function, whose terms are all positive."""
    term = total = 1 / a
    step = a
    while term > total * 1e-17:
        step += 1
        term *= x / step
        total += term
    return total


def _gamma_fraction(a: float, x: float) -> float:
    """The continued fraction of the upper incomplete gamma function, by Lentz's method."""
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / _not_zero(b)
    value = d
    for m in range(1, _STEPS):
        b += 2
        d = 1 / _not_zero(b - m * (m - a) * d)
        c = _not_zero(b - m * (m - a) / c)
        value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def _not_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY


# Beyond 9 the normal density is below 1e-17.
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
            # Halving the value of the end that stays keeps the secant from converging from one side only.
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
