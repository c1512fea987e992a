"""A Result as text, CSV, JSON, Markdown and LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._io.escape import escape_csv, escape_json, for_latex, for_markdown
from rankproof._render.grid import Cell, Grid, RenderOptions, query_grid, summary_grid, system_grid

if TYPE_CHECKING:
    from rankproof._render.terminal_tables import TablePrinter


def render_text(result: Result, options: RenderOptions) -> str:
    """The result as tables within the width of the options."""
    from rankproof._render.terminal_tables import TablePrinter

    printer = TablePrinter(options)
    printer.line(_headline(result), style="bold")
    printer.line()
    if options.per_query:
        _add_queries(result, printer)
    _add_summary(result, printer, options)
    printer.line(f"{_footer(result)}{_legend(result, options)}", style="dim")
    if options.verbose:
        _add_definitions(result, printer)
    return printer.text()


def _add_summary(result: Result, printer: TablePrinter, options: RenderOptions) -> None:
    """A row per system with bars of the first measure; a row per measure for one system or many measures."""
    from rankproof._render.terminal_tables import Bars, fits_width

    grid = summary_grid(result)
    transposed = grid.transposed("measure")
    if len(result.systems) == 1:
        printer.summary(transposed, bars=Bars("", [_bar_share(measure) for measure in result.systems[0].measures.values()]))
    elif not fits_width(grid, options) and fits_width(transposed, options):
        printer.summary(transposed)
    else:
        firsts = [next(iter(system.measures.values())) for system in result.systems]
        title = grid.columns[0] if len(grid.columns) > 1 else ""
        printer.summary(grid, bars=Bars(title, [_bar_share(first) for first in firsts]))


def _add_queries(result: Result, printer: TablePrinter) -> None:
    if len(result.systems) == 1:
        printer.queries(system_grid(result, 0))
        return
    for name in result.systems[0].measures:
        printer.line(name, style="bold")
        printer.queries(query_grid(result, name))


def _bar_share(measure: MeasureResult) -> float | None:
    """The filled share of a bar; None for a count or a value outside 0 to 1."""
    return measure.value if measure.summary != "sum" and 0 <= measure.value <= 1 else None


def _headline(result: Result) -> str:
    systems = len(result.systems)
    return f"{_count(len(result.queries), 'judged query', 'judged queries')}, {_count(systems, 'system', 'systems')}"


def _footer(result: Result) -> str:
    sizes = {system.name: next(iter(system.measures.values())).queries for system in result.systems}
    everything = len(result.queries)
    if set(sizes.values()) == {everything}:
        return f"Means are over {'1 judged query' if everything == 1 else f'all {everything} judged queries'}."
    counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
    return f"Means are over the queries of each run: {counts} of {everything}."


def _legend(result: Result, options: RenderOptions) -> str:
    if not any(cell.best for row in summary_grid(result).cells for cell in row):
        return ""
    return f" {'In bold' if options.colour else '*'}: best value of the measure."


def _add_definitions(result: Result, printer: TablePrinter) -> None:
    """The definition of each measure, once for all parameters."""
    printer.line()
    definitions = {measure_result.measure.name: measure_result.measure for measure_result in result.systems[0].measures.values()}
    for name, measure in definitions.items():
        printer.line(f"{name}  {measure.title}", style="dim")
        printer.paragraph(measure.definition, style="dim")


def _count(count: int, singular: str, many: str) -> str:
    return f"{count} {singular if count == 1 else many}"


HEADER = "system,query,measure,summary,queries,value"


def render_csv(result: Result, options: RenderOptions) -> str:
    """The result as CSV; `query` is empty in summary rows, and `summary` is `query` in query rows, `text` for texts."""
    lines = [line for system in result.systems for line in _csv_lines(system, options)]
    return "\n".join([HEADER, *lines]) + "\n"


def _csv_lines(system: SystemResult, options: RenderOptions) -> Iterator[str]:
    name = escape_csv(system.name)
    for measure, measured in system.measures.items():
        cell = escape_csv(measure)
        if options.per_query:
            for query, value in measured.per_query.items():
                yield f"{name},{escape_csv(query)},{cell},query,1,{value!r}"
        yield f"{name},,{cell},{measured.summary},{measured.queries},{'' if math.isnan(measured.value) else repr(measured.value)}"
    for measure, texts in system.texts.items():
        if options.per_query:
            for query, text in texts.per_query.items():
                yield f"{name},{escape_csv(query)},{escape_csv(measure)},text,1,{escape_csv(text)}"
        if texts.summary:
            yield f"{name},,{escape_csv(measure)},text,,{escape_csv(texts.summary)}"


def render_json(result: Result, options: RenderOptions) -> str:
    """The result as one JSON object."""
    systems = ",\n".join(_system_json(system, options) for system in result.systems)
    return escape_json(f'{{"queries": {len(result.queries)}, "systems": [\n{systems}\n]}}\n')


def _system_json(system: SystemResult, options: RenderOptions) -> str:
    measures = ",\n".join(
        f"    {_dump(name)}: {_dump(_measure_json(measure, options))}" for name, measure in system.measures.items()
    )
    notes = ",\n".join(f"    {_dump({'code': note.code, 'count': note.count, 'text': note.text})}" for note in system.notes)
    listed = f"[\n{notes}\n  ]" if notes else "[]"
    texts = f' "texts": {_dump(_texts_json(system, options))},' if system.texts else ""
    return f'  {{"name": {_dump(system.name)}, "measures": {{\n{measures}\n  }},{texts} "notes": {listed}}}'


def _texts_json(system: SystemResult, options: RenderOptions) -> Mapping[str, Any]:
    """The texts by measure: `value` is that of the run, and `per_query` those of the queries."""
    return {
        name: {"value": text.summary or None} | ({"per_query": text.per_query} if options.per_query else {})
        for name, text in system.texts.items()
    }


def _measure_json(measure: MeasureResult, options: RenderOptions) -> Mapping[str, Any]:
    shown = {
        "value": None if math.isnan(measure.value) else measure.value,
        "summary": measure.summary,
        "queries": measure.queries,
    }
    return shown | {"per_query": measure.per_query} if options.per_query else shown


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def render_markdown(result: Result, options: RenderOptions) -> str:
    """The summary as a table, followed by a table per measure with `per_query`."""
    parts = [markdown_table(summary_grid(result))]
    if options.per_query:
        parts += [
            f"### {for_markdown(name)}\n\n{markdown_table(_mark_last_row(query_grid(result, name)))}"
            for name in result.systems[0].measures
        ]
    return "\n".join(parts)


def _mark_last_row(grid: Grid) -> Grid:
    """The grid with its last row in brackets, to distinguish it from a query of that name."""
    return Grid(grid.corner, (*grid.rows[:-1], f"({grid.rows[-1]})"), grid.columns, grid.cells)


def markdown_table(grid: Grid, escape: Callable[[str], str] = for_markdown) -> str:
    """The grid as a Markdown table."""
    head = " | ".join(escape(text) for text in (grid.corner, *grid.columns))
    rule = " | ".join([":---"] + [":---" if at in grid.words else "---:" for at in range(len(grid.columns))])
    names = [f"**{escape(row)}**" if at in grid.highlighted else escape(row) for at, row in enumerate(grid.rows)]
    lines = [
        " | ".join([name, *(_markdown_cell(cell, escape) for cell in cells)])
        for name, cells in zip(names, grid.cells, strict=True)
    ]
    return "".join(f"| {line} |\n" for line in (head, rule, *lines))


def _markdown_cell(cell: Cell, escape: Callable[[str], str]) -> str:
    plain = escape(cell.text.strip())
    text = f"**{plain}**" if cell.best else plain
    return f"{text}<sup>{escape(cell.marks)}</sup>" if cell.marks else text


def render_latex(result: Result, options: RenderOptions) -> str:
    """The summary as a tabular, followed by a longtable per measure with `per_query`."""
    packages = "booktabs,longtable" if options.per_query else "booktabs"
    parts = [f"% \\usepackage{{{packages}}}", latex_table(summary_grid(result), "tabular")]
    if options.per_query:
        for name in result.systems[0].measures:
            parts += [f"\n% {for_latex(name)}, query by query", latex_table(query_grid(result, name), "longtable", closing=True)]
    return "\n".join(parts) + "\n"


def latex_table(grid: Grid, environment: str, *, closing: bool = False) -> str:
    """The grid in that environment; `closing` adds a rule before the last row."""
    names = [rf"\textbf{{{for_latex(row)}}}" if at in grid.highlighted else for_latex(row) for at, row in enumerate(grid.rows)]
    lines = [_latex_line(name, cells) for name, cells in zip(names, grid.cells, strict=True)]
    if closing:
        lines.insert(-1, r"\midrule")
    head = " & ".join(for_latex(text) for text in (grid.corner, *grid.columns))
    body = "\n".join([r"\toprule", rf"{head} \\", r"\midrule", *lines, r"\bottomrule"])
    align = "".join("l" if at in grid.words else "r" for at in range(len(grid.columns)))
    return f"\\begin{{{environment}}}{{l{align}}}\n{body}\n\\end{{{environment}}}"


def _latex_line(name: str, cells: tuple[Cell, ...]) -> str:
    texts = (rf"\textbf{{{_latex_cell(cell)}}}" if cell.best else _latex_cell(cell) for cell in cells)
    return " & ".join([name, *texts]) + r" \\"


def _latex_cell(cell: Cell) -> str:
    superscript = rf"$^{{{for_latex(cell.marks)}}}$" if cell.marks else ""
    return for_latex(cell.text).replace("–", "--") + superscript
