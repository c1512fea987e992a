"""Draws a chart with the primitives that every renderer provides, and as SVG: text is escaped, roles are CSS classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from markupsafe import Markup, escape

from rankproof._charts.model import (
    Anchor,
    Area,
    Axis,
    Bar,
    Box,
    Chart,
    ChartLink,
    ErrorBar,
    Label,
    Lines,
    Mark,
    Panel,
    Point,
    Spot,
    Tick,
)
from rankproof._charts.text import text_width
from rankproof.errors import escape_invisible

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


_STAGE = "stage "


def svg_of(chart: Chart) -> Markup:
    """The chart as SVG, in pixels, with title and text alternative."""
    pen = _SvgPen()
    draw(chart, pen)
    return element(
        "svg",
        element("title", chart.title),
        element("desc", chart.about),
        *pen.elements,
        *map(_link, chart.links),
        viewBox=f"0 0 {number(chart.medium.width)} {number(chart.height)}",
        width=chart.medium.width,
        height=chart.height,
        role="group" if chart.links else "img",
    )


def _link(link: ChartLink) -> Markup:
    """A transparent area over the chart; a group and not an image has such areas, so that screen readers reach them."""
    left, top, _, _ = link.box
    area = element("rect", x=left, y=top, width=link.box.width, height=link.box.height, class_="reach-area")
    return element("a", element("title", link.name), area, href=link.address)


def element(tag: str, /, *children: str | Markup, **attributes: str | float | None) -> Markup:
    """One element; `class_` becomes class, `stroke_width` becomes stroke-width; text children are escaped."""
    written = "".join(f' {_name(key)}="{_value(value)}"' for key, value in attributes.items() if value is not None)
    inside = "".join(str(_safe(child)) for child in children)
    return Markup(f"<{tag}{written}>{inside}</{tag}>" if children else f"<{tag}{written}/>")


def number(value: float) -> str:
    """A coordinate, to a hundredth of a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


class _SvgPen:
    """Collects elements."""

    def __init__(self) -> None:
        self.elements: list[Markup] = []

    def lines(self, lines: Sequence[Sequence[Spot]], role: str, width: float) -> None:
        if len(lines) == 1 and len(lines[0]) == 2:
            (x1, y1), (x2, y2) = lines[0]
            self.elements.append(element("line", x1=x1, x2=x2, y1=y1, y2=y2, class_=role, stroke_width=width or None))
        else:
            path = "".join(map(_path, lines))
            self.elements.append(element("path", d=path, class_=role, stroke_width=width or None))

    def area(self, points: Sequence[Spot], role: str, tip: str) -> None:
        self.elements.append(element("path", *_title(tip), d=f"{_path(points)}Z", class_=role))

    def disc(self, spot: Spot, radius: float, role: str, tip: str) -> None:
        self.elements.append(element("circle", *_title(tip), cx=spot[0], cy=spot[1], r=radius, class_=role))

    def box(self, box: Box, role: str, tip: str, level: float | None) -> None:
        """A rectangle; stages get a second one with hatching, so that colour is not the only difference."""
        heat = "" if level is None else f" heat-{round(9 * level)}"
        for css_class in (f"{role}{heat}", *([role.replace("stage", "hatch")] if role.startswith(_STAGE) else ())):
            spot = {"x": box.left, "y": box.top, "width": box.width, "height": box.height}
            self.elements.append(element("rect", *_title(tip), class_=css_class, **spot))

    def text(self, spot: Spot, label: Label) -> None:
        turn = f"rotate({number(-SLANT)} {number(spot[0])} {number(spot[1])})" if label.slanted else None
        self.elements.append(
            element(
                "text",
                *_title(label.tip),
                label.text,
                x=spot[0],
                y=spot[1],
                text_anchor=label.anchor,
                class_=label.role or None,
                font_size=label.size,
                transform=turn,
            )
        )


def _path(points: Sequence[Spot]) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def _title(tip: str) -> tuple[Markup, ...]:
    return (element("title", tip),) if tip else ()


def _safe(child: str | Markup) -> Markup:
    return child if isinstance(child, Markup) else escape(escape_invisible(child))


def _name(key: str) -> str:
    return key.rstrip("_") if key.endswith("_") else key.replace("_", "-")


def _value(value: str | float) -> Markup | str:
    return escape(escape_invisible(value)) if isinstance(value, str) else number(value)
