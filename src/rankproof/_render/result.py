"""A Result as tables, and as text, CSV, JSON, Markdown and LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankproof._data.table import CellValue, Column, ColumnKind, FilledColumn, Table, table_of_columns
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._io.escape import escape_csv, escape_json, for_latex, for_markdown
from rankproof._render.formats import RenderOptions
from rankproof._render.table import MISSING, format_item, latex_table, markdown_table, shown_rows

if TYPE_CHECKING:
    from rankproof._render.terminal import TablePrinter


def format_value(value: float, measure: MeasureResult) -> str:
    """A value with four decimals, or a sum as an integer; a summary of no values is missing."""
    return format_item(value, _kind(measure))


def _kind(measure: MeasureResult) -> ColumnKind:
    return "count" if measure.summary == "sum" else "value"


def measure_label(name: str, measure: MeasureResult) -> str:
    """The measure's name, with the summary in brackets unless it is a mean."""
    return name if measure.summary == "mean" else f"{name} ({measure.summary})"


def summary_table(result: Result, title: str = "") -> Table:
    """A row per system, a column per measure; the best values are marked."""
    columns = [FilledColumn(Column("system"), [system.name for system in result.systems])]
    for name, measure in result.systems[0].measures.items():
        own = [system.measures[name] for system in result.systems]
        values = [measured.value for measured in own]
        columns.append(FilledColumn(Column(measure_label(name, measure), _kind(measure)), values, _best_rows(own)))
    return table_of_columns("systems", title, columns)


def query_table(result: Result, name: str) -> Table:
    """One measure: a row per query, a column per system, and the summary as the last row."""
    own = [system.measures[name] for system in result.systems]
    best, last = _best_rows(own), len(result.queries)
    columns = [
        FilledColumn(Column(system.name, _kind(measured)), _query_cells(measured, result.queries), [last] if at in best else [])
        for at, (system, measured) in enumerate(zip(result.systems, own, strict=True))
    ]
    return _with_query_names(result, own, columns)


def system_table(result: Result, index: int) -> Table:
    """One system: a row per query, a column per measure, and the summary as the last row."""
    measures = result.systems[index].measures
    columns = [
        FilledColumn(Column(measure_label(name, measured), _kind(measured)), _query_cells(measured, result.queries))
        for name, measured in measures.items()
    ]
    return _with_query_names(result, list(measures.values()), columns)


def _with_query_names(result: Result, measures: Sequence[MeasureResult], columns: Sequence[FilledColumn]) -> Table:
    kinds = {measure.summary for measure in measures}
    last = {"mean": "mean", "sum": "sum", "geometric": "geometric mean"}[kinds.pop()] if len(kinds) == 1 else "overall"
    return table_of_columns("queries", "", [FilledColumn(Column("query"), [*result.queries, last]), *columns])


def _query_cells(measure: MeasureResult, queries: Sequence[str]) -> list[CellValue]:
    """The value of each query, and the summary."""
    values = measure.per_query
    return [*(values.get(query) for query in queries), measure.value]


def _best_rows(measures: Sequence[MeasureResult]) -> list[int]:
    """The best summaries of one measure; none if all are equal or the measure has no direction.

    The shown digits decide: who reads two equal numbers must not find one of them marked.
    """
    texts = [format_value(measure.value, measure) for measure in measures]
    known = {text for text in texts if text != MISSING}
    measure = measures[0].measure
    if len(known) < 2 or not measure.has_winner:
        return []
    top = (max if measure.higher_is_better else min)(known, key=float)
    return [at for at, text in enumerate(texts) if text == top]


def render_text(result: Result, options: RenderOptions) -> str:
    """The result as tables within the width of the options."""
    from rankproof._render.terminal import TablePrinter

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
    from rankproof._render.terminal import Bars, fits_width

    table = summary_table(result)
    order = _best_first(result)
    table = table.with_rows(order)
    transposed = _transposed(table, "measure")
    if len(result.systems) == 1:
        printer.summary(transposed, bars=Bars("", [_bar_share(measure) for measure in result.systems[0].measures.values()]))
    elif not fits_width(table, options) and fits_width(transposed, options):
        printer.summary(transposed)
    else:
        firsts = [next(iter(result.systems[at].measures.values())) for at in order]
        title = table.columns[1].name if len(table.columns) > 2 else ""
        printer.summary(table, bars=Bars(title, [_bar_share(first) for first in firsts]))


def _best_first(result: Result) -> list[int]:
    """The systems from the best to the worst value of the first measure, in their order if it has no better direction."""
    firsts = [next(iter(system.measures.values())) for system in result.systems]
    measure, places = firsts[0].measure, range(len(firsts))
    if not measure.has_winner:
        return list(places)
    sign = 1 if measure.higher_is_better is False else -1
    return sorted(places, key=lambda at: (math.isnan(firsts[at].value), sign * firsts[at].value))


def _transposed(table: Table, corner: str) -> Table:
    """The table with rows and columns swapped, its cells as text."""
    rows = shown_rows(table)
    columns = (Column(corner), *(Column(row[0].text, "value") for row in rows))
    cells = tuple((column.name, *(row[at].text for row in rows)) for at, column in enumerate(table.columns) if at)
    return Table(table.name, "", columns, cells, best=frozenset((at - 1, row + 1) for row, at in table.best))


def _add_queries(result: Result, printer: TablePrinter) -> None:
    if len(result.systems) == 1:
        printer.queries(system_table(result, 0))
        return
    for name in result.systems[0].measures:
        printer.line(name, style="bold")
        printer.queries(query_table(result, name))


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
    if not summary_table(result).best:
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
    parts = [markdown_table(summary_table(result))]
    if options.per_query:
        parts += [
            f"### {for_markdown(name)}\n\n{markdown_table(_mark_last_row(query_table(result, name)))}"
            for name in result.systems[0].measures
        ]
    return "\n".join(parts)


def _mark_last_row(table: Table) -> Table:
    """The table with its last row in brackets, to distinguish it from a query of that name."""
    name, *cells = table.rows[-1]
    return replace(table, rows=(*table.rows[:-1], (f"({name})", *cells)))


def render_latex(result: Result, options: RenderOptions) -> str:
    """The summary as a tabular, followed by a longtable per measure with `per_query`."""
    packages = "booktabs,longtable" if options.per_query else "booktabs"
    parts = [f"% \\usepackage{{{packages}}}", latex_table(summary_table(result), "tabular")]
    if options.per_query:
        for name in result.systems[0].measures:
            parts += [f"\n% {for_latex(name)}, query by query", latex_table(query_table(result, name), "longtable", closing=True)]
    return "\n".join(parts) + "\n"
