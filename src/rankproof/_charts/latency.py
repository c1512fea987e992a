"""Latency charts: milliseconds by stage, percentiles of the total, and quality against latency with the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from rankproof._charts.layout import EDGE, LegendKey, composed, head_of, key_list, key_list_size, row_links
from rankproof._charts.model import (
    ANY,
    Axis,
    Bar,
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
    Scale,
    Spot,
    bar_scale,
    row_axis,
    time_scale,
    value_axis,
    value_scale,
)
from rankproof._charts.rows import Span
from rankproof._charts.text import text_width
from rankproof._data.text import shown_time

_STEP, _THICK = 2.6, 0.266
"""The height of a row in text sizes, and half that of a bar as a share of it."""
_P50, _P95 = LegendKey("p50", "dot best", "o"), LegendKey("p95", "dot hollow", "D")


@dataclass(frozen=True, slots=True)
class SystemTimes:
    """Mean milliseconds of a system by stage, p50 and p95 of the total, a remark, and where its row leads on a page."""

    name: str
    parts: Mapping[str, float]
    p50: float
    p95: float
    aside: str = ""
    address: str = ""

    @property
    def total(self) -> float:
        """The mean total."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class TimeWords:
    """Names of stages that differ from their keys, and a time limit with its name."""

    stages: Mapping[str, str] = field(default_factory=dict)
    limit: float | None = None
    limit_name: str = ""


def shares_chart(medium: Medium, rows: Sequence[SystemTimes], title: str, about: str) -> Chart:
    """One full-width bar per system, split by stage, with the mean total at the right."""
    head, em = head_of(medium, title, (), _stage_keys(rows, TimeWords())), medium.text
    frame = _frame(medium, rows, head.height, medium.width - 6.2 * em)
    marks = [mark for at, row in enumerate(rows) for mark in _share_bar(medium, row, at, frame)]
    totals = [f"{shown_time(row.total)} ms" for row in rows]
    marks += [Label(1.0, at, text, em, "end", "figure", dx=medium.width - frame.right) for at, text in enumerate(totals)]
    names = row_axis(medium, [row.name for row in rows], frame.left - em)
    panel = Panel(frame, replace(value_axis(Scale(0, 1)), ticks=()), names, tuple(marks))
    chart = composed(medium, "shares", title, about, head, [panel], frame.bottom + 0.5 * em)
    return replace(chart, links=row_links([(row.name, row.address) for row in rows], frame, medium.width))


def spread_chart(medium: Medium, rows: Sequence[SystemTimes], title: str, about: str) -> Chart:
    """A line from p50 (filled) to p95 (hollow) per system."""
    head, em = head_of(medium, title, ()), medium.text
    frame = _frame(medium, rows, head.height + 0.6 * em, medium.width - em)
    names = row_axis(medium, [row.name for row in rows], frame.left - em)
    panel = _spread_panel(medium, rows, frame, names, TimeWords(), column=False)
    chart = composed(medium, "spread", title, about, head, [panel], frame.bottom + 3 * em)
    return replace(chart, links=row_links([(row.name, row.address) for row in rows], frame, medium.width))


def latency_chart(
    medium: Medium, name: str, title: str, notes: Sequence[str], rows: Sequence[SystemTimes], words: TimeWords
) -> Chart:
    """Mean milliseconds by stage, stacked, and p50 and p95 of the total."""
    em = medium.text
    limit = [LegendKey(words.limit_name, "limit", line=True)] if words.limit is not None else []
    head = head_of(medium, title, notes, [*_stage_keys(rows, words), _P50, _P95, *limit])
    names = medium.names_room([row.name for row in rows])
    left, high = names + (EDGE + 1) * em, (_STEP * 0.8 * len(rows) + 3.4) * em
    stacked = max(text_width(shown_time(row.total), medium.small) for row in rows) + 1.5 * em
    spread = max(text_width(_spread_text(row), medium.small) for row in rows) + 1.5 * em
    room = medium.width - left - EDGE * em if medium.narrow else (medium.width - left) / 2 - EDGE * em
    first = Box(left, head.height + 0.4 * em, left + room - stacked, head.height + high - 3 * em)
    start, below = (left, high) if medium.narrow else (left + room + 2 * em, 0.0)
    second = Box(start, first.top + below, start + room - spread, first.bottom + below)
    axis = row_axis(medium, [row.name for row in rows], names)
    panels = [
        _stack_panel(medium, rows, first, axis, words),
        _spread_panel(medium, rows, second, axis if medium.narrow else replace(axis, ticks=()), words, column=True),
    ]
    return composed(medium, name, title, "", head, panels, head.height + high * (2 if medium.narrow else 1))


