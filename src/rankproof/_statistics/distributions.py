"""Student's t and the normal distribution, accurate in the tails."""

from __future__ import annotations

import math
from functools import cache

_LARGE_A = 100.0
_SMALL_P_SQUARE = 12.0
_STEPS = 10_000
_TINY = 1e-300


def student_two_sided(t: float, freedom: float) -> float:
    """P(|T| >= |t|)."""
    square = t * t
    if math.isinf(square):
        return 0.0
    a, x, y = freedom / 2, freedom / (freedom + square), square / (freedom + square)
    front = math.exp(-a * math.log1p(square / freedom)) * math.sqrt(y / math.pi) * _gamma_ratio(a)
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
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if student_above(middle, freedom) > 1 - share else (low, middle)
    return high


def normal_below(z: float) -> float:
    """P(Z <= z) of the standard normal distribution."""
    return math.erfc(-z / math.sqrt(2)) / 2


def normal_quantile(share: float) -> float:
    """The quantile of the standard normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def _gamma_ratio(a: float) -> float:
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


def _not_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
