"""Curves of several systems, and the differences between two by query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rankproof._charts.layout import EDGE, LegendKey, composed, head_of, key_list, key_list_size, row_links
from rankproof._charts.model import (
    Area,
    Axis,
    Box,
    Chart,
    ChartLink,
    ErrorBar,
    Lines,
    Mark,
    Medium,
    Panel,
    Point,
    Scale,
    Spot,
    Tick,
    series,
    series_role,
    value_axis,
)


@dataclass(frozen=True, slots=True)
class Curve:
    """A system's values; `marked` are the indices with a marker, `spans` the intervals, `end` the number in the legend.

    `doubtful` curves have hollow markers. `addresses` are those of the marked points.
    """

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    end: float
    marked: Sequence[int]
    spans: Sequence[tuple[float, float] | None] = ()
    doubtful: bool = False
    addresses: Sequence[str] = ()


def curve_chart(
    medium: Medium, name: str, title: str, notes: Sequence[str], curves: Sequence[Curve], axes: tuple[Axis, Axis], key: str
) -> Chart:
    """The curves with a legend under the title `key`, the highest number first; below the chart if it is narrow."""
    em, head = medium.text, head_of(medium, title, notes)
    keys = _keys(medium, curves)
    wide, high = key_list_size(medium, keys)
    top = head.height + 1.8 * em
    right = medium.width - (EDGE * em if medium.narrow else wide + (EDGE + 1.5) * em)
    frame = Box((2.8 + EDGE) * em, top, right, top + max(24 * em, 0 if medium.narrow else high))
    marks = [mark for at, curve in enumerate(curves) for mark in _marks(medium, curve, at)]
    bottom = frame.bottom + 3 * em
    left, start = (EDGE * em, bottom) if medium.narrow else (right + 1.5 * em, top)
    listed = key_list(medium, keys, key, left, start)
    height = bottom + high + em if medium.narrow else bottom
    panel = Panel(frame, *axes, tuple(marks))
    links = (*_point_links(panel, curves, em), *_key_links(curves, Box(left, start, left + wide, start + high)))
    return replace(composed(medium, name, title, "", head, [panel], height, listed), links=links)


def _point_links(panel: Panel, curves: Sequence[Curve], em: float) -> Iterator[ChartLink]:
    """An area around each marked point with an address."""
    for curve in curves:
        for index, address in zip(curve.marked, curve.addresses, strict=False):
            x, y = panel.place((curve.xs[index], curve.ys[index]))
            box = Box(x - em / 2, y - em / 2, x + em / 2, y + em / 2)
            yield ChartLink(box, address, f"{curve.name}: {curve.ys[index]:.3f} at {curve.xs[index]:g}")


def _key_links(curves: Sequence[Curve], box: Box) -> tuple[ChartLink, ...]:
    """The entries of the legend lead where the last point of their curve leads; the first row is the title."""
    rows = [(curves[at].name, curves[at].addresses[-1] if curves[at].addresses else "") for at in _order(curves)]
    return tuple(replace(link, box=link.box._replace(left=box.left)) for link in row_links([("", ""), *rows], box, box.right))


def _order(curves: Sequence[Curve]) -> list[int]:
    """The order of the legend, the highest number first."""
    return sorted(range(len(curves)), key=lambda at: -curves[at].end)


def _keys(medium: Medium, curves: Sequence[Curve]) -> list[LegendKey]:
    names = medium.names([curve.name for curve in curves], 15 * medium.text, small=True)
    return [
        LegendKey(f"{curves[at].end:.3f}  {names[at]}", _role(curves[at], at), series(at).marker, line=True)
        for at in _order(curves)
    ]


def _role(curve: Curve, at: int) -> str:
    return f"{series_role(at)}{' hollow' if curve.doubtful else ''}"


def _marks(medium: Medium, curve: Curve, at: int) -> list[Mark]:
    spots = list(zip(curve.xs, curve.ys, strict=True))
    marks: list[Mark] = [
        ErrorBar((x, span[0]), (x, span[1]), 0.2 * medium.text, f"{series_role(at)} interval")
        for (x, _), span in zip(spots, curve.spans, strict=False)
        if span
    ]
    marks.append(Lines((tuple(spots),), series_role(at)))
    marker, role = series(at).marker, _role(curve, at)
    return [*marks, *(Point(*spots[index], 0.27 * medium.text, role, marker) for index in curve.marked)]


def curve_value_axis(curves: Sequence[Curve], name: str) -> Axis:
    """The axis of values from 0, up to 1 if they come near it."""
    most = max(max(curve.ys) for curve in curves)
    return value_axis(Scale(0, 1.02 if most > 0.6 else max(1.15 * most, 0.01)), name)


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
    return composed(medium, name, title, "", head, [Panel(frame, x, y, tuple(_difference_marks(sizes)))], frame.bottom + 3 * em)


def _query_axis(count: int, most: int) -> Axis:
    scale = Scale(0, count)
    ticks = tuple(Tick(value, f"{value:,.0f}") for value in scale.ticks(most) if value == int(value))
    return Axis(scale, "queries, the largest gain first", ticks, grid=False)


def _difference_marks(sizes: Sequence[float]) -> list[Mark]:
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
