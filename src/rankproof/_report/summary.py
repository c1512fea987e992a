"""`ReportSummary`: the decision and the table of a report, for a picture or a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rankproof._analysis.changes.changed_queries import QueryChange, QueryChanges, changed_queries
from rankproof._analysis.changes.changed_settings import settings_table
from rankproof._analysis.changes.changes import Changes, change_sentences, change_table, changed_systems
from rankproof._analysis.compare.comparison import Comparison
from rankproof._data.text import clip_text, shown_time
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.result import Result
from rankproof._render.comparison import comparison_legend, difference_cell, filled_columns
from rankproof._render.grid import MISSING, Cell, Grid, GridColumn, summary_grid
from rankproof._render.table import format_item, table_grid
from rankproof._report.changes_page import changed_facts, changes_of_system, counts_text, ordered_systems
from rankproof._report.context import ReportContext
from rankproof._report.elements import interval_cell
from rankproof._report.page import build_sections, report_facts
from rankproof._report.sections import UNJUDGED_SECTIONS
from rankproof._report.sections.decision import answer_sentences, decision_section
from rankproof._report.sections.systems import systems_section
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import for_message

_MOST_QUERIES = 5
_MOST_MOVES = 4
_QUERY_LENGTH = 100
_CI_DROP_ORDER = 9
"""Left out before the risk: the difference has an interval too."""


@dataclass(frozen=True, slots=True)
class SummaryPart:
    """A titled table or list of sentences that a comment folds."""

    title: str
    sentences: tuple[str, ...] = ()
    grid: Grid | None = None


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """The decision in sentences, the first one alone tells it; the table of systems with its legend; and the details.

    `about` says in a few lines which data and systems it is about. Of `columns`, the highest `drop_order` is left out first where
    the width is too small. `words` are the titles of columns with words.
    """

    title: str
    about: tuple[str, ...]
    sentences: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[GridColumn, ...]
    highlighted: frozenset[int] = frozenset()
    words: frozenset[str] = frozenset()
    legend: str = ""
    details: tuple[SummaryPart, ...] = ()

    def grid(self, columns: Sequence[GridColumn] | None = None) -> Grid:
        """The table with all or some of the columns."""
        chosen = self.columns if columns is None else columns
        words = frozenset(at for at, column in enumerate(chosen) if column.title in self.words)
        cells = tuple(zip(*(column.cells for column in chosen), strict=True)) if chosen else ((),) * len(self.rows)
        return Grid("system", self.rows, tuple(column.title for column in chosen), cells, words, self.highlighted)


def results_summary(results: ExperimentResult) -> ReportSummary:
    """The decision and the table of the report on results."""
    context, facts = ReportContext(results), (" · ".join((results.name, *report_facts(results))),)
    if not results.is_judged:
        return _unjudged_summary(context, facts)
    comparison = context.comparison
    if comparison is None:
        grid = systems_section(context).tables[0].grid
        return _of_grid(results.name, facts, (decision_section(context).lead,), grid)
    chosen = [at for at, name in enumerate(comparison.systems) if name in comparison.decision.marked]
    return ReportSummary(
        title=results.name,
        about=facts,
        sentences=(*comparison.decision.sentences, *answer_sentences(context, where="")),
        rows=comparison.systems,
        columns=tuple(_columns(context, comparison)),
        highlighted=frozenset(chosen),
        legend=comparison_legend(comparison, exploratory=False),
        details=tuple(_details(context, comparison)),
    )


def _columns(context: ReportContext, comparison: Comparison) -> Iterator[GridColumn]:
    """The columns of `compare`, with the interval of each mean, and the latency where something else is the cost."""
    others = [column for column in filled_columns(comparison) if column.title not in comparison.measures]
    yield next(column for column in filled_columns(comparison) if column.title == comparison.primary)
    spans = [context.intervals.get((name, comparison.primary)) for name in comparison.systems]
    if any(spans):
        yield GridColumn("95% CI", tuple(Cell(interval_cell(span)) for span in spans), _CI_DROP_ORDER)
    yield from (replace(column, drop_order=10) if column.title == "p" else column for column in others)
    if comparison.decision.cost_unit != "ms" and context.times:
        times = (context.times.get(name) for name in comparison.systems)
        yield GridColumn("ms p50", tuple(Cell(MISSING if time is None else shown_time(time)) for time in times), 2)


def _details(context: ReportContext, comparison: Comparison) -> Iterator[SummaryPart]:
    """The queries on which the chosen system differs most from the baseline, every measure, and the notes."""
    chosen, baseline = comparison.decision.first, comparison.baseline
    if chosen is not None and baseline is not None and chosen != baseline:
        found = changed_queries(context.results, baseline, chosen, comparison.primary, most=_MOST_QUERIES)
        title = f"Queries that differ most: {for_message(chosen)} against {for_message(baseline)}"
        yield from _query_parts(context.results, title, found, (baseline, chosen))
    yield SummaryPart("Every measure", grid=summary_grid(context.results.result))
    notes = (*value_notes(context.results.result.systems), *comparison.notes)
    yield SummaryPart("Method and notes", tuple(filter(None, (comparison.method, *notes))))


def _unjudged_summary(context: ReportContext, facts: tuple[str, ...]) -> ReportSummary:
    """What the report says first about results without judgements."""
    first = next(iter(build_sections(UNJUDGED_SECTIONS, context)))
    sentences = [*first.sentences, *first.points, *(sentence for table in first.tables for sentence in table.sentences)]
    return _of_grid(context.results.name, facts, tuple(dict.fromkeys(sentences)), first.tables[0].grid)


def _of_grid(title: str, facts: tuple[str, ...], sentences: tuple[str, ...], grid: Grid) -> ReportSummary:
    """A summary with this table; columns at the right are left out first."""
    columns = tuple(
        GridColumn(name, tuple(row[at] for row in grid.cells), at) for at, name in enumerate(grid.columns) if grid.cells
    )
    words = frozenset(grid.columns[at] for at in grid.words)
    return ReportSummary(title, facts, sentences, grid.rows, columns, grid.highlighted, words)


def changes_summary(changes: Changes) -> ReportSummary:
    """The answer and the table of the page on two results."""
    table = change_table(changes)
    title, facts = f"{changes.joined.name}: what changed", [report_facts(one) for one in (changes.before, changes.after)]
    about = (title, *changed_facts(changes, facts))
    lead, *more = change_sentences(changes)
    decision = () if changes.main is None else changes.main.decision.sentences
    base = _of_grid(title, about, (lead, *decision), table_grid(table))
    summary = replace(base, details=tuple(_change_details(changes, more)))
    if changes.main is None:
        return summary
    chosen = [
        at for at, system in enumerate(changed_systems(changes)) if changes.main.decision.first in (system.before, system.after)
    ]
    return replace(
        summary,
        columns=tuple(_change_columns(changes, changes.main, summary.columns)),
        highlighted=frozenset(chosen),
        words=frozenset(("verdict",)),
        legend=comparison_legend(changes.main, exploratory=False),
    )


_DROP_ORDER = {"p": 10, "p adjusted": 4, "verdict": 3}


def _change_columns(changes: Changes, found: Comparison, columns: Sequence[GridColumn]) -> Iterator[GridColumn]:
    """The columns of the table of changes; a difference and its interval are one column."""
    pairs = {one.name: changes.pair(one) for one in changes.matched}
    measure, rows = found.decision.measure, change_table(changes).rows
    for column in columns:
        if column.title == "difference":
            title = f"change{' pp' if measure.is_fraction else ''} ({found.options.percent} CI)"
            yield GridColumn(title, tuple(difference_cell(pairs.get(str(row[0])), measure) for row in rows), 0)
        elif not column.title.endswith(" CI"):
            title = f"p {found.options.correction_name}" if column.title == "p adjusted" else column.title
            yield replace(column, title=title, drop_order=_DROP_ORDER.get(column.title, 1))


def _change_details(changes: Changes, sentences: Sequence[str]) -> Iterator[SummaryPart]:
    """Each system in a sentence, the settings, the queries that changed most, every measure, and the notes."""
    if sentences:
        yield SummaryPart("Each system", tuple(sentences))
    settings = settings_table(changes)
    yield SummaryPart("Settings that changed", settings.sentences, _as_text(table_grid(settings)) if settings.rows else None)
    for system in ordered_systems(changes):
        found = changes_of_system(changes, system, _MOST_QUERIES)
        if found is not None and (found.losses or found.gains):
            title = f"Queries that changed most: {for_message(system.name)}"
            title = f"{title} ({counts_text(found, measured=changes.main is not None)})"
            yield from _query_parts(changes.joined, title, found, changes.labels)
    for result in (changes.joined.result, changes.joined.answers):
        if result is not None and _has_measures(result):
            yield SummaryPart("Every measure" if result is changes.joined.result else "Answers", grid=summary_grid(result))
    notes = [] if changes.main is None else [changes.main.method, *changes.main.notes]
    yield SummaryPart("Method and notes", tuple(filter(None, [*notes, *value_notes(changes.joined.result.systems)])))


def _has_measures(result: Result) -> bool:
    """Whether all systems have the same measures."""
    return (
        bool(result.systems)
        and len({tuple(system.measures) for system in result.systems}) == 1
        and bool(result.systems[0].measures)
    )


def _as_text(grid: Grid) -> Grid:
    return replace(grid, words=frozenset(range(len(grid.columns))))


def _query_parts(results: ExperimentResult, title: str, found: QueryChanges, labels: Sequence[str]) -> Iterator[SummaryPart]:
    """The largest losses and gains as one table."""
    rows = [*found.losses, *found.gains]
    if rows:
        columns = ("text", *labels, "change", "documents") if rows[0].before is not None else ("text", "RBO", "documents")
        cells = tuple(tuple(map(Cell, _query_cells(results, row))) for row in rows)
        yield SummaryPart(
            title, (), Grid("query", tuple(row.query for row in rows), columns, cells, frozenset((0, len(columns) - 1)))
        )


def _query_cells(results: ExperimentResult, one: QueryChange) -> Iterator[str]:
    yield clip_text(results.texts[one.query].text, _QUERY_LENGTH) if one.query in results.texts else ""
    if one.before is None or one.after is None:
        yield f"{1 + one.difference:.3f}"
    else:
        yield from (f"{one.before:.4f}", f"{one.after:.4f}", format_item(one.difference, "difference"))
    moves = [
        f"{for_message(move.doc)} ({'unjudged' if move.grade is None else f'grade {move.grade}'}): "
        f"{move.before or 'not retrieved'} → {move.after or 'not retrieved'}"
        for move in one.moves[:_MOST_MOVES]
    ]
    yield "; ".join(moves) + (f"; and {len(one.moves) - _MOST_MOVES} more" if len(one.moves) > _MOST_MOVES else "")
