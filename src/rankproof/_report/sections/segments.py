"""Segments heat map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.query_groups import Grouping, default_grouping, group_queries
from rankproof._analysis.segments import MIN_QUERIES
from rankproof._analysis.segments import segments as analysed
from rankproof._charts.heatmap import heat_levels
from rankproof._data.dataset import TextRecord
from rankproof._data.table import Table
from rankproof._render.grid import Cell, Grid
from rankproof._report.context import MANY_QUERIES, ReportContext, segment_options
from rankproof._report.elements import HtmlTable, Section, html_table
from rankproof.errors import UsageError

_COLOUR_LEVELS = 9
_SIGNS = {"lower": "▼", "higher": "▲"}


def heatmap_table(by: str, tables: Sequence[Table]) -> HtmlTable:
    """Segments down, systems across; marked where a segment is told from the rest."""
    details = [table for table in tables if "system" in table.facts]
    overview = next((table for table in tables if "system" not in table.facts), None)
    if overview is None:
        return html_table(details[0])
    verdicts = {(row["system"], row[by]): str(row["verdict"]) for table in details for row in table.records()}
    told = any(verdict in _SIGNS for verdict in verdicts.values())
    notes = (
        *(["▼ ▲ lower or higher than the rest of the queries, by more than chance."] if told else []),
        *([f"Of segments with fewer than {MIN_QUERIES} queries nothing is claimed."] if _has_few_queries(overview) else []),
    )
    sheet = html_table(overview)
    cells = tuple(
        tuple(_with_sign(cell, verdicts.get((_column_title(sheet.grid, at), row), "")) for at, cell in enumerate(line))
        for row, line in zip(sheet.grid.rows, sheet.grid.cells, strict=True)
    )
    return replace(
        sheet, grid=replace(sheet.grid, cells=cells), notes=(*notes, *sheet.notes), colour_levels=_cell_colours(overview)
    )


def _column_title(grid: Grid, at: int) -> str:
    return grid.columns[at] if at else ""


def _has_few_queries(table: Table) -> bool:
    return any(isinstance(row[1], int) and row[1] < MIN_QUERIES for row in table.rows)


def _with_sign(cell: Cell, verdict: str) -> Cell:
    return replace(cell, marks=_SIGNS.get(verdict, ""))


def _cell_colours(table: Table) -> dict[tuple[int, int], int]:
    """The colour of each value; the first column names the segment, the second counts its queries."""
    values = {(row, at - 1): cells[at] for row, cells in enumerate(table.rows) for at in range(2, len(cells))}
    known = {place: float(value) for place, value in values.items() if isinstance(value, int | float)}
    return {place: round(_COLOUR_LEVELS * level) for place, level in heat_levels(known).items()}


_MAX_VALUES, _MAX_GROUPINGS = 20, 6
_LONG_NAMES = {"relevant": "number of relevant documents"}


def segments_section(context: ReportContext) -> Section | None:
    """None where no measure is a mean, or no grouping has two segments."""
    if context.one.summary != "mean":
        return None
    found = {way.by: _segment_tables(context, way) for way in _groupings(context.inputs)}
    if not found:
        return None
    overviews = [table for tables in found.values() for table in tables if "system" not in table.facts]
    return Section(
        key="segments",
        title="Segments",
        question="On which kind of query is a system weak, and is that more than chance?",
        points=tuple(
            f"By {_LONG_NAMES.get(table.facts['by'], table.facts['by'])}: {said}"
            for table in overviews
            for said in table.sentences
        ),
        tables=tuple(_with_long_name(by, heatmap_table(by, tables)) for by, tables in found.items()),
        folded=tuple(_details_table(by, tables) for by, tables in found.items()),
    )


def _with_long_name(by: str, sheet: HtmlTable) -> HtmlTable:
    """With the grouping in words that say what it is."""
    words = _LONG_NAMES.get(by, by)
    caption = sheet.caption.replace(f" by {by},", f" by {words},", 1)
    return replace(sheet, caption=caption, grid=replace(sheet.grid, corner=words)) if words != by else sheet


def _details_table(by: str, tables: list[Table]) -> HtmlTable:
    """Every segment of every system against the rest, and what can be said of them."""
    each = [table for table in tables if "system" in table.facts]
    said = tuple(sentence for table in each for sentence in table.sentences)
    rows = tuple((row[0], row[-1], *row[1:-1]) for table in each for row in table.rows)
    columns = (each[0].columns[0], each[0].columns[-1], *each[0].columns[1:-1])
    title = f"Every segment by {_LONG_NAMES.get(by, by)} against the rest, with intervals"
    return html_table(Table(f"segments by {by}", title, columns, rows, said), sentences=True)


def _groupings(inputs: AnalysisInput) -> list[Grouping]:
    """The usual grouping, then every field of few values, then length and relevant documents; one where queries are many."""
    names = dict.fromkeys((default_grouping(inputs), *_groupable_fields(inputs), "length", "relevant"))
    found = [way for name in names if (way := _grouping_by(inputs, name)) and 2 <= len(way.segments) <= _MAX_VALUES]
    return found[: 1 if len(inputs.result.queries) > MANY_QUERIES else _MAX_GROUPINGS]


def _groupable_fields(inputs: AnalysisInput) -> list[str]:
    texts: Mapping[str, TextRecord] = inputs.texts or {}
    return sorted({name for query in inputs.result.queries if query in texts for name in texts[query].fields})


def _grouping_by(inputs: AnalysisInput, name: str) -> Grouping | None:
    """None where the field holds lists or tables, or texts are not known."""
    try:
        return group_queries(inputs, name)
    except UsageError:
        return None


def _segment_tables(context: ReportContext, way: Grouping) -> list[Table]:
    return analysed(context.inputs, way, context.measure, segment_options(context.one.queries))
