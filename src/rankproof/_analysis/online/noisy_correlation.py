"""The correlation and slope of two quantities that are known with errors, and exact intervals of a share.

The true pairs are bivariate normal, and each observed value adds a normal error of known size (Fuller 1987). Means and variances
are fitted for each correlation, so its interval is one of profile likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.distributions import student_quantile

_HIGHEST = 0.9999
_STEPS, _ROUNDS, _BISECTIONS, _DOUBLINGS = 0.5, 120, 24, 40
_CONVERGED = 1e-7


class NoisyPairs(NamedTuple):
    """Pairs of values with the standard error of each."""

    x: FloatArray
    y: FloatArray
    x_error: FloatArray
    y_error: FloatArray

    @property
    def vary(self) -> bool:
        """Whether both quantities have several values."""
        return bool(np.ptp(self.x) > 0 and np.ptp(self.y) > 0)


class Fitted(NamedTuple):
    """An estimate and its interval of 95%."""

    value: float
    low: float
    high: float


def true_correlation(pairs: NoisyPairs) -> Fitted:
    """The correlation of the true values."""
    scaled = _scaled(pairs)

    def parts(correlation: float, x: float, y: float) -> tuple[float, float, float]:
        return x * x, correlation * x * y, y * y

    starts = (-0.9, -0.5, 0.0, 0.5, 0.9)
    profile = _Profile(scaled, parts)
    best = _maximum(profile, starts, lambda value: max(-_HIGHEST, min(_HIGHEST, value)))
    limit = profile(best) - likelihood_drop(len(scaled.x))
    low = _end(profile, best, -_HIGHEST, limit)
    high = _end(profile, best, _HIGHEST, limit)
    return Fitted(best, -1.0 if low <= -_HIGHEST else low, 1.0 if high >= _HIGHEST else high)


def true_slope(pairs: NoisyPairs) -> Fitted:
    """How much the true y rises with the true x; an end of the interval is infinite if the likelihood has no limit there."""
    scaled = _scaled(pairs)

    def parts(slope: float, x: float, rest: float) -> tuple[float, float, float]:
        return x * x, slope * x * x, (slope * x) ** 2 + rest * rest

    profile = _Profile(scaled, parts)
    best = _maximum(profile, (-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0), lambda value: value)
    limit = profile(best) - likelihood_drop(len(scaled.x))
    ratio = _spread(pairs.y) / _spread(pairs.x)
    return Fitted(best * ratio, _far_end(profile, best, -1, limit) * ratio, _far_end(profile, best, 1, limit) * ratio)


def likelihood_drop(count: int) -> float:
    """How far the log-likelihood may be below its maximum inside the interval of 95%.

    Half of n log(1 + t² / (n - 2)), which is exact for no correlation without errors; 1.92 for many pairs.
    """
    t = student_quantile(0.975, count - 2)
    return count / 2 * math.log1p(t * t / (count - 2))


def pearson(x: FloatArray, y: FloatArray) -> float:
    """The correlation of the observed values; NaN if one of them does not vary."""
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale > 0 else math.nan


def share_interval(hits: int, count: int, alpha: float = 0.05) -> tuple[float, float]:
    """The exact interval of a share (Clopper and Pearson 1934)."""

    def at_least(least: int, share: float) -> float:
        return math.fsum(math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(least, count + 1))

    low = 0.0 if hits == 0 else _root(lambda share: at_least(hits, share) - alpha / 2)
    high = 1.0 if hits == count else _root(lambda share: at_least(hits + 1, share) - (1 - alpha / 2))
    return low, high


def _root(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2


def _spread(values: FloatArray) -> float:
    return float(values.std(ddof=1)) or 1.0


def _scaled(pairs: NoisyPairs) -> NoisyPairs:
    """The pairs in units of their standard deviations, around their means."""
    x, y = _spread(pairs.x), _spread(pairs.y)
    return NoisyPairs((pairs.x - pairs.x.mean()) / x, (pairs.y - pairs.y.mean()) / y, pairs.x_error / x, pairs.y_error / y)


class _Profile:
    """The log-likelihood of one parameter, at the best of the others; `parts` are the true variances and covariance."""

    def __init__(self, pairs: NoisyPairs, parts: Callable[[float, float, float], tuple[float, float, float]]) -> None:
        self._pairs, self._parts = pairs, parts
        self._x_noise, self._y_noise = pairs.x_error**2, pairs.y_error**2
        self._start = (math.log(0.7), math.log(0.7))
        self._known: dict[float, float] = {}

    def __call__(self, parameter: float) -> float:
        if parameter not in self._known:
            place, value = _highest(lambda x, y: self._likelihood(parameter, x, y), self._start)
            again, other = _highest(lambda x, y: self._likelihood(parameter, x, y), (math.log(0.7), math.log(0.7)))
            self._start = place if value >= other else again
            self._known[parameter] = max(value, other)
        return self._known[parameter]

    def _likelihood(self, parameter: float, log_x: float, log_y: float) -> float:
        xx, xy, yy = self._parts(parameter, math.exp(log_x), math.exp(log_y))
        a, c = xx + self._x_noise, yy + self._y_noise
        determinant = a * c - xy * xy
        if not (determinant > 1e-300).all():
            return -math.inf
        first, cross, second = c / determinant, -xy / determinant, a / determinant
        x, y = self._pairs.x, self._pairs.y
        sums = float(first.sum()), float(cross.sum()), float(second.sum())
        of_x, of_y = float((first * x + cross * y).sum()), float((cross * x + second * y).sum())
        whole = sums[0] * sums[2] - sums[1] ** 2
        mean_x, mean_y = (sums[2] * of_x - sums[1] * of_y) / whole, (sums[0] * of_y - sums[1] * of_x) / whole
        off_x, off_y = x - mean_x, y - mean_y
        squares = first * off_x * off_x + 2 * cross * off_x * off_y + second * off_y * off_y
        return -0.5 * float((np.log(determinant) + squares).sum())


def _highest(function: Callable[[float, float], float], start: tuple[float, float]) -> tuple[tuple[float, float], float]:
    """The highest point by the simplex of Nelder and Mead (1965), within bounds of logarithms of standard deviations."""

    def bounded(point: tuple[float, float]) -> tuple[float, tuple[float, float]]:
        x, y = (max(-7.0, min(3.0, at)) for at in point)
        return function(x, y), (x, y)

    points = [bounded(start), bounded((start[0] + _STEPS, start[1])), bounded((start[0], start[1] + _STEPS))]
    for _ in range(_ROUNDS):
        points.sort(key=lambda point: -point[0])
        (best, top), (_, middle), (worst, low) = points
        if best - worst < _CONVERGED and max(abs(a - b) for a, b in zip(top, low, strict=True)) < 1e-3:
            break
        centre = ((top[0] + middle[0]) / 2, (top[1] + middle[1]) / 2)

        def along(factor: float, centre: tuple[float, float] = centre, low: tuple[float, float] = low) -> tuple[float, float]:
            return centre[0] + factor * (centre[0] - low[0]), centre[1] + factor * (centre[1] - low[1])

        mirrored = bounded(along(1.0))
        if mirrored[0] > best:
            points[2] = max(mirrored, bounded(along(2.0)))
        elif mirrored[0] > points[1][0]:
            points[2] = mirrored
        else:
            inner = bounded(along(0.5 if mirrored[0] > worst else -0.5))
            if inner[0] > max(worst, mirrored[0]):
                points[2] = inner
            else:
                points[1:] = [bounded(((top[0] + x) / 2, (top[1] + y) / 2)) for _, (x, y) in points[1:]]
    value, place = max(points)
    return place, value


def _maximum(profile: Callable[[float], float], starts: Sequence[float], within: Callable[[float], float]) -> float:
    """The parameter of the highest profile, by halving steps around the best start."""
    best = max(starts, key=profile)
    step = 0.25
    while step > 1e-4:
        around = [within(best - step), within(best + step)]
        other = max(around, key=profile)
        if profile(other) > profile(best):
            best = other
        else:
            step /= 2
    return best


def _end(profile: Callable[[float], float], inside: float, outside: float, limit: float) -> float:
    """Where the profile falls to the limit; `outside` if it does not."""
    if profile(outside) >= limit:
        return outside
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if profile(middle) >= limit else (inside, middle)
    return (inside + outside) / 2


def _far_end(profile: Callable[[float], float], best: float, side: int, limit: float) -> float:
    step = 0.5
    for _ in range(_DOUBLINGS):
        if profile(best + side * step) < limit:
            return _end(profile, best, best + side * step, limit)
        step *= 2
        if step > 1e3:
            break
    return side * math.inf
