"""The tables of an analysis in every format: text, csv, json, markdown, latex."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..analysis.table import Item, Table
from .analysis_cells import shown
from .as_latex import table_of as latex_table
from .as_markdown import table_of as markdown_table
from .escape import for_csv, for_json, for_latex, for_markdown
from .grid import Cell, Grid
from .look import Look
from .tables import Printer


def as_text(tables: Sequence[Table], look: Look) -> str:
    """Each table under its title, and before or behind it what it shows in words."""
    printer = Printer(look)
    for table in tables:
        printer.line(table.title, style="bold")
        printer.line()
        parts = (_tell, _draw) if table.verdict_first else (_draw, _tell)
        for part in parts:
            part(table, printer)
    return printer.text()


def _draw(table: Table, printer: Printer) -> None:
    if table.rows:
        printer.summary(_plain(grid_of(table)))


def _tell(table: Table, printer: Printer) -> None:
    for sentence in table.sentences:
        printer.line(sentence)
    if table.sentences:
        printer.line()


def as_json(tables: Sequence[Table], look: Look) -> str:
    """Every table with its rows as records, at full precision."""
    plain = [
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
    return for_json(json.dumps({"tables": plain}, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def as_csv(tables: Sequence[Table], look: Look) -> str:
    """The tables one after another, an empty line between; numbers at full precision, an interval as two columns."""
    return "\n".join(map(_csv, tables))


def as_markdown(tables: Sequence[Table], look: Look) -> str:
    """A heading, a table and the sentences for each."""
    parts = []
    for table in tables:
        parts.append(f"### {for_markdown(table.title)}\n")
        if table.rows:
            parts.append(markdown_table(grid_of(table)))
        parts += [f"- {for_markdown(sentence)}" for sentence in table.sentences]
        parts.append("")
    return "\n".join(parts)


def as_latex(tables: Sequence[Table], look: Look) -> str:
    """A booktabs tabular for each table, its title and sentences as comments."""
    parts = ["% \\usepackage{booktabs}"]
    for table in tables:
        parts += [f"% {for_latex(line)}" for line in (table.title, *table.sentences)]
        parts += [latex_table(grid_of(table), "tabular"), ""]
    return "\n".join(parts)


VIEWS: dict[str, Callable[[Sequence[Table], Look], str]] = {
    "table": as_text,
    "json": as_json,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
}


def grid_of(table: Table) -> Grid:
    """The table as cells to show; its first column names the rows, and marks stand in the cell before them."""
    corner, *columns = table.columns
    kept = [at for at, column in enumerate(columns, start=1) if column.kind != "marks"]
    cells = tuple(tuple(_cell(table, at, place) for place in kept) for at in range(len(table.rows)))
    rows = tuple(shown(row[0], corner.kind) for row in table.rows)
    words = frozenset(at for at, place in enumerate(kept) if _is_wordy(table, place))
    return Grid(corner.name, rows, tuple(table.columns[place].name for place in kept), cells, words, table.strong)


def _cell(table: Table, at: int, place: int) -> Cell:
    row = table.rows[at]
    marks = row[place + 1] if _is_marked(table, place) else ""
    return Cell(shown(row[place], table.columns[place].kind), marks=marks if isinstance(marks, str) else "")


def _is_marked(table: Table, place: int) -> bool:
    return [column.kind for column in table.columns[place + 1 : place + 2]] == ["marks"]


def _is_wordy(table: Table, place: int) -> bool:
    """Whether the column reads from the left: words, and numbers with marks behind them."""
    return table.columns[place].kind in ("text", "flag") or _is_marked(table, place)


def _plain(grid: Grid) -> Grid:
    """The grid with marks as text behind their cells."""
    cells = tuple(tuple(Cell(f"{one.text} {one.marks}".rstrip()) for one in row) for row in grid.cells)
    return replace(grid, cells=cells)


def _csv(table: Table) -> str:
    header = [for_csv(name) for column in table.columns for name in _names(column.name, column.kind)]
    rows = [
        [text for item, column in zip(row, table.columns, strict=True) for text in _fields(item, column.kind)]
        for row in table.rows
    ]
    return "".join(f"{','.join(row)}\n" for row in (header, *rows))


def _names(name: str, kind: str) -> list[str]:
    return [f"{name} low", f"{name} high"] if kind == "interval" else [name]


def _fields(item: Item, kind: str) -> list[str]:
    if kind == "interval":
        return [repr(part) for part in item] if isinstance(item, tuple) else ["", ""]
    if item is None:
        return [""]
    return [for_csv(item) if isinstance(item, str) else repr(item)]
