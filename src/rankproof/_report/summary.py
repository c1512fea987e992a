"""`ReportSummary`: the decision and the table of a report, for a picture or a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rankproof._analysis.changes.changed_queries import QueryChange, QueryChanges, changed_queries
from rankproof._analysis.changes.changed_settings import settings_table
from rankproof._analysis.changes.changes import Changes, change_sentences, change_table, changed_systems
from rankproof._analysis.compare.comparison import Comparison
from rankproof._data.table import CellValue, Column, FilledColumn, Table, table_of_columns
from rankproof._data.text import clip_text, shown_time
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.result import Result
from rankproof._render.comparison import best_first, comparison_legend, difference_text, filled_columns
from rankproof._render.result import summary_table
from rankproof._render.table import format_item
from rankproof._report.changes_page import changed_facts, changes_of_system, counts_text, ordered_systems
from rankproof._report.context import ReportContext
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
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """The decision in sentences, the first one alone tells it; the table of systems with its legend; and the details.

    `about` says in a few lines which data and systems it is about.
    """

    title: str
    about: tuple[str, ...]
    sentences: tuple[str, ...]
    table: Table
    legend: str = ""
    details: tuple[SummaryPart, ...] = ()


def results_summary(results: ExperimentResult) -> ReportSummary:
    """The decision and the table of the report on results."""
    context, facts = ReportContext(results), (" · ".join((results.name, *report_facts(results))),)
    if not results.is_judged:
        return _unjudged_summary(context, facts)
    comparison = context.comparison
    if comparison is None:
        lead = decision_section(context).lead
        return ReportSummary(results.name, facts, (lead,), _left_first(systems_section(context).tables[0]))
    chosen = frozenset(at for at, name in enumerate(comparison.systems) if name in comparison.decision.marked)
    names = FilledColumn(Column("system"), comparison.systems)
    table = table_of_columns("systems", "", [names, *_columns(context, comparison)])
    return ReportSummary(
        title=results.name,
        about=facts,
        sentences=(*comparison.decision.sentences, *answer_sentences(context, where="")),
        table=best_first(comparison, replace(table, highlighted=chosen)),
        legend=comparison_legend(comparison, exploratory=False),
        details=tuple(_details(context, comparison)),
    )


def _columns(context: ReportContext, comparison: Comparison) -> Iterator[FilledColumn]:
    """The columns of `compare`, with the interval of each mean, and the latency where something else is the cost."""
    columns = {filled.column.name: filled for filled in filled_columns(comparison)}
    yield columns.pop(comparison.primary)
    intervals = [context.intervals.get((name, comparison.primary)) for name in comparison.systems]
    if any(intervals):
        yield FilledColumn(Column("95% CI", "interval", drop_order=_CI_DROP_ORDER), intervals)
    yield from (filled for name, filled in columns.items() if name not in comparison.measures)
    if comparison.decision.cost_unit != "ms" and context.times:
        times = [None if (time := context.times.get(name)) is None else shown_time(time) for name in comparison.systems]
        yield FilledColumn(Column("ms p50", "number", drop_order=2), times)


def _details(context: ReportContext, comparison: Comparison) -> Iterator[SummaryPart]:
    """The queries on which the chosen system differs most from the baseline, every measure, and the notes."""
    chosen, baseline = comparison.decision.first, comparison.baseline
    if chosen is not None and baseline is not None and chosen != baseline:
        changed = changed_queries(context.results, baseline, chosen, comparison.primary, most=_MOST_QUERIES)
        title = f"Queries that differ most: {for_message(chosen)} against {for_message(baseline)}"
        yield from _query_parts(context.results, title, changed, (baseline, chosen))
    yield SummaryPart("Every measure", table=summary_table(context.results.result))
    notes = (*value_notes(context.results.result.systems), *comparison.notes)
    yield SummaryPart("Method and notes", tuple(filter(None, (comparison.method, *notes))))


def _unjudged_summary(context: ReportContext, facts: tuple[str, ...]) -> ReportSummary:
    """What the report says first about results without judgements."""
    first = next(iter(build_sections(UNJUDGED_SECTIONS, context)))
    sentences = [*first.sentences, *first.points, *(sentence for table in first.tables for sentence in table.sentences)]
    return ReportSummary(context.results.name, facts, tuple(dict.fromkeys(sentences)), _left_first(first.tables[0]))


def _left_first(table: Table) -> Table:
    """The rows of the table; columns at the right are left out first."""
    columns = tuple(column._replace(drop_order=at) for at, column in enumerate(table.columns))
    return replace(table, columns=columns, sentences=(), notes=())


def changes_summary(changes: Changes) -> ReportSummary:
    """The answer and the table of the page on two results."""
    title, facts = f"{changes.joined.name}: what changed", [report_facts(results) for results in (changes.before, changes.after)]
    about = (title, *changed_facts(changes, facts))
    lead, *more = change_sentences(changes)
    details = tuple(_change_details(changes, more))
    main = changes.main
    if main is None:
        return ReportSummary(title, about, (lead,), _left_first(change_table(changes)), details=details)
    chosen = [at for at, system in enumerate(changed_systems(changes)) if main.decision.first in (system.before, system.after)]
    table = table_of_columns("systems", "", list(_change_columns(changes, main)))
    return ReportSummary(
        title=title,
        about=about,
        sentences=(lead, *main.decision.sentences),
        table=replace(table, highlighted=frozenset(chosen)),
        legend=comparison_legend(main, exploratory=False),
        details=details,
    )


_DROP_ORDER = {"p": 10, "p adjusted": 4, "verdict": 3}


def _change_columns(changes: Changes, main: Comparison) -> Iterator[FilledColumn]:
    """The columns of the table of changes; a difference and its interval are one column."""
    pairs = {system.name: changes.pair(system) for system in changes.matched}
    measure, table = main.decision.measure, change_table(changes)
    for at, column in enumerate(table.columns):
        if column.name == "difference":
            name = f"change{' pp' if measure.is_fraction else ''} ({main.options.percent} CI)"
            yield FilledColumn(Column(name, "number"), [difference_text(pairs.get(str(row[0])), measure) for row in table.rows])
        elif not column.name.endswith(" CI"):
            shown = column._replace(drop_order=_DROP_ORDER.get(column.name, 1))
            yield FilledColumn(shown, [row[at] for row in table.rows])


def _change_details(changes: Changes, sentences: Sequence[str]) -> Iterator[SummaryPart]:
    """Each system in a sentence, the settings, the queries that changed most, every measure, and the notes."""
    if sentences:
        yield SummaryPart("Each system", tuple(sentences))
    settings = settings_table(changes)
    yield SummaryPart("Settings that changed", settings.sentences, settings if settings.rows else None)
    for system in ordered_systems(changes):
        changed = changes_of_system(changes, system, _MOST_QUERIES)
        if changed is not None and (changed.losses or changed.gains):
            title = f"Queries that changed most: {for_message(system.name)}"
            title = f"{title} ({counts_text(changed, measured=changes.main is not None)})"
            yield from _query_parts(changes.joined, title, changed, changes.labels)
    for result in (changes.joined.result, changes.joined.answers):
        if result is not None and _has_measures(result):
            yield SummaryPart("Every measure" if result is changes.joined.result else "Answers", table=summary_table(result))
    notes = [] if changes.main is None else [changes.main.method, *changes.main.notes]
    yield SummaryPart("Method and notes", tuple(filter(None, [*notes, *value_notes(changes.joined.result.systems)])))


def _has_measures(result: Result) -> bool:
    """Whether all systems have the same measures."""
    return (
        bool(result.systems)
        and len({tuple(system.measures) for system in result.systems}) == 1
        and bool(result.systems[0].measures)
    )


def _query_parts(results: ExperimentResult, title: str, changed: QueryChanges, labels: Sequence[str]) -> Iterator[SummaryPart]:
    """The largest losses and gains as one table."""
    changes = [*changed.losses, *changed.gains]
    if changes:
        numbers = (*labels, "change") if changes[0].before is not None else ("RBO",)
        columns = (Column("query"), Column("text"), *(Column(name, "value") for name in numbers), Column("documents"))
        rows = tuple((change.query, *_query_cells(results, change)) for change in changes)
        yield SummaryPart(title, (), Table("queries", "", columns, rows))


def _query_cells(results: ExperimentResult, change: QueryChange) -> Iterator[CellValue]:
    yield clip_text(results.texts[change.query].text, _QUERY_LENGTH) if change.query in results.texts else ""
    if change.before is None or change.after is None:
        yield f"{1 + change.difference:.3f}"
    else:
        yield from (change.before, change.after, format_item(change.difference, "difference"))
    moves = [
        f"{for_message(move.doc)} ({'unjudged' if move.grade is None else f'grade {move.grade}'}): "
        f"{move.before or 'not retrieved'} → {move.after or 'not retrieved'}"
        for move in change.moves[:_MOST_MOVES]
    ]
    yield "; ".join(moves) + (f"; and {len(change.moves) - _MOST_MOVES} more" if len(change.moves) > _MOST_MOVES else "")
