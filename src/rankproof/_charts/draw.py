"""Draws a chart with the primitives that every renderer provides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from rankproof._charts.model import Anchor, Area, Axis, Bar, Box, Chart, ErrorBar, Label, Lines, Mark, Panel, Point, Spot, Tick
from rankproof._charts.text import text_width

SLANT = 40.0
"""The angle of slanted labels in degrees."""
_BASELINE = 0.35
"""The distance from the middle of a text to its baseline, as a share of its size."""
_POLYGONS: dict[str, tuple[int, float, float]] = {
    "s": (4, 45, 1.2),
    "^": (3, 90, 1.3),
    "D": (4, 0, 1.25),
    "v": (3, -90, 1.3),
    "<": (3, 180, 1.3),
    ">": (3, 0, 1.3),
    "p": (5, 90, 1.15),
}
_STARS: dict[str, tuple[int, float, float]] = {"*": (5, 90, 0.45), "X": (4, 45, 0.4), "P": (4, 0, 0.4)}
"""Number of corners, angle of the first, and size or inner radius of the markers."""


class Pen(Protocol):
    """The primitives of a renderer, in chart units from the upper left corner."""

    def lines(self, lines: Sequence[Sequence[Spot]], role: str, width: float) -> None:
        """Open lines; a width of 0 is that of the role."""

    def area(self, points: Sequence[Spot], role: str, tip: str) -> None:
        """A closed polygon."""

    def disc(self, spot: Spot, radius: float, role: str, tip: str) -> None:
        """A circle."""

    def box(self, box: Box, role: str, tip: str, level: float | None) -> None:
        """A rectangle."""

    def text(self, spot: Spot, label: Label) -> None:
        """A text whose baseline begins, is centred or ends at the spot."""


def draw(chart: Chart, pen: Pen) -> None:
    """Draws every panel: its axes, then its marks in order."""
    for panel in chart.panels:
        _draw_x_axis(panel, chart.medium.small, chart.medium.text, pen)
        _draw_y_axis(panel, chart.medium.small, chart.medium.text, pen)
        for mark in panel.marks:
            _mark(panel, mark, pen)


def _draw_x_axis(panel: Panel, small: float, em: float, pen: Pen) -> None:
    """The x axis: grid lines, tick labels, and the name below them."""
    frame, axis = panel.frame, panel.x
    for tick in axis.ticks:
        x, _ = panel.place((tick.value, 0))
        if axis.grid:
            pen.lines([[(x, frame.top), (x, frame.bottom)]], "grid", 0)
        anchor: Anchor = "end" if axis.slanted else "middle"
        down = 0.6 * em if axis.slanted else 0.85 * em
        _text(pen, (x, frame.bottom + down), _tick_label(tick, axis, small, anchor))
    _text(pen, (frame.centre[0], frame.bottom + 2.2 * em), Label(0, 0, axis.name, small, "middle", "axis"))


def _draw_y_axis(panel: Panel, small: float, em: float, pen: Pen) -> None:
    """The y axis: grid lines, tick labels, and the name above them, horizontally."""
    frame, axis = panel.frame, panel.y
    edge = frame.right + 0.5 * em if axis.opposite else frame.left - 0.5 * em
    for tick in axis.ticks:
        _, y = panel.place((0, tick.value))
        if axis.grid:
            pen.lines([[(frame.left, y), (frame.right, y)]], "grid", 0)
        _text(pen, (edge, y), _tick_label(tick, axis, small, "start" if axis.opposite else "end"))
    widest = max((text_width(tick.text, axis.size or small) for tick in axis.ticks), default=0.0)
    left = frame.left if axis.opposite else max(edge - widest, 0.15 * em)
    _text(pen, (left, frame.top - 0.9 * em), Label(0, 0, axis.name, small, role="axis"))


def _tick_label(tick: Tick, axis: Axis, small: float, anchor: Anchor) -> Label:
    role = "strong" if tick.strong else "" if axis.size else "tick"
    return Label(0, 0, tick.text, axis.size or small, anchor, role, tip=tick.tip, slanted=axis.slanted)


def _text(pen: Pen, spot: Spot, label: Label) -> None:
    if label.text:
        pen.text((spot[0] + label.dx, spot[1] + label.dy + _BASELINE * label.size), label)


def _mark(panel: Panel, mark: Mark, pen: Pen) -> None:
    match mark:
        case Point():
            _point(panel.place((mark.x, mark.y)), mark, pen)
        case ErrorBar():
            _interval(panel.place(mark.start), panel.place(mark.end), mark, pen)
        case Lines():
            pen.lines([[panel.place(spot) for spot in line] for line in mark.lines], mark.role, mark.width)
        case Area():
            pen.area([panel.place(spot) for spot in mark.points], mark.role, "")
        case Bar():
            (left, right), (top, bottom) = map(sorted, zip(panel.place(mark.start), panel.place(mark.end), strict=True))
            pen.box(Box(left, top, right, bottom), mark.role, mark.tip, mark.level)
        case Label():
            _text(pen, panel.place((mark.x, mark.y)), mark)


def _interval(start: Spot, end: Spot, mark: ErrorBar, pen: Pen) -> None:
    pen.lines([[start, end]], mark.role, 0)
    level = math.isclose(start[1], end[1])
    across, down = (0.0, mark.cap) if level else (mark.cap, 0.0)
    for x, y in (start, end) if mark.cap else ():
        pen.lines([[(x - across, y - down), (x + across, y + down)]], mark.role, 0)


def _point(spot: Spot, point: Point, pen: Pen) -> None:
    if point.marker == "o":
        pen.disc(spot, point.radius, point.role, point.tip)
    else:
        outline = [(spot[0] + x * point.radius, spot[1] - y * point.radius) for x, y in _outline(point.marker)]
        pen.area(outline, point.role, point.tip)


def _outline(marker: str) -> list[Spot]:
    if marker in _POLYGONS:
        corners, angle, size = _POLYGONS[marker]
        return [_corner(angle + 360 * at / corners, size) for at in range(corners)]
    corners, angle, inner = _STARS[marker]
    return [_corner(angle + 180 * at / corners, inner if at % 2 else 1.35) for at in range(2 * corners)]


def _corner(angle: float, radius: float) -> Spot:
    return radius * math.cos(math.radians(angle)), radius * math.sin(math.radians(angle))
