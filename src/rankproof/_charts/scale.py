"""Linear and logarithmic scales with round ticks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LOG_FROM = 20.0
"""Times use a logarithmic scale if the largest is more than this many times the smallest."""
_LEAST_TIME, _LEAST_SPAN = 1e-3, 1e-9
_MARGIN, _LEAST_MARGIN = 0.06, 0.05
_LOG_STEPS: tuple[tuple[tuple[int, ...], int], ...] = (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2), ((1,), 4))
"""Factors of a decade and step in decades, from many to few ticks."""
ANY = (-math.inf, math.inf)
"""The range of an unbounded value."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The values from `low` to `high`, as shares of a length from 0 to 1."""

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """The position of a value from 0 to 1, clipped."""
        low, high, at = (self._linear(number) for number in (self.low, self.high, value))
        return min(max((at - low) / (high - low), 0.0), 1.0)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values within the scale."""
        return _log_ticks(self.low, self.high, most) if self.log else _ticks(self.low, self.high, most)

    def _linear(self, value: float) -> float:
        return math.log10(max(value, _LEAST_TIME / 10)) if self.log else value


def value_scale(values: Sequence[float], within: tuple[float, float] = ANY) -> Scale:
    """A scale for all values with a margin, within the range of the measure."""
    low, high = min(values), max(values)
    margin = _MARGIN * (high - low) if high - low > _LEAST_SPAN else max(_MARGIN * abs(high), _LEAST_MARGIN)
    least, greatest = min(within[0], low), max(within[1], high)
    return Scale(max(low - margin, least), min(high + margin, greatest))


def bar_scale(values: Sequence[float]) -> Scale:
    """A scale from 0 to a little more than the largest value."""
    low, high = min(*values, 0.0), max(*values, 0.0)
    span = max(high - low, _LEAST_SPAN)
    return Scale(low - 0.04 * span if low < 0 else 0.0, high + 0.04 * span)


def time_scale(values: Sequence[float]) -> Scale:
    """A scale for milliseconds: logarithmic if they differ by a large factor, else from 0."""
    low, high = max(min(values), _LEAST_TIME), max(*values, _LEAST_TIME)
    if high / low > _LOG_FROM:
        return Scale(low / 1.6, high * 1.6, log=True)
    return Scale(0.0, high * 1.08)


def tick_text(value: float) -> str:
    """The text of a tick, with a minus sign."""
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}").replace("-", "−")


def _ticks(low: float, high: float, most: int) -> list[float]:
    span = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(span))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= span)
    first = math.ceil(low / step - 1e-9)
    return [round(at * step, 12) for at in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    choices = list(_log_choices(low, high))
    return next((ticks for ticks in choices if len(ticks) <= most), choices[-1])


def _log_choices(low: float, high: float) -> Iterator[list[float]]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors, every in _LOG_STEPS:
        powers = [power for power in range(first, last + 1) if power % every == 0]
        numbers = [float(f"{factor}e{power}") for power in powers for factor in factors]
        yield [number for number in numbers if low <= number <= high]
