"""Titles, notes and legends around the panels, and charts without data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankproof._charts.model import Bar, Box, Chart, ChartLink, Label, Lines, Mark, Medium, Panel, Point, free_panel
from rankproof._charts.text import text_width, wrapped

EDGE = 1.0
"""The margin of a chart with its own title, in text sizes."""
_LEADING, _KEY_ROW, _SAMPLE, _GAP = 1.35, 1.7, 1.0, 1.5


@dataclass(frozen=True, slots=True)
class LegendKey:
    """A legend entry: a box, a marker or a line, with its text."""

    text: str
    role: str
    marker: str = ""
    line: bool = False


@dataclass(frozen=True, slots=True)
class ChartHead:
    """The marks above the panels, and their height."""

    marks: tuple[Mark, ...] = ()
    height: float = 0.0


def head_of(medium: Medium, title: str, notes: Sequence[str], keys: Sequence[LegendKey] = ()) -> ChartHead:
    """Title and notes, if the medium has them in the chart, and the legend."""
    edge = EDGE * medium.text if medium.large else 0.0
    marks, down = list[Mark](), edge
    for text, size, role in [(title, medium.large, "strong"), *((note, medium.text, "aside") for note in notes)] if edge else ():
        for line in wrapped(medium.clean(text), medium.width - 2 * edge, size, bold=role == "strong"):
            marks.append(Label(edge, down + _LEADING * size / 2, line, size, role=role))
            down += _LEADING * size
    head = ChartHead(tuple(marks), down + edge)
    return _with_keys(medium, head, keys, edge) if keys else head


def _with_keys(medium: Medium, head: ChartHead, keys: Sequence[LegendKey], edge: float) -> ChartHead:
    """The legend entries side by side, in as many rows as needed."""
    marks, em, left, down = list(head.marks), medium.text, edge, head.height
    for key in keys:
        width = key_width(medium, key)
        if left > edge and left + width > medium.width - edge:
            left, down = edge, down + _KEY_ROW * em
        marks += key_marks(medium, key, left, down + _KEY_ROW * em / 2)
        left += width + _GAP * em
    return ChartHead(tuple(marks), down + (_KEY_ROW + 0.3) * em)


def key_width(medium: Medium, key: LegendKey) -> float:
    """The width of a legend entry."""
    return _sample_width(medium, key) + 0.5 * medium.text + text_width(key.text, medium.small)


def key_marks(medium: Medium, key: LegendKey, x: float, y: float) -> list[Mark]:
    """The marks of a legend entry at a position of the chart."""
    em, width = medium.text, _sample_width(medium, key)
    marks: list[Mark] = []
    if key.line:
        marks.append(Lines((((x, y), (x + width, y)),), key.role))
    elif not key.marker:
        marks.append(Bar((x, y - em / 2), (x + width, y + em / 2), key.role))
    if key.marker:
        marks.append(Point(x + width / 2, y, 0.3 * em, key.role, key.marker))
    return [*marks, Label(x + width + 0.5 * em, y, key.text, medium.small)]


def _sample_width(medium: Medium, key: LegendKey) -> float:
    return (2.4 if key.line else _SAMPLE) * medium.text


def key_list(medium: Medium, keys: Sequence[LegendKey], title: str, left: float, top: float) -> list[Mark]:
    """The legend as a list under a title."""
    step = 1.45 * medium.text
    marks: list[Mark] = [Label(left, top + step / 2, title, medium.small)] if title else []
    first = top + step if title else top
    for at, key in enumerate(keys):
        marks += key_marks(medium, key, left, first + step * (at + 0.5))
    return marks


def key_list_size(medium: Medium, keys: Sequence[LegendKey]) -> tuple[float, float]:
    """The width and height of a legend list with its title."""
    return max(key_width(medium, key) for key in keys), 1.45 * medium.text * (len(keys) + 1)


def composed(
    medium: Medium,
    name: str,
    title: str,
    about: str,
    head: ChartHead,
    panels: Sequence[Panel],
    height: float,
    marks: Sequence[Mark] = (),
) -> Chart:
    """The chart of these parts; `marks` are positioned in the chart."""
    free = free_panel(medium, height, [*head.marks, *marks])
    return Chart(name, title, about, medium, height, (*panels, free))


def row_links(rows: Sequence[tuple[str, str]], frame: Box, width: float) -> tuple[ChartLink, ...]:
    """A link over the whole width for each row of a panel, from its name and address; none for a row without an address."""
    step = frame.height / max(len(rows), 1)
    return tuple(
        ChartLink(Box(0, frame.top + at * step, width, frame.top + (at + 1) * step), address, name)
        for at, (name, address) in enumerate(rows)
        if address
    )


def missing_chart(medium: Medium, name: str, title: str, notes: Sequence[str], why: str) -> Chart:
    """A chart that only shows the reason why there is nothing to draw."""
    head, em = head_of(medium, title, notes), medium.text
    lines = wrapped(medium.clean(why), medium.width - 8 * em, em)
    marks = [
        Label(medium.width / 2, head.height + (2 + _LEADING * at) * em, line, em, "middle", "missing")
        for at, line in enumerate(lines)
    ]
    height = head.height + (4 + _LEADING * len(lines)) * em
    return Chart(name, title, why, medium, height, (free_panel(medium, height, [*head.marks, *marks]),), why)
