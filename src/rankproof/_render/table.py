"""A Table as text, JSON, CSV, Markdown and LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rankproof._data.table import CellValue, ColumnKind, Table
from rankproof._data.text import MIN_SHOWN_P, percent
from rankproof._io.escape import escape_csv, escape_json, for_latex, for_markdown
from rankproof._render.formats import RenderOptions

if TYPE_CHECKING:
    from rankproof._render.terminal import TablePrinter

MISSING = "–"
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


class ShownCell(NamedTuple):
    """A cell as text, with its superscript letters and its address on a page.

    `is_text` cells are left-aligned, `level` is the colour from 0 to 9.
    """

    text: str
    is_text: bool = False
    best: bool = False
    marks: str = ""
    level: int | None = None
    link: str = ""


def shown_head(table: Table) -> list[ShownCell]:
    """The names of the columns; the first one names the rows."""
    return [ShownCell(table.columns[at].name, _is_text_column(table, at)) for at in _shown_columns(table)]


def shown_rows(table: Table) -> list[list[ShownCell]]:
    """The rows as text; the cell of a marks column joins the cell before it."""
    places = _shown_columns(table)
    return [[_shown_cell(table, row, at) for at in places] for row in range(len(table.rows))]


def _shown_columns(table: Table) -> list[int]:
    return [at for at, column in enumerate(table.columns) if column.kind != "marks"]


def _shown_cell(table: Table, row: int, at: int) -> ShownCell:
    cells = table.rows[row]
    marks = cells[at + 1] if _has_marks(table, at) else ""
    text = format_item(cells[at], table.columns[at].kind)
    place, marked = (row, at), marks if isinstance(marks, str) else ""
    is_text, is_best = _is_text_column(table, at), place in table.best
    return ShownCell(text, is_text, is_best, marked, table.levels.get(place), table.links.get(place, ""))


def _has_marks(table: Table, at: int) -> bool:
    return [column.kind for column in table.columns[at + 1 : at + 2]] == ["marks"]


def _is_text_column(table: Table, at: int) -> bool:
    """Whether the column is left-aligned: row names, text, or numbers followed by marks."""
    return at == 0 or table.columns[at].kind in ("text", "flag") or _has_marks(table, at)


def as_text(tables: Sequence[Table], options: RenderOptions) -> str:
    """Each table under its title, with its sentences before or after it."""
    from rankproof._render.terminal import TablePrinter

    printer = TablePrinter(options)
    for table in tables:
        if table.title:
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
        printer.summary(table)


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
        if table.title:
            parts.append(f"### {for_markdown(table.title)}\n")
        if table.rows:
            parts.append(markdown_table(table))
        parts += [f"- {for_markdown(sentence)}" for sentence in table.sentences]
        parts.append("")
    return "\n".join(parts)


def as_latex(tables: Sequence[Table], options: RenderOptions) -> str:
    """A booktabs tabular for each table, its title and sentences as comments."""
    parts = ["% \\usepackage{booktabs}"]
    for table in tables:
        parts += [f"% {for_latex(line)}" for line in (table.title, *table.sentences)]
        parts += [latex_table(table, "tabular"), ""]
    return "\n".join(parts)


TABLE_RENDERERS: dict[str, Callable[[Sequence[Table], RenderOptions], str]] = {
    "table": as_text,
    "json": as_json,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
}


def markdown_table(table: Table, escape: Callable[[str], str] = for_markdown) -> str:
    """The rows as a Markdown table."""
    head = shown_head(table)
    names = " | ".join(escape(cell.text) for cell in head)
    rule = " | ".join(":---" if cell.is_text else "---:" for cell in head)
    rows = []
    for at, (name, *cells) in enumerate(shown_rows(table)):
        first = f"**{escape(name.text)}**" if at in table.highlighted else escape(name.text)
        rows.append(" | ".join([first, *(_markdown_cell(cell, escape) for cell in cells)]))
    return "".join(f"| {line} |\n" for line in (names, rule, *rows))


def _markdown_cell(cell: ShownCell, escape: Callable[[str], str]) -> str:
    plain = escape(cell.text.strip())
    text = f"**{plain}**" if cell.best else plain
    return f"{text}<sup>{escape(cell.marks)}</sup>" if cell.marks else text


def latex_table(table: Table, environment: str, *, closing: bool = False) -> str:
    """The rows in that environment; `closing` adds a rule before the last row."""
    head = shown_head(table)
    rows = [_latex_line(row, is_highlighted=at in table.highlighted) for at, row in enumerate(shown_rows(table))]
    if closing:
        rows.insert(-1, r"\midrule")
    names = " & ".join(for_latex(cell.text) for cell in head)
    body = "\n".join([r"\toprule", rf"{names} \\", r"\midrule", *rows, r"\bottomrule"])
    align = "".join("l" if cell.is_text else "r" for cell in head)
    return f"\\begin{{{environment}}}{{{align}}}\n{body}\n\\end{{{environment}}}"


def _latex_line(row: Sequence[ShownCell], *, is_highlighted: bool) -> str:
    name, *cells = row
    first = rf"\textbf{{{for_latex(name.text)}}}" if is_highlighted else for_latex(name.text)
    texts = (rf"\textbf{{{_latex_cell(cell)}}}" if cell.best else _latex_cell(cell) for cell in cells)
    return " & ".join([first, *texts]) + r" \\"


def _latex_cell(cell: ShownCell) -> str:
    superscript = rf"$^{{{for_latex(cell.marks)}}}$" if cell.marks else ""
    return for_latex(cell.text).replace("–", "--") + superscript


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
