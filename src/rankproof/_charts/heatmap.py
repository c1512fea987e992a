"""Heat maps: values by row and column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rankproof._charts.layout import EDGE, composed, head_of
from rankproof._charts.model import (
    DARK_TEXT_FROM,
    Axis,
    Bar,
    Box,
    Chart,
    Label,
    Lines,
    Mark,
    Medium,
    Panel,
    Scale,
    Tick,
    row_axis,
    value_axis,
)
from rankproof._charts.text import text_width

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