def _frame(medium: Medium, rows: Sequence[SystemTimes], top: float, right: float) -> Box:
    left = medium.names_room([row.name for row in rows]) + medium.text
    return Box(left, top, right, top + _STEP * medium.text * len(rows))


def _used(rows: Sequence[SystemTimes]) -> list[str]:
    return [part for part in rows[0].parts if any(row.parts[part] > 0 for row in rows)]


def _stage_keys(rows: Sequence[SystemTimes], words: TimeWords) -> list[LegendKey]:
    return [LegendKey(words.stages.get(part, part), f"stage stage-{part}") for part in _used(rows)]


def _share_bar(medium: Medium, row: SystemTimes, y: int, frame: Box) -> list[Mark]:
    marks: list[Mark] = []
    start = 0.0
    for part, time in row.parts.items():
        share = time / row.total if row.total > 0 else 0.0
        if share <= 0:
            continue
        tip = f"{row.name}: {part} {shown_time(time)} ms, {share:.1%}"
        marks.append(Bar((start, y - _THICK), (start + share, y + _THICK), f"stage stage-{part}", tip))
        if share * frame.width > 2.6 * medium.text:
            marks.append(Label(start + share / 2, y, f"{share:.0%}", medium.small, "middle", f"on-{part}"))
        start += share
    return marks


def _stack_panel(medium: Medium, rows: Sequence[SystemTimes], frame: Box, y: Axis, words: TimeWords) -> Panel:
    scale = bar_scale([row.total for row in rows])
    marks: list[Mark] = []
    for at, row in enumerate(rows):
        start = 0.0
        for part, time in row.parts.items():
            if time > 0:
                marks.append(Bar((start, at - 0.34), (start + time, at + 0.34), f"stage stage-{part}"))
            start += time
    marks += _limit(words, rows) if words.limit is not None and scale.high > words.limit else []
    marks += _column(medium, [shown_time(row.total) for row in rows], scale)
    return Panel(frame, value_axis(scale, "mean milliseconds per query", most=5), y, tuple(marks))


def _spread_panel(medium: Medium, rows: Sequence[SystemTimes], frame: Box, y: Axis, words: TimeWords, *, column: bool) -> Panel:
    limit = [words.limit] if words.limit is not None else []
    scale = time_scale([*(time for row in rows for time in (row.p50, row.p95)), *limit])
    marks: list[Mark] = _limit(words, rows)
    for at, row in enumerate(rows):
        tip = f"{row.name}: p50 {shown_time(row.p50)} ms, p95 {shown_time(row.p95)} ms"
        marks.append(Lines((((row.p50, at), (row.p95, at)),), "reach"))
        marks.append(Point(row.p50, at, 0.385 * medium.text, _P50.role, _P50.marker, tip))
        marks.append(Point(row.p95, at, 0.385 * medium.text, _P95.role, _P95.marker, tip))
    name = "milliseconds per query"
    if column:
        marks += _column(medium, [_spread_text(row) for row in rows], scale)
        name = "milliseconds per query, p50 / p95"
    most = 5 if medium.narrow or column else 8
    return Panel(frame, value_axis(scale, name, most=most), y, tuple(marks))


def _spread_text(row: SystemTimes) -> str:
    return f"{shown_time(row.p50)} / {shown_time(row.p95)}{f', {row.aside}' if row.aside else ''}"


def _limit(words: TimeWords, rows: Sequence[SystemTimes]) -> list[Mark]:
    return [Lines((((words.limit, -0.5), (words.limit, len(rows) - 0.5)),), "limit")] if words.limit is not None else []


def _column(medium: Medium, texts: Sequence[str], scale: Scale) -> list[Mark]:
    """Texts after the end of the axis."""
    return [Label(scale.high, at, text, medium.small, role="figure", dx=0.7 * medium.text) for at, text in enumerate(texts)]


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
