"""From values to places: linear for quality, logarithmic for times that differ by much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_FAR = 20.0
_LEAST, _LEAST_SPAN = 1e-3, 1e-9
_ROOM, _LEAST_ROOM = 0.06, 0.05
ANY = (-math.inf, math.inf)
"""What a value can be where nothing is known of it."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` as places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (self._bent(each) for each in (self.low, self.high, value))
        return self.start + (self.end - self.start) * min(max((at - low) / (high - low), 0.0), 1.0)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values within."""
        return _log_ticks(self.low, self.high, most) if self.log else _ticks(self.low, self.high, most)

    def _bent(self, value: float) -> float:
        return math.log10(max(value, _LEAST / 10)) if self.log else value


def quality_scale(values: Sequence[float], start: float, end: float, within: tuple[float, float] = ANY) -> Scale:
    """A scale of all values with some room on either side, though not beyond what the measure can be."""
    low, high = min(values), max(values)
    room = _ROOM * (high - low) if high - low > _LEAST_SPAN else max(_ROOM * abs(high), _LEAST_ROOM)
    least, greatest = min(within[0], low), max(within[1], high)
    return Scale(max(low - room, least), min(high + room, greatest), start, end)


def time_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """Milliseconds: logarithmic where the slowest takes far longer than the fastest, else from 0."""
    low, high = max(min(values), _LEAST), max(*values, _LEAST)
    if high / low > _FAR:
        return Scale(low / 1.6, high * 1.6, start, end, log=True)
    return Scale(0.0, high * 1.08, start, end)


def tick_text(value: float) -> str:
    """A tick as short as it can be."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _ticks(low: float, high: float, most: int) -> list[float]:
    span = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(span))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= span)
    first = math.ceil(low / step - 1e-9)
    return [round(at * step, 12) for at in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [float(f"{factor}e{power}") for power in powers for factor in factors if low <= factor * 10.0**power <= high]
        if len(found) <= most:
            break
    return found
