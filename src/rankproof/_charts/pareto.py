"""Quality against latency: one dot per system, and the Pareto front as steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rankproof._charts.layout import EDGE, LegendKey, composed, head_of, key_list, key_list_size
from rankproof._charts.model import (
    ANY,
    Box,
    Chart,
    ChartLink,
    ErrorBar,
    Label,
    Lines,
    Mark,
    Medium,
    Panel,
    Point,
    Spot,
    time_scale,
    value_axis,
    value_scale,
)
from rankproof._charts.rows import Span
from rankproof._charts.text import text_width

_SIDES = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
_RINGS = (1.0, 2.2, 3.6)
_AWAY, _MARK, _OUTSIDE = 0.7, 0.5, 20.0
"""Distance of a label and radius of a mark, in text heights; the cost factor of leaving the chart."""
_NAMED = 10
"""More systems than this are numbered, with their names in a legend."""


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """A system: milliseconds a query, value and interval, whether it is on the front, and a tooltip.

    `filled` says how its point is drawn where there is no front; else those on the front are. `address` is where it
    leads on a page.
    """

    name: str
    time: float
    value: float
    interval: Span | None = None
    front: bool = False
    filled: bool = False
    tip: str = ""
    address: str = ""

    @property
    def ends(self) -> Span:
        """The interval, or the value twice."""
        return self.interval or (self.value, self.value)


@dataclass(frozen=True, slots=True)
class ParetoAxes:
    """The names of the axes; `less` is true if lower is better, `limit` is a time marked with a line.

    `within` is the range of the measure.
    """

    time: str
    value: str
    less: bool = False
    within: Span = ANY
    limit: float | None = None


def pareto_chart(
    medium: Medium, name: str, title: str, about: str, notes: Sequence[str], systems: Sequence[ParetoPoint], axes: ParetoAxes
) -> Chart:
    """The fastest at the left, the best on top; the front is filled and joined by a line."""
    em, head, many = medium.text, head_of(medium, title, notes), len(systems) > _NAMED
    keys = (
        [LegendKey(text, _role(system), "o") for text, system in zip(_numbered(medium, systems), systems, strict=True)]
        if many
        else []
    )
    wide, high = key_list_size(medium, keys) if keys else (0.0, 0.0)
    beside = keys and not medium.narrow
    tall = max((29 if medium.large else 27) * em, high if beside else 0.0)
    right = medium.width - (wide + 2 * em if beside else EDGE * em)
    frame = Box(4 * em, head.height + 2.4 * em, right, head.height + 2.4 * em + tall)
    panel = _panel(medium, systems, axes, frame)
    texts = [str(at + 1) for at in range(len(systems))] if many else _names(medium, systems)
    labels = _labels(medium, systems, texts, panel)
    bottom = frame.bottom + 3 * em
    listed = key_list(medium, keys, "", *((right + 1.5 * em, frame.top) if beside else (EDGE * em, bottom)))
    chart = composed(medium, name, title, about, head, [panel], bottom + (0 if beside else high), [*labels, *listed])
    return replace(chart, links=tuple(_link(system, panel, em) for system in systems if system.address))


def _link(system: ParetoPoint, panel: Panel, em: float) -> ChartLink:
    x, y = panel.place((system.time, system.value))
    return ChartLink(Box(x - em, y - em, x + em, y + em), system.address, system.tip or system.name)


def _panel(medium: Medium, systems: Sequence[ParetoPoint], axes: ParetoAxes, frame: Box) -> Panel:
    limit = [axes.limit] if axes.limit is not None else []
    x = value_axis(time_scale([*(system.time for system in systems), *limit]), axes.time, most=5 if medium.narrow else 8)
    y = value_axis(value_scale([end for system in systems for end in system.ends], axes.within), axes.value, reverse=axes.less)
    marks: list[Mark] = [Lines((((at, y.scale.low), (at, y.scale.high)),), "limit") for at in limit]
    marks += _steps(sorted((system for system in systems if system.front), key=lambda system: system.time))
    for point in systems:
        if point.interval:
            marks.append(ErrorBar((point.time, point.interval[0]), (point.time, point.interval[1]), 0.3 * medium.text))
        marks.append(Point(point.time, point.value, 0.385 * medium.text, _role(point), tip=point.tip))
    return Panel(frame, x, y, tuple(marks))


def _role(point: ParetoPoint) -> str:
    return "dot best" if point.front or point.filled else "dot hollow"


def _steps(front: Sequence[ParetoPoint]) -> list[Mark]:
    """The steps of the front: right at the value of the faster system, then up to the better one."""
    points = [(front[0].time, front[0].value)] if front else []
    for before, after in pairwise(front):
        points += [(after.time, before.value), (after.time, after.value)]
    return [Lines((tuple(points),), "front")] if len(points) > 1 else []


def _names(medium: Medium, systems: Sequence[ParetoPoint]) -> list[str]:
    return medium.names([system.name for system in systems], min(13 * medium.text, medium.width / 2.2), bold=True)


def _numbered(medium: Medium, systems: Sequence[ParetoPoint]) -> list[str]:
    names = medium.names([system.name for system in systems], 15 * medium.text, small=True)
    return [f"{at + 1}  {name}" for at, name in enumerate(names)]


def _labels(medium: Medium, systems: Sequence[ParetoPoint], texts: Sequence[str], panel: Panel) -> list[Mark]:
    """A label beside each point, with a thin line if it is far away."""
    size = medium.text
    spots = [panel.place((system.time, system.value)) for system in systems]
    widths = [text_width(text, size, bold=system.front) for text, system in zip(texts, systems, strict=True)]
    within = Box(panel.frame.left, panel.frame.top - size, medium.width, panel.frame.bottom)
    boxes = place_labels(spots, widths, size, _taken(panel), within)
    marks: list[Mark] = []
    for text, point, spot, box in zip(texts, systems, spots, boxes, strict=True):
        near = min(max(spot[0], box.left), box.right), min(max(spot[1], box.top), box.bottom)
        if math.dist(near, spot) > 1.4 * size:
            marks.append(Lines(((spot, near),), "leader"))
        role = "halo strong" if point.front else "halo"
        marks.append(Label(box.left, box.centre[1], text, size, role=role, tip="" if text in point.name else point.name))
    return marks


def _taken(panel: Panel) -> list[Box]:
    """The lines that labels should not cover: the intervals and the front."""
    lines = [(mark.start, mark.end) for mark in panel.marks if isinstance(mark, ErrorBar)]
    steps = [mark.lines[0] for mark in panel.marks if isinstance(mark, Lines)]
    lines += [pair for line in steps for pair in pairwise(line)]
    return [_thick(panel.place(start), panel.place(end)) for start, end in lines]


def _thick(start: Spot, end: Spot) -> Box:
    (left, right), (top, bottom) = (sorted(pair) for pair in zip(start, end, strict=True))
    return Box(left - 2, top - 2, right + 2, bottom + 2)


def place_labels(spots: Sequence[Spot], widths: Sequence[float], size: float, lines: Sequence[Box], within: Box) -> list[Box]:
    """A box for each label, placed greedily where it overlaps least."""
    mark = _MARK * size
    taken = [*lines, *(Box(x - mark, y - mark, x + mark, y + mark) for x, y in spots)]
    boxes = []
    for spot, width in zip(spots, widths, strict=True):
        choices = [(_beside(spot, width, size, side, ring), ring) for ring in _RINGS for side in _SIDES]
        best, _ = min(choices, key=lambda choice: _cost(choice[0], taken, within) + 0.1 * size * choice[1])
        taken.append(best)
        boxes.append(best)
    return boxes


def _beside(spot: Spot, width: float, height: float, side: tuple[int, int], ring: float) -> Box:
    x, y = (spot[at] + side[at] * _AWAY * ring * height for at in (0, 1))
    left, top = x - width * (1 - side[0]) / 2, y - height * (1 - side[1]) / 2
    return Box(left, top, left + width, top + height)


def _cost(box: Box, taken: Sequence[Box], within: Box) -> float:
    """The overlap, plus a penalty for leaving the chart."""
    return sum(box.shared(other) for other in taken) + _OUTSIDE * box.outside(within)
