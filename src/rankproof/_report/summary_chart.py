"""A summary as a picture: the decision in words, then the table of systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rankproof._charts.figure import drawable, figure_style, saved
from rankproof._charts.model import Anchor, Bar, Chart, Label, Lines, Mark, Medium, free_panel
from rankproof._charts.text import fitted, fitted_names, text_width, wrapped
from rankproof._data.table import Table
from rankproof._data.text import pluralise
from rankproof._render.table import ShownCell, shown_head, shown_rows
from rankproof._report.summary import ReportSummary

WIDTH = 720.0
"""The width of the picture in points."""
DPI = 200
"""Twice the resolution of a page of 1,000 pixels."""
_MARGIN = 30.0
_SMALL, _TEXT, _LEAD, _CELL = 10.0, 12.0, 18.0, 12.0
_LINE = 1.42
_ROW = 24.0
_GAP = 16.0
_MIN_NAMES, _MAX_NAMES = 70.0, 280.0
_MAX_ROWS = 30
_MAX_LENGTH = 2_000
_MAX_LEAD_LINES, _MAX_LINES = 6, 8


def summary_png(summary: ReportSummary) -> bytes:
    """The picture as the bytes of a PNG file; the same summary gives the same bytes."""
    with figure_style():
        return saved(summary_chart(summary), "png", dpi=DPI)


def summary_chart(summary: ReportSummary) -> Chart:
    """The picture as a chart of texts and lines; call it in the context of `figure_style`."""
    page = _Page()
    for line in summary.about:
        page.paragraph(line, _SMALL, role="aside", most=3)
    lead, *more = summary.sentences or ("There is nothing to show.",)
    page.space(8)
    page.paragraph(lead, _LEAD, role="strong", most=_MAX_LEAD_LINES)
    page.space(6)
    for sentence in more:
        page.paragraph(sentence, _TEXT, most=_MAX_LINES)
    page.space(12)
    if summary.table.rows:
        _draw_table(page, summary.table)
        page.space(10)
    if summary.legend:
        page.paragraph(summary.legend, _SMALL, role="aside", most=4)
    page.paragraph("rankproof", _SMALL, role="aside")
    medium, height = Medium(WIDTH, _TEXT, _SMALL, clean=_clean), page.at + _MARGIN - 6
    return Chart("summary", _clean(summary.title), _clean(lead), medium, height, (free_panel(medium, height, page.marks),))


def _clean(text: str) -> str:
    return drawable(text, _MAX_LENGTH)


@dataclass(slots=True)
class _Page:
    """Marks from the top to the bottom; `at` is where the next one begins."""

    at: float = _MARGIN
    marks: list[Mark] = field(default_factory=list)

    def space(self, height: float) -> None:
        self.at += height

    def paragraph(self, text: str, size: float, *, role: str = "", most: int = 1) -> None:
        """A text in as many lines as it needs, at most `most`."""
        for line in wrapped(_clean(text), WIDTH - 2 * _MARGIN, size, bold="strong" in role, most=most):
            self.line(line, _MARGIN, size, role=role)
            self.at += size * _LINE

    def line(self, text: str, x: float, size: float, *, role: str = "", anchor: Anchor = "start", down: float = 0.0) -> None:
        """One line at the current height."""
        self.marks.append(Label(x, self.at + down + size * _LINE / 2, text, size, anchor, role))

    def rule(self, role: str) -> None:
        """A line across the page."""
        self.marks.append(Lines((((_MARGIN, self.at), (WIDTH - _MARGIN, self.at)),), role))


def _draw_table(page: _Page, table: Table) -> None:
    every, chosen = shown_rows(table), _chosen_rows(table)
    room = _names_room([every[at][0].text for at in chosen])
    shown = table.narrowed(lambda narrower: room + sum(_column_widths(narrower)) <= WIDTH - 2 * _MARGIN)
    rows, widths = shown_rows(shown), _column_widths(shown)
    names = fitted_names([_clean(rows[at][0].text) for at in chosen], room, _CELL, bold=True)
    edges = list(_edges(widths))
    corner, *columns = shown_head(shown)
    heads = [_head_lines(cell.text, width) for cell, width in zip(columns, widths, strict=True)]
    tallest = max(map(len, heads), default=1)
    page.line(corner.text, _MARGIN, _SMALL, role="aside", down=(tallest - 1) * _SMALL * _LINE)
    for lines, edge in zip(heads, edges, strict=True):
        for at, line in enumerate(lines, start=tallest - len(lines)):
            page.line(line, edge, _SMALL, role="aside", anchor="end", down=at * _SMALL * _LINE)
    page.space(tallest * _SMALL * _LINE + 3)
    page.rule("zero")
    for at, name in zip(chosen, names, strict=True):
        _draw_row(page, name, rows[at][1:], edges, is_highlighted=at in table.highlighted)
    if len(rows) > _MAX_ROWS:
        page.space(4)
        page.paragraph(f"and {pluralise(len(rows) - _MAX_ROWS, 'more system')}", _SMALL, role="aside")


def _draw_row(page: _Page, name: str, cells: Sequence[ShownCell], edges: Sequence[float], *, is_highlighted: bool) -> None:
    if is_highlighted:
        page.marks.append(Bar((_MARGIN - 8, page.at), (WIDTH - _MARGIN + 8, page.at + _ROW), "chosen"))
    role, down = "strong" if is_highlighted else "", (_ROW - _CELL * _LINE) / 2
    page.line(name, _MARGIN, _CELL, role=role, down=down)
    for cell, edge in zip(cells, edges, strict=True):
        page.line(_cell_text(cell), edge, _CELL, role=role, anchor="end", down=down)
    page.space(_ROW)
    page.rule("grid")


def _chosen_rows(table: Table) -> list[int]:
    """The first systems, and those that are highlighted."""
    return sorted(sorted(range(len(table.rows)), key=lambda at: (at not in table.highlighted, at))[:_MAX_ROWS])


def _names_room(names: Sequence[str]) -> float:
    widest = max(text_width(_clean(name), _CELL, bold=True) for name in names)
    return min(max(widest, _MIN_NAMES), _MAX_NAMES)


def _cell_text(cell: ShownCell) -> str:
    return fitted(_clean(f"{cell.text.strip()} {cell.marks}".strip()), _MAX_CELL, _CELL, bold=True)


_MAX_CELL = 220.0
_MIN_HEAD = 52.0


def _column_widths(table: Table) -> list[float]:
    rows = shown_rows(table)
    return [_column_width(head.text, [row[at] for row in rows]) for at, head in enumerate(shown_head(table)) if at]


def _column_width(title: str, cells: Sequence[ShownCell]) -> float:
    """The width of the widest cell, or of the longest word of the title, and the gap before it."""
    widest = max((text_width(_cell_text(cell), _CELL, bold=True) for cell in cells), default=0.0)
    words = max((text_width(word, _SMALL) for word in _clean(title).split()), default=0.0)
    return max(widest, min(words, _MAX_CELL), _MIN_HEAD) + _GAP


def _head_lines(title: str, width: float) -> list[str]:
    return wrapped(_clean(title), width - _GAP / 2, _SMALL, most=2)


def _edges(widths: Sequence[float]) -> Iterator[float]:
    """The right edge of each column; the last one is at the margin."""
    right = WIDTH - _MARGIN
    for at in range(len(widths)):
        yield right - sum(widths[at + 1 :])
