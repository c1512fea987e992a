"""Query segments as heat maps, with tests against the rest of the queries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rankproof._analysis.bands import builtin_profiles, describe_bands, profile_for, rated_measure
from rankproof._analysis.compare.counted_queries import conversations
from rankproof._analysis.compare.decision_data import with_relevant_documents
from rankproof._analysis.compare.joined_values import common_values, only_queries
from rankproof._analysis.compare.segment_differences import compared_pairs, segment_tables
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.options import CompareOptions
from rankproof._analysis.query_groups import COMPLEXITY, MIN_QUERIES, Grouping, default_grouping, group_queries
from rankproof._analysis.segments import segments as analysed
from rankproof._charts.rows import heat_levels
from rankproof._data.corpus import TextRecord
from rankproof._data.table import CellValue, Column, Place, Table
from rankproof._data.text import format_value
from rankproof._render.table import format_item
from rankproof._report.context import MANY_QUERIES, ReportContext, segment_options
from rankproof._report.elements import MANY_SYSTEMS, Section, queries_link
from rankproof._statistics.options import MIN_SAMPLES
from rankproof.errors import UsageError

_COLOUR_LEVELS = 9
_SIGNS = {"lower": "▼", "higher": "▲"}


def heatmap_table(by: str, tables: Sequence[Table]) -> Table:
    """Segments as rows, systems as columns; significant differences from the rest are marked."""
    details = [table for table in tables if "system" in table.facts]
    overview = next((table for table in tables if "system" not in table.facts), None)
    if overview is None:
        return details[0].without_sentences()
    verdicts = {(row["system"], row[by]): str(row["verdict"]) for table in details for row in table.records()}
    signs = {place: _SIGNS[verdict] for place, verdict in verdicts.items() if verdict in _SIGNS}
    notes = (
        *(["▼ ▲ significantly lower or higher than the rest of the queries."] if signs else []),
        *([f"Segments with fewer than {MIN_QUERIES} queries are not tested."] if _has_few_queries(overview) else []),
    )
    names = [column.name for column in overview.columns]
    rows = tuple(
        tuple(_with_sign(cell, signs.get((name, row[0]), "")) for name, cell in zip(names, row, strict=True))
        for row in overview.rows
    )
    return replace(overview, rows=rows, sentences=(), notes=(*notes, *overview.notes), levels=_cell_colours(overview))


def _has_few_queries(table: Table) -> bool:
    return any(isinstance(row[1], int) and row[1] < MIN_QUERIES for row in table.rows)


def _with_sign(cell: CellValue, sign: str) -> CellValue:
    return f"{format_item(cell, 'value')} {sign}" if sign else cell


def _cell_colours(table: Table) -> dict[Place, int]:
    """The colour of each value; the first two columns are the segment and its number of queries."""
    values = {(row, at): cells[at] for row, cells in enumerate(table.rows) for at in range(2, len(cells))}
    known = {place: float(value) for place, value in values.items() if isinstance(value, int | float)}
    return {place: round(_COLOUR_LEVELS * level) for place, level in heat_levels(known).items()}


_MAX_VALUES, _MAX_GROUPINGS = 20, 6
_LONG_NAMES = {"relevant": "number of relevant documents"}


def segments_section(context: ReportContext) -> Section | None:
    """Values by query segment; None if the measure is not a mean or no grouping has two segments."""
    if context.measured.summary != "mean":
        return None
    groupings = shown_groupings(context.inputs)
    tables_by_grouping = {grouping.by: _segment_tables(context, grouping) for grouping in groupings}
    if not tables_by_grouping:
        return None
    overviews = [table for tables in tables_by_grouping.values() for table in tables if "system" not in table.facts]
    differences = _difference_tables(context, groupings)
    return Section(
        key="segments",
        title="Segments",
        question="On which queries is a system weak, and is that significant?",
        points=tuple(
            f"By {_LONG_NAMES.get(table.facts['by'], table.facts['by'])}: {sentence}"
            for table in (*overviews, *differences)
            for sentence in table.sentences
        ),
        tables=(
            *(
                _with_names_and_notes(
                    grouping, _linked_cells(grouping.by, heatmap_table(grouping.by, tables_by_grouping[grouping.by]))
                )
                for grouping in groupings
            ),
            *(_with_segment_links(groupings[0].by, table) for table in _ratings_table(context, groupings[0])),
        ),
        folded=(
            *(
                _with_names_and_notes(grouping, table.without_sentences())
                for grouping, table in zip(groupings, differences, strict=False)
            ),
            *(_details_table(by, _shown_details(context, tables)) for by, tables in tables_by_grouping.items()),
        ),
    )


def _linked_cells(by: str, table: Table) -> Table:
    """Each value leads to the queries of its segment, the worst of its system first."""
    links = {
        (row, at): queries_link(a=column.name, field=by, segment=str(cells[0]), sort="value")
        for row, cells in enumerate(table.rows)
        for at, column in enumerate(table.columns)
        if at > 1
    }
    return replace(table, links={**_segment_links(by, table), **links})


def _with_segment_links(by: str, table: Table, **view: str) -> Table:
    return replace(table, links=_segment_links(by, table, **view))


def _segment_links(by: str, table: Table, **view: str) -> dict[Place, str]:
    """The address of the queries of each segment, which the first column names."""
    return {(row, 0): queries_link(**view, field=by, segment=str(cells[0])) for row, cells in enumerate(table.rows)}


def _difference_tables(context: ReportContext, groupings: Sequence[Grouping]) -> tuple[Table, ...]:
    """The chosen or leading system against its rival in each segment; empty where systems are not compared."""
    if context.comparison is None:
        return ()
    whole = common_values(context.results.result, [context.measure])
    joined = only_queries(whole, with_relevant_documents(context.inputs, whole.measures[0], whole.queries))
    options = CompareOptions(samples=segment_options(context.measured.queries).samples)
    pairs, groups = compared_pairs(context.comparison.decision, None), conversations(context.inputs, joined.queries)
    tables = segment_tables(joined, groupings, pairs, options, groups)[1]
    view = {"a": pairs[0][0], "b": pairs[0][1], "sort": "difference"} if pairs else {}
    return tuple(_with_segment_links(grouping.by, table, **view) for grouping, table in zip(groupings, tables, strict=False))


def _with_names_and_notes(grouping: Grouping, table: Table) -> Table:
    """The table with the full name of the grouping and its notes."""
    by, words = grouping.by, _LONG_NAMES.get(grouping.by, grouping.by)
    first, *others = table.columns
    title = re.sub(f" by {re.escape(by)}(?=[,:])", lambda _: f" by {words}", table.title, count=1)
    return replace(table, title=title, columns=(first._replace(name=words), *others), notes=(*grouping.notes, *table.notes))


def _ratings_table(context: ReportContext, grouping: Grouping) -> Iterator[Table]:
    """The value and rating of each segment and system by a measure with bands; nothing if the results have none."""
    measures = {
        name: measured.measure
        for name, measured in context.results.result.systems[0].measures.items()
        if measured.summary == "mean"
    }
    profiles = {name: profile_for(measure, builtin_profiles().values()) for name, measure in measures.items()}
    banded = [name for name, profile in profiles.items() if profile is not None]
    if not banded:
        return
    measure = rated_measure(banded)
    profile = profiles[measure]
    assert profile is not None
    # The table has no p, so few permutations are enough.
    tables = analysed(context.inputs, grouping, measure, replace(segment_options(context.measured.queries), samples=MIN_SAMPLES))
    words = _LONG_NAMES.get(grouping.by, grouping.by)
    title = f"{measure} of each segment by {words}, rated by the bands of the profile {profile.name}"
    band_sentence = describe_bands(profile, profile.bands_of(measures[measure]) or (), "95%")
    yield _ratings_of_systems(tables, title, band_sentence)


def _ratings_of_systems(tables: Sequence[Table], title: str, band_sentence: str) -> Table:
    """A row per segment and a column per system, each cell the value and the rating."""
    details = {table.facts["system"]: table for table in tables if "system" in table.facts}
    first = next(iter(details.values())).columns[0]
    cells: dict[CellValue, dict[str, str]] = {}
    sizes: dict[CellValue, int] = {}
    for system, table in details.items():
        for segment, row in zip((line[0] for line in table.rows), table.records(), strict=True):
            n, value = row["n"], row["value"]
            assert isinstance(n, int)
            assert isinstance(value, float)
            cells.setdefault(segment, {})[system] = f"{format_value(value)} {row['rating']}"
            sizes[segment] = max(n, sizes.get(segment, 0))
    rows = tuple((name, sizes[name], *(cell.get(system) for system in details)) for name, cell in cells.items())
    return Table(f"ratings by {first.name}", title, (first, Column("n", "count"), *map(Column, details)), rows, (band_sentence,))


def _shown_details(context: ReportContext, tables: list[Table]) -> list[Table]:
    """The tables of each system; of many systems only the leading one and the runner-up."""
    shown = {context.leading, context.runner_up} if len(context.values) > MANY_SYSTEMS else set(context.values)
    return [table for table in tables if table.facts.get("system") in shown]


def _details_table(by: str, tables: list[Table]) -> Table:
    """Every segment of every system against the rest of the queries."""
    sentences = tuple(sentence for table in tables for sentence in table.sentences)
    rows = tuple((row[0], row[-1], *row[1:-1]) for table in tables for row in table.rows)
    columns = (tables[0].columns[0], tables[0].columns[-1], *tables[0].columns[1:-1])
    title = f"Every segment by {_LONG_NAMES.get(by, by)} against the rest of the queries, with intervals"
    table = Table(f"segments by {by}", title, columns, rows, sentences)
    places = ((at, queries_link(a=str(row[1]), field=by, segment=str(row[0]), sort="value")) for at, row in enumerate(rows))
    return replace(table, links={(at, 0): link for at, link in places})


def shown_groupings(inputs: AnalysisInput) -> list[Grouping]:
    """The default grouping, the fields with few values, length, number of relevant documents and complexity.

    Only the first of them for many queries.
    """
    names = dict.fromkeys((default_grouping(inputs), *_groupable_fields(inputs), "length", "relevant", COMPLEXITY))
    groupings = [
        grouping for name in names if (grouping := _grouping_by(inputs, name)) and 2 <= len(grouping.segments) <= _MAX_VALUES
    ]
    return groupings[: 1 if len(inputs.result.queries) > MANY_QUERIES else _MAX_GROUPINGS]


def _groupable_fields(inputs: AnalysisInput) -> list[str]:
    texts: Mapping[str, TextRecord] = inputs.texts or {}
    return sorted({name for query in inputs.result.queries if query in texts for name in texts[query].fields})


def _grouping_by(inputs: AnalysisInput, name: str) -> Grouping | None:
    """The grouping by a field; None if its values are lists or objects, or the query texts are unknown."""
    try:
        return group_queries(inputs, name)
    except UsageError:
        return None


def _segment_tables(context: ReportContext, grouping: Grouping) -> list[Table]:
    return analysed(context.inputs, grouping, context.measure, segment_options(context.measured.queries))
