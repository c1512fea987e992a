"""Differences between two systems by query, the largest gain first."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof._charts.layout import EDGE, LegendKey, composed, head_of
from rankproof._charts.model import Area, Axis, Chart, Lines, Mark, Medium, Panel, Tick, value_axis
from rankproof._charts.placement import Box, Spot
from rankproof._charts.scale import Scale


def differences_chart(
    medium: Medium, name: str, title: str, notes: Sequence[str], sizes: Sequence[float], keys: tuple[str, str, str], axis: str
) -> Chart:
    """`sizes` are sorted from the largest gain to the largest loss; `keys` name gains, losses and ties."""
    em = medium.text
    gains, losses, ties = keys
    head = head_of(medium, title, notes, [LegendKey(gains, "gain"), LegendKey(losses, "loss"), LegendKey(ties, "tie", line=True)])
    top = head.height + 1.8 * em
    frame = Box((3.6 + EDGE) * em, top, medium.width - EDGE * em, top + 22 * em)
    low, high = min(*sizes, 0.0), max(*sizes, 0.0)
    pad = max(0.05 * (high - low), 1e-3)
    y = value_axis(Scale(low - pad, high + pad), axis)
    x = _query_axis(len(sizes), 5 if medium.narrow else 8)
    return composed(medium, name, title, "", head, [Panel(frame, x, y, tuple(_marks(sizes)))], frame.bottom + 3 * em)


def _query_axis(count: int, most: int) -> Axis:
    scale = Scale(0, count)
    ticks = tuple(Tick(value, f"{value:,.0f}") for value in scale.ticks(most) if value == int(value))
    return Axis(scale, "queries, the largest gain first", ticks, grid=False)


def _marks(sizes: Sequence[float]) -> list[Mark]:
    """One area for the gains and one for the losses, which is fast for any number of queries."""
    higher, lower = sum(size > 0 for size in sizes), sum(size < 0 for size in sizes)
    equal = len(sizes) - higher - lower
    marks: list[Mark] = [Lines((((0, 0), (len(sizes), 0)),), "zero")]
    if higher:
        marks.append(Area(_outline(sizes[:higher], 0), "gain"))
    if lower:
        marks.append(Area(_outline(sizes[higher + equal :], higher + equal), "loss"))
    return [*marks, Lines((((higher, 0), (higher + equal, 0)),), "tie")] if equal else marks


def _outline(sizes: Sequence[float], first: int) -> tuple[Spot, ...]:
    steps = [(first + at + side, size) for at, size in enumerate(sizes) for side in (0, 1)]
    return (first, 0.0), *steps, (first + len(sizes), 0.0)
