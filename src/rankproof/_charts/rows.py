"""Values by row and column: heat maps, and rows with intervals as dots or bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rankproof._charts.layout import EDGE, composed, head_of, row_links
from rankproof._charts.model import (
    ANY,
    DARK_TEXT_FROM,
    Axis,
    Bar,
    Box,
    Chart,
    ErrorBar,
    Label,
    Lines,
    Mark,
    Medium,
    Panel,
    Point,
    Scale,
    Tick,
    bar_scale,
    row_axis,
    value_axis,
    value_scale,
)
from rankproof._charts.text import fitted, text_width, wrapped

Span = tuple[float, float]
_MOST_ASIDE = 0.3
"""The largest share of the width for an aside; the tooltip has the full text."""
_THICK = 0.34
"""Half the height of a bar, as a share of its row."""


@dataclass(frozen=True, slots=True)
class ValueRow:
    """A system's value; `shown` is the value as text, `aside` a remark after it, `best` marks the best.

    `doubtful` rows are hatched. `address` is where the row leads on a page.
    """

    name: str
    value: float
    shown: str
    interval: Span | None = None
    aside: str = ""
    best: bool = False
    doubtful: bool = False
    address: str = ""

    @property
    def ends(self) -> Span:
        """The interval, or the value twice."""
        return self.interval or (self.value, self.value)


@dataclass(frozen=True, slots=True)
class BarGroup:
    """The rows of one measure, with a short and a long title."""

    title: str
    about: str
    rows: Sequence[ValueRow]


def dot_chart(
    medium: Medium,
    rows: Sequence[ValueRow],
    title: str,
    about: str,
    *,
    step: float = 2.6,
    within: Span = ANY,
    band: Span | None = None,
) -> Chart:
    """One dot with interval and value per row; `step` is the row height in text sizes. A `band` is shaded, with a line at 0."""
    em, head = medium.text, head_of(medium, title, ())
    widest = max((text_width(medium.clean(row.aside), medium.small) for row in rows), default=0.0)
    stacked = bool(widest) and medium.narrow
    asides = min(widest, _MOST_ASIDE * medium.width)
    step += 1.5 if stacked else 0.0
    names = medium.names_room([row.name for row in rows], bold=any(row.best for row in rows))
    values = _values_room(medium, rows)
    right = medium.width - values - (asides + em if asides and not stacked else 0.0) - em
    top = head.height + 0.4 * em
    frame = Box(names + 1.4 * em, top, right, top + step * len(rows) * em)
    lift = 0.7 / step if stacked else 0.0
    scale = value_scale([*(end for row in rows for end in row.ends), *(band or ())], within)
    marks: list[Mark] = [] if band is None else _band_marks(band, len(rows))
    marks += [mark for at, row in enumerate(rows) for mark in _dot(medium, row, at - lift)]
    marks += _value_column(medium, rows, scale, lift)
    for at, row in enumerate(rows):
        marks += _aside(medium, row, at, scale, frame, values, stacked=stacked, room=asides)
    y = row_axis(medium, [row.name for row in rows], names, strong=[row.best for row in rows], lift=lift)
    panel = Panel(frame, value_axis(scale, most=4 if medium.narrow else 7), y, tuple(marks))
    chart = composed(medium, "dots", title, about, head, [panel], frame.bottom + 1.8 * em)
    return replace(chart, links=row_links([(row.name, row.address) for row in rows], frame, medium.width))


def _band_marks(band: Span, rows: int) -> list[Mark]:
    top, bottom = -0.5, rows - 0.5
    return [Bar((band[0], top), (band[1], bottom), "band"), Lines((((0.0, top), (0.0, bottom)),), "zero")]


def bar_chart(medium: Medium, name: str, title: str, notes: Sequence[str], groups: Sequence[BarGroup]) -> Chart:
    """One panel of bars per group, all with the same systems in the same order."""
    em, head = medium.text, head_of(medium, title, notes)
    systems = [row.name for row in groups[0].rows]
    names = medium.names_room(systems)
    left, values = names + EDGE * em, max(_values_room(medium, group.rows) for group in groups)
    across = _panels_across(medium, len(groups), left)
    cell = (medium.width - left - EDGE * em) / across
    titles = [_panel_title(medium, group, cell - 0.5 * em) for group in groups]
    leading, step = 1.35 * medium.small, 1.7 * em
    above = leading * max(map(len, titles)) + 0.5 * em
    high = above + step * len(systems) + 2.3 * em
    panels, labels = [], list[Mark]()
    for at, group in enumerate(groups):
        x, y = left + 0.8 * em + cell * (at % across), head.height + high * (at // across)
        frame = Box(x, y + above, x + cell - values - 1.6 * em, y + above + step * len(systems))
        rows_axis = row_axis(medium, systems, names)
        panels.append(_bar_panel(medium, group, frame, rows_axis if at % across == 0 else replace(rows_axis, ticks=())))
        first = frame.top - 0.4 * em - (len(titles[at]) - 0.5) * leading
        labels += [Label(x, first + leading * line, text, medium.small) for line, text in enumerate(titles[at])]
    height = head.height + high * -(-len(groups) // across)
    return composed(medium, name, title, "", head, panels, height, labels)


def _panels_across(medium: Medium, groups: int, left: float) -> int:
    fit = max(1, int((medium.width - left) / (13 * medium.text)))
    return min(2 if groups == 4 else 3, groups, fit)


def _panel_title(medium: Medium, group: BarGroup, room: float) -> list[str]:
    first = fitted(medium.clean(group.title), room, medium.small)
    return [first, *(wrapped(medium.clean(group.about), room, medium.small, most=2) if group.about else ())]


def _bar_panel(medium: Medium, group: BarGroup, frame: Box, y: Axis) -> Panel:
    scale = bar_scale([end for row in group.rows for end in (row.value, *row.ends)])
    marks: list[Mark] = [mark for at, row in enumerate(group.rows) for mark in _bar(medium, row, at)]
    marks += _value_column(medium, group.rows, scale, 0.0)
    return Panel(frame, value_axis(scale, most=4), y, tuple(marks))


def _dot(medium: Medium, row: ValueRow, y: float) -> list[Mark]:
    tip = ", ".join(part for part in (f"{row.name}: {row.shown}", row.aside) if part)
    point = Point(row.value, y, 0.385 * medium.text, "dot best" if row.best else "dot", tip=tip)
    return [*_interval(medium, row, y, "whisker"), point]


def _bar(medium: Medium, row: ValueRow, y: float) -> list[Mark]:
    role = " ".join(["bar", *(["best"] if row.best else []), *(["doubtful"] if row.doubtful else [])])
    bar = Bar((0.0, y - _THICK), (row.value, y + _THICK), role, f"{row.name}: {row.shown}")
    return [bar, *_interval(medium, row, y, "whisker on-bar")]


def _interval(medium: Medium, row: ValueRow, y: float, role: str) -> list[Mark]:
    return [ErrorBar((row.interval[0], y), (row.interval[1], y), 0.3 * medium.text, role)] if row.interval else []


def _values_room(medium: Medium, rows: Sequence[ValueRow]) -> float:
    return max((text_width(row.shown, medium.text, bold=row.best) for row in rows), default=0.0)


def _value_column(medium: Medium, rows: Sequence[ValueRow], scale: Scale, lift: float) -> list[Mark]:
    """The values as text, after the end of the axis."""
    return [
        Label(scale.high, at - lift, row.shown, medium.text, role="figure strong" if row.best else "figure", dx=0.7 * medium.text)
        for at, row in enumerate(rows)
    ]


def _aside(
    medium: Medium, row: ValueRow, at: int, scale: Scale, frame: Box, values: float, *, stacked: bool, room: float
) -> list[Mark]:
    """The aside after the value, or below the dot in a narrow chart."""
    if not row.aside:
        return []
    em = medium.text
    if stacked:
        below = medium.label(row.aside, scale.low, at, medium.width - frame.left, role="aside", small=True)
        return [replace(below, dy=0.9 * em)]
    behind = medium.label(row.aside, scale.high, at, room, role="aside", small=True)
    return [replace(behind, dx=values + 1.5 * em)]


Place = TypeVar("Place")
_ROW, _BAR_STEPS, _SLANT_ROOM = 1.95, 48, 9.0
_DECIMALS = ((3, 1.0), (2, 1.0), (2, 0.8), (1, 0.8), (1, 0.6))
"""Decimals and relative text size of a cell, from the most to the least space."""


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Cells with row and column names, NaN for none; the last row, or column if `transposed`, is the total."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[float]]
    transposed: bool = False


def heat_levels(values: Mapping[Place, float]) -> dict[Place, float]:
    """Each value scaled from 0 (lowest) to 1 (highest); 0 if all are equal."""
    known = [value for value in values.values() if not math.isnan(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    span = high - low
    return {place: (value - low) / span if span > 0 else 0.0 for place, value in values.items() if not math.isnan(value)}


def heatmap_chart(medium: Medium, name: str, title: str, notes: Sequence[str], measure: str, heat: Heatmap) -> Chart:
    """The cells with their values, and a colour bar."""
    em, head = medium.text, head_of(medium, title, notes)
    names = medium.names_room(heat.rows)
    left = names + (EDGE + 0.5) * em
    right = medium.width - 6.5 * em
    columns = _column_axis(medium, heat, right - left)
    top = head.height + 1.8 * em
    frame = Box(left, top, right, top + _ROW * em * len(heat.rows))
    grid = {(row, at): value for row, line in enumerate(heat.cells) for at, value in enumerate(line)}
    marks = _cells(medium, heat, grid, frame.width / len(heat.columns))
    panel = Panel(frame, columns, row_axis(medium, heat.rows, names), tuple(marks))
    bar = Box(right + em, top, right + 2.2 * em, frame.bottom)
    height = frame.bottom + (_SLANT_ROOM if columns.slanted else 1.8) * em
    return composed(medium, name, title, "", head, [panel, _colour_bar(grid, measure, bar)], height)


def _column_axis(medium: Medium, heat: Heatmap, width: float) -> Axis:
    room = width / len(heat.columns) - 0.5 * medium.text
    slanted = any(text_width(medium.clean(name), medium.small) > room for name in heat.columns)
    shown = medium.names(heat.columns, 13 * medium.text if slanted else room, small=True)
    ticks = tuple(
        Tick(at, text, "" if text == name else name) for at, (text, name) in enumerate(zip(shown, heat.columns, strict=True))
    )
    return Axis(Scale(-0.5, len(heat.columns) - 0.5), ticks=ticks, grid=False, slanted=slanted)


def _cells(medium: Medium, heat: Heatmap, grid: Mapping[tuple[int, int], float], room: float) -> list[Mark]:
    levels, marks = heat_levels(grid), list[Mark]()
    texts, size = _texts(medium, grid, room - 0.4 * medium.text)
    last_row, last_column = len(heat.rows) - 1, len(heat.columns) - 1
    for (row, column), level in levels.items():
        marks.append(Bar((column - 0.5, row - 0.5), (column + 0.5, row + 0.5), "heat", level=level))
        last = column == last_column if heat.transposed else row == last_row
        role = f"{'on-light' if level >= DARK_TEXT_FROM else 'on-dark'}{' strong' if last else ''}"
        marks.append(Label(column, row, texts[row, column], size, "middle", role))
    edge = last_column - 0.5 if heat.transposed else last_row - 0.5
    ends = ((edge, -0.5), (edge, last_row + 0.5)) if heat.transposed else ((-0.5, edge), (last_column + 0.5, edge))
    return [*marks, Lines((ends,), "gap")]


def _texts(medium: Medium, grid: Mapping[tuple[int, int], float], room: float) -> tuple[dict[tuple[int, int], str], float]:
    """The values with as many decimals as fit in a cell, and the text size."""
    for digits, share in _DECIMALS:
        texts = {place: f"{value:.{digits}f}" for place, value in grid.items() if not math.isnan(value)}
        if digits < 3:
            texts = {place: text.removeprefix("0") if text.startswith("0.") else text for place, text in texts.items()}
        size = share * medium.small
        if max(text_width(text, size, bold=True) for text in texts.values()) <= room:
            break
    return texts, size


def _colour_bar(grid: Mapping[tuple[int, int], float], measure: str, frame: Box) -> Panel:
    known = [value for value in grid.values() if not math.isnan(value)]
    low, high = min(known), max(known)
    scale = Scale(low, high if high > low else low + 1e-9)
    step = (scale.high - low) / _BAR_STEPS
    marks = [
        Bar((0, low + at * step), (1, low + (at + 1) * step), "heat", level=at / (_BAR_STEPS - 1)) for at in range(_BAR_STEPS)
    ]
    y = replace(value_axis(scale, measure, most=5), opposite=True, grid=False)
    return Panel(frame, Axis(Scale(0, 1), grid=False), y, tuple(marks))
