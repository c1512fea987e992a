"""Values as dots with their intervals, a system a row: the ladder, and every measure beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ...analysis.statistics.bootstrap import Interval
from .axis import NARROW, across, names_room
from .lettering import SMALL, label, width_of
from .marks import dot, whisker
from .scale import ANY, Scale, quality_scale
from .svg import drawing

_VALUE = 56.0
_MOST_ASIDE = 0.3
"""Of the width: the rest of an aside is told on hovering."""


@dataclass(frozen=True, slots=True)
class Row:
    """A system's value; `shown` is the value in words, `aside` what stands behind it, `best` whether none is better."""

    name: str
    value: float
    shown: str
    interval: Interval | None = None
    aside: str = ""
    best: bool = False


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things stand: names end at `left`, values begin at `right`, asides behind them or, `stacked`, below the dots.

    `room` is what an aside may take.
    """

    scale: Scale
    left: float
    right: float
    room: float
    stacked: bool


def dots(
    rows: Sequence[Row],
    title: str,
    about: str,
    axis: str,
    *,
    width: float,
    step: float = 34,
    within: tuple[float, float] = ANY,
) -> Markup:
    """A dot a row, its interval across it, its value at the right; the axis ends where the measure does, `within`."""
    widest = max((width_of(row.aside, SMALL) for row in rows), default=0.0)
    stacked = bool(widest) and width < NARROW
    asides = min(widest, _MOST_ASIDE * width)
    left = names_room([row.name for row in rows], width)
    right = width - _VALUE - (asides + 14 if asides and not stacked else 0)
    ends = [end for row in rows for end in (row.interval or (row.value, row.value))]
    scale = quality_scale(ends, left + 10, right - 14, within)
    layout = _Layout(scale, left, right, width - left - 10 if stacked else asides, stacked)
    step += 20 if stacked else 0
    bottom = 8 + step * len(rows)
    parts = across(layout.scale, 4, bottom, axis, most=4 if width < NARROW else 7)
    for at, row in enumerate(rows):
        parts += _row(row, 8 + step * at + step / 2 - (9 if stacked else 0), layout)
    return drawing(width, bottom + (40 if axis else 22), title, about, parts)


def _row(row: Row, y: float, layout: _Layout) -> list[Markup]:
    told = ", ".join(part for part in (f"{row.name}: {row.shown}", row.aside) if part)
    word = "strong" if row.best else ""
    parts = [label(layout.left - 6, y + 4.5, row.name, room=layout.left - 8, anchor="end", class_=word)]
    parts += whisker(layout.scale, row.interval, y)
    parts.append(dot(layout.scale(row.value), y, told, class_="dot best" if row.best else "dot"))
    parts.append(label(layout.right, y + 4.5, row.shown, room=_VALUE, class_=f"figure {word}".strip()))
    if row.aside:
        x, place = (layout.left + 10, y + 22) if layout.stacked else (layout.right + _VALUE, y + 4.5)
        parts.append(label(x, place, row.aside, room=layout.room + 1, class_="aside", size=SMALL))
    return parts
