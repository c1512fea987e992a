"""Axes whose numbers anybody can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICK = 0.5
"""The least room of a tick in inches."""


def time_axis(axis: Axes, times: Sequence[float], *, width: float, after: float = 1.3) -> None:
    """The x axis of times in ms on a logarithmic scale, about so many inches wide, with room behind the last, as a factor."""
    low, high = min(times), max(times)
    if high < 3 * low:
        low, high = low / 2, high * 2
    start, end = low / 1.3, high * (high / low) ** 0.08 * after
    axis.set_xscale("log")
    axis.set_xlim(start, end)
    ticks = next(found for found in _scales(start, end) if len(found) <= max(2, width / _TICK))
    axis.set_xticks(ticks, [f"{tick:,.9g}" for tick in ticks])
    axis.set_xticks([], minor=True)


def _scales(start: float, end: float) -> Iterator[list[float]]:
    """Round numbers within, of fewer and fewer a decade, then of fewer and fewer decades."""
    for steps, decades in (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2), ((1,), 4), ((), 4)):
        numbers = [step * 10.0**power for power in range(-8, 13, decades) for step in steps]
        yield [number for number in numbers if start <= number <= end]
