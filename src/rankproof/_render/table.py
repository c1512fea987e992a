"""A Table as text, JSON, CSV, Markdown and LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankproof._data.table import CellValue, ColumnKind, Table
from rankproof._data.text import MIN_SHOWN_P, percent
from rankproof._io.escape import escape_csv, escape_json, for_latex, for_markdown
from rankproof._render.grid import MISSING, Cell, Grid, RenderOptions
from rankproof._render.result import latex_table, markdown_table

if TYPE_CHECKING:
    from rankproof._render.terminal_tables import TablePrinter

_MAX_THREE_DIGITS = 999.5
"""Larger numbers would need an exponent with three significant digits."""


def format_item(item: CellValue, kind: ColumnKind) -> str:
    """The cell as text; this is the only place that rounds."""
    if item is None:
        return MISSING
    if isinstance(item, tuple):
        return f"[{item[0]:.4f}, {item[1]:.4f}]"
    if isinstance(item, bool):
        return "yes" if item else "no"
    if isinstance(item, str):
        return item
    return MISSING if math.isnan(item) else _number(item, kind)


def _number(item: float, kind: ColumnKind) -> str:
    if kind == "p":
        return f"{item:.4f}" if item >= MIN_SHOWN_P else f"<{MIN_SHOWN_P:.4f}"
    if kind == "number":
        return f"{item:.3g}" if abs(item) < _MAX_THREE_DIGITS else f"{item:.0f}"
    if kind == "risk":
        return percent(item).replace("below ", "<")
    formats = {"difference": "+.4f", "points": "+.2f", "share": ".1%", "count": ".0f"}
    return format(item, formats.get(kind, ".4f"))


def as_text(tables: Sequence[Table], options: RenderOptions) -> str:
    """Each table under its title, with its sentences before or after it."""
    from rankproof._render.terminal_tables import TablePrinter

    printer = TablePrinter(options)
    for table in tables:
        printer.line(table.title, style="bold")
        printer.line()
        add_table(table, printer)
    return printer.text()


def add_table(table: Table, printer: TablePrinter) -> None:
    """Adds the rows of a table, and its sentences before or after them."""
    parts = (_add_sentences, _add_rows) if table.verdict_first else (_add_rows, _add_sentences)
    for part in parts:
        part(table, printer)


def _add_rows(table: Table, printer: TablePrinter) -> None:
    if table.rows:
        printer.summary(_marks_as_text(table_grid(table)))


def _add_sentences(table: Table, printer: TablePrinter) -> None:
    for sentence in table.sentences:
        printer.line(sentence)
    if table.sentences:
        printer.line()


def as_json(tables: Sequence[Table], options: RenderOptions) -> str:
    """Every table with its rows as records, at full precision."""
    return escape_json(json.dumps({"tables": plain_tables(tables)}, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def plain_tables(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """Each table as JSON."""
    return [
        {
            "name": table.name,
            "title": table.title,
            "columns": [{"name": column.name, "kind": column.kind, "about": column.about} for column in table.columns],
            "rows": table.records(),
            "sentences": table.sentences,
            "notes": table.notes,
            "facts": dict(table.facts),
        }
        for table in tables
    ]


def as_csv(tables: Sequence[Table], options: RenderOptions) -> str:
    """The tables separated by an empty line, numbers at full precision, an interval as two columns."""
    return "\n".join(map(_csv, tables))


def as_markdown(tables: Sequence[Table], options: RenderOptions) -> str:
    """A heading, a table and the sentences for each."""
    parts = []
    for table in tables:
        parts.append(f"### {for_markdown(table.title)}\n")
        if table.rows:
            parts.append(markdown_table(table_grid(table)))
        parts += [f"- {for_markdown(sentence)}" for sentence in table.sentences]
        parts.append("")
    return "\n".join(parts)


def as_latex(tables: Sequence[Table], options: RenderOptions) -> str:
    """A booktabs tabular for each table, its title and sentences as comments."""
    parts = ["% \\usepackage{booktabs}"]
    for table in tables:
        parts += [f"% {for_latex(line)}" for line in (table.title, *table.sentences)]
        parts += [latex_table(table_grid(table), "tabular"), ""]
    return "\n".join(parts)


TABLE_RENDERERS: dict[str, Callable[[Sequence[Table], RenderOptions], str]] = {
    "table": as_text,
    "json": as_json,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
}


def table_grid(table: Table) -> Grid:
    """The table as a grid; its first column names the rows, and a marks column joins the cell before it."""
    corner, *columns = table.columns
    kept = [at for at, column in enumerate(columns, start=1) if column.kind != "marks"]
    cells = tuple(tuple(_cell(table, at, place) for place in kept) for at in range(len(table.rows)))
    rows = tuple(format_item(row[0], corner.kind) for row in table.rows)
    words = frozenset(at for at, place in enumerate(kept) if _is_text_column(table, place))
    return Grid(corner.name, rows, tuple(table.columns[place].name for place in kept), cells, words, table.highlighted)


def _cell(table: Table, at: int, place: int) -> Cell:
    row = table.rows[at]
    marks = row[place + 1] if _is_marked(table, place) else ""
    return Cell(format_item(row[place], table.columns[place].kind), marks=marks if isinstance(marks, str) else "")


def _is_marked(table: Table, place: int) -> bool:
    return [column.kind for column in table.columns[place + 1 : place + 2]] == ["marks"]


def _is_text_column(table: Table, place: int) -> bool:
    """Whether the column is left-aligned: text, or numbers followed by marks."""
    return table.columns[place].kind in ("text", "flag") or _is_marked(table, place)


def _marks_as_text(grid: Grid) -> Grid:
    """The grid with marks as text after their cells."""
    cells = tuple(tuple(Cell(f"{one.text} {one.marks}".rstrip()) for one in row) for row in grid.cells)
    return replace(grid, cells=cells)


def _csv(table: Table) -> str:
    header = [escape_csv(name) for column in table.columns for name in _names(column.name, column.kind)]
    rows = [
        [text for item, column in zip(row, table.columns, strict=True) for text in _fields(item, column.kind)]
        for row in table.rows
    ]
    return "".join(f"{','.join(row)}\n" for row in (header, *rows))


def _names(name: str, kind: str) -> list[str]:
    return [f"{name} low", f"{name} high"] if kind == "interval" else [name]


def _fields(item: CellValue, kind: str) -> list[str]:
    if kind == "interval":
        return [repr(part) for part in item] if isinstance(item, tuple) else ["", ""]
    if item is None:
        return [""]
    return [escape_csv(item) if isinstance(item, str) else repr(item)]
