"""Views of values as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup, escape

from rankproof._data.table import Table
from rankproof._data.view import View
from rankproof._render.formats import RenderOptions
from rankproof._render.table import ShownCell, add_table, shown_head, shown_rows
from rankproof._render.terminal import TablePrinter
from rankproof.errors import escape_invisible, in_python

WIDTH, HEIGHT = 100, 25
_MAX_HTML_ROWS = 100


def as_text(view: View) -> str:
    """The view as text of at most 100 columns: title, sentences, tables, notes."""
    view, printer = _with_arguments(view), TablePrinter(RenderOptions(width=WIDTH, wrap=True))
    printer.line(view.title)
    for sentence in view.sentences:
        printer.line(sentence)
    for table in view.tables:
        printer.line()
        if table.title and table.title != view.title:
            printer.line(table.title)
        add_table(table, printer)
    for note in view.notes:
        printer.line(f"note: {note}")
    lines = printer.text().rstrip("\n").split("\n")
    return "\n".join(line for at, line in enumerate(lines) if line or lines[at - 1])


def as_repr(view: View) -> str:
    """The view as text of at most 25 lines."""
    lines = as_text(view).splitlines()
    if len(lines) <= HEIGHT:
        return "\n".join(lines)
    return "\n".join([*lines[: HEIGHT - 1], f"… {len(lines) - HEIGHT + 1} more lines; print(value) shows all"])


def as_html(view: View) -> str:
    """The view as HTML; every text is escaped."""
    view = _with_arguments(view)
    parts = [_element("p", _element("strong", view.title)), *(_element("p", sentence) for sentence in view.sentences)]
    for table in view.tables:
        parts += _table_parts(table, view.title)
    if view.notes:
        parts.append(_element("ul", *(_element("li", note) for note in view.notes)))
    return str(Markup('<div class="rankproof">{}</div>').format(Markup("").join(parts)))


def _with_arguments(view: View) -> View:
    """The view with arguments of functions in its sentences and notes, in place of options of the command line."""
    tables = tuple(replace(_compact(table), sentences=tuple(map(in_python, table.sentences))) for table in view.tables)
    return View(view.title, tables, tuple(map(in_python, view.sentences)), tuple(map(in_python, view.notes)))


def _compact(table: Table) -> Table:
    """The table without its empty columns."""
    for at, column in enumerate(table.columns[1:], start=1):
        if table.rows and all(row[at] is None for row in table.rows):
            return _compact(table.without(column.name))
    return table


def _table_parts(table: Table, title: str) -> Iterator[Markup]:
    if table.title and table.title != title:
        yield _element("p", table.title)
    sentences = [_element("p", sentence) for sentence in table.sentences]
    rows = [_html_table(table)] if table.rows else []
    yield from (*sentences, *rows) if table.verdict_first else (*rows, *sentences)


def _html_table(table: Table) -> Markup:
    head = _element("tr", *(_element("th", cell.text) for cell in shown_head(table)))
    rows = [_row(row, is_highlighted=at in table.highlighted) for at, row in enumerate(shown_rows(table)[:_MAX_HTML_ROWS])]
    shown = _element("table", _element("thead", head), _element("tbody", *rows))
    hidden = len(table.rows) - len(rows)
    return shown + _element("p", f"… {hidden} more rows") if hidden else shown


def _row(row: Sequence[ShownCell], *, is_highlighted: bool) -> Markup:
    name, *cells = row
    first = _element("strong", name.text) if is_highlighted else name.text
    return _element("tr", _element("th", first), *map(_cell, cells))


def _cell(cell: ShownCell) -> Markup:
    text = _element("strong", cell.text) if cell.best else _safe(cell.text)
    marks = _element("sup", cell.marks) if cell.marks else Markup("")
    align = "left" if cell.is_text else "right"
    return Markup('<td style="text-align:{}">{}{}</td>').format(align, text, marks)


def _element(tag: str, *children: str | Markup) -> Markup:
    return Markup(f"<{tag}>{{}}</{tag}>").format(Markup("").join(map(_safe, children)))


def _safe(text: str | Markup) -> Markup:
    return text if isinstance(text, Markup) else escape(escape_invisible(text))
