"""Latency charts: milliseconds by stage, and percentiles of the total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rankproof._charts.layout import EDGE, LegendKey, composed, head_of, row_links
from rankproof._charts.model import (
    Axis,
    Bar,
    Box,
    Chart,
    Label,
    Lines,
    Mark,
    Medium,
    Panel,
    Point,
    Scale,
    bar_scale,
    row_axis,
    time_scale,
    value_axis,
)
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
