"""The systems compared with the baseline, what each gains and costs, and the values at chunk level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.tables import PairRecord
from rankproof._charts.rows import ValueRow, dot_chart
from rankproof._data.table import CellValue, Column, FilledColumn, Table, table_of_columns
from rankproof._data.text import pluralise, shown_time
from rankproof._render.comparison import best_first
from rankproof._render.result import format_value, measure_label, summary_table
from rankproof._render.systems import (
    STAGE_MARK,
    approximate_search_notes,
    chunks_table,
    low_recall_notes,
    stage_measures,
    systems_table,
)
from rankproof._report.context import ReportContext
from rankproof._report.elements import (
    Section,
    SvgChart,
    as_sentence,
    chart_of_widths,
    linked,
    pair_link,
    signed_difference,
)
from rankproof._results.experiment_result import SystemRun, timed_queries
from rankproof.errors import for_message
from rankproof.measures._parse import parse_measure


def systems_section(context: ReportContext) -> Section:
    """Every system compared with the baseline."""
    if context.comparison is None:
        table = summary_table(context.results.result, "Every system")
        return Section("systems", "Systems", "How good is each system?", tables=(table,))
    comparison, section = context.comparison, comparison_systems(context.comparison)
    deciding, *further = section.tables
    others = [name for name in comparison.measures if name != comparison.primary]
    by_measure = [(comparison.primary, deciding), *((name, _exploratory(comparison, name)) for name in others)]
    linked_tables = tuple((name, _linked_systems(comparison, name, table)) for name, table in by_measure)
    return replace(section, by_measure=linked_tables, tables=tuple(further))


def comparison_systems(comparison: Comparison) -> Section:
    """The table of systems by the measure that decides, and the tables that belong to them."""
    table = comparison.table
    for name in comparison.measures:
        table = table if name == comparison.primary else table.without(name)
    notes = tuple(map(as_sentence, comparison.notes))
    shown = best_first(comparison, _with_times(comparison, table)).without_sentences()
    return Section(
        key="systems",
        title="Systems",
        question=f"How good is each system, compared with {for_message(comparison.baseline or 'the baseline')}?",
        tables=(
            replace(shown, notes=(*notes, *filter(None, [comparison.method]))),
            *(table.without_sentences() for table in comparison.further_tables),
        ),
    )


_EXPLORATORY_COLUMNS = (
    Column("difference", "difference", "from the baseline"),
    Column("95% CI", "interval", "of the difference, for this system alone; empty if too few queries differ"),
    Column("p", "p", "two-sided, not corrected"),
    Column("p adjusted", "p", "corrected for the number of pairs"),
    Column("verdict", about="on this system"),
)


def _exploratory(comparison: Comparison, measure: str) -> Table:
    """The systems by a measure that does not decide, the best first."""
    pairs = comparison.against_baseline(measure)
    worst_first = parse_measure(measure).higher_is_better is False
    ordered = sorted(comparison.values, key=lambda name: comparison.values[name][measure] * (1 if worst_first else -1))
    rows = tuple((name, comparison.values[name][measure], *_tested_cells(pairs.get(name))) for name in ordered)
    columns = (Column("system"), Column(measure, "value"), *_EXPLORATORY_COLUMNS)
    note = f"{measure} is exploratory: {comparison.primary} decides."
    return Table("systems", f"{measure} of each system", columns, rows, notes=(note,))


def _tested_cells(pair: PairRecord | None) -> tuple[CellValue, ...]:
    if pair is None:
        return (None,) * len(_EXPLORATORY_COLUMNS)
    return pair.difference, pair.ci, pair.p, pair.p_adjusted, pair.verdict


def _linked_systems(comparison: Comparison, measure: str, table: Table) -> Table:
    """Names and differences lead to the queries on which a system loses most to the baseline, values to its worst queries."""

    def links(row: Mapping[str, CellValue]) -> dict[str, str]:
        name = str(row["system"])
        lost = pair_link(name, comparison.baseline, measure)
        return {"system": lost, "difference": lost, measure: pair_link(name, None, measure)}

    return linked(table, links)


def _with_times(comparison: Comparison, table: Table) -> Table:
    """The table with latencies in the usual form."""
    if comparison.decision.cost_unit != "ms":
        return table
    times = [None if system.cost is None else shown_time(system.cost) for system in comparison.decision.by_system]
    at = [column.name for column in table.columns].index(_TIME_COLUMN)
    return replace(table, rows=tuple((*row[:at], time, *row[at + 1 :]) for row, time in zip(table.rows, times, strict=True)))


_TIME_COLUMN = "ms p50"
_STEP_NOTES = {
    "ms p50/p95": "milliseconds per query, median and 95th percentile: {timing}",
    "calls": "LLM calls",
    "tokens": "prompt and completion tokens of these calls",
    "money": "cost of these calls, by the prices in the experiment",
    "index s": "seconds to build the index",
    "index MB": "size of the index in megabytes",
    "queries/s": "queries per second in a batch",
}
_SIGNIFICANCE_NOTE = "of the gain, by a paired test corrected for the number of pairs of systems"
_STEP_VERDICTS = {
    "better": "significant gain",
    "worse": "significant loss",
    "equivalent": "equivalent",
    "same": "identical",
    "not significant": "not significant",
}
"""Verdicts as the table of steps has them."""


def step_verdict(context: ReportContext, system_run: SystemRun) -> str:
    """Whether the system differs significantly from the system that it is compared with; empty if that is not tested."""
    other = context.results.compared_with(system_run)
    pair = None if other is None else context.pair(system_run.name, other)
    return "" if pair is None else _STEP_VERDICTS[pair.verdict]


def steps_table(context: ReportContext) -> Table:
    """Every system with the measures that matter at its stage; the section Every measure has the others."""
    table = table_of_columns("steps", "Every system: quality, gain, latency and cost", list(_columns(context)))
    links = {
        (at, 0): pair_link(run.name, context.results.compared_with(run)) for at, run in enumerate(context.results.system_runs)
    }
    return replace(table, notes=tuple(_table_notes(table)), links=links)


def _table_notes(table: Table) -> Iterator[str]:
    if any(STAGE_MARK in str(cell) for row in table.rows for cell in row[1:]):
        yield f"{STAGE_MARK} the measure that matters at the system's stage."
    if table.best:
        yield "Bold: the best."


def _columns(context: ReportContext) -> Iterator[FilledColumn]:
    results = context.results
    table, timing = systems_table(results), timed_queries(results.system_runs)
    shown = {context.measure, *(name for system_run in results.system_runs for name in stage_measures(results, system_run))}
    titles = {measure_label(name, measure): name for name, measure in results.result.systems[0].measures.items()}
    for at, column in enumerate(table.columns):
        name = column.name
        if name in titles and titles[name] not in shown:
            continue
        about = "gain over the system with the number in brackets" if _is_gain_column(name) else _STEP_NOTES.get(name, "")
        best = [row for row, place in table.best if place == at]
        yield FilledColumn(column._replace(about=about.format(timing=timing)), [row[at] for row in table.rows], best)
        if titles.get(name) == context.measure and context.measured.summary == "mean":
            intervals = [context.intervals[system_run.name, context.measure] for system_run in results.system_runs]
            yield FilledColumn(Column("95% CI", "interval", f"of the first measure: {context.sampling}"), intervals)
        if _is_gain_column(name):
            verdicts = [step_verdict(context, system_run) or None for system_run in results.system_runs]
            yield FilledColumn(Column("significance", about=_SIGNIFICANCE_NOTE), verdicts)


def _is_gain_column(name: str) -> bool:
    return name.startswith(("pp (", "gain ("))


_MAX_NAMES = 8
_VERDICT_SENTENCES = {
    "significant gain": "Significantly better than",
    "significant loss": "Significantly worse than",
    "not significant": "No significant difference from",
    "identical": "Identical on every query to",
}
_BUILT_ON, _BASELINE = "the system that it builds on", "the baseline"


def steps_section(context: ReportContext) -> Section:
    """What each system adds to the system that it builds on; where none builds on another, what each gains over the baseline."""
    steps = any(system_run.builds_on for system_run in context.results.system_runs)
    adds = f"add to {_BUILT_ON}" if steps else f"gain over {_BASELINE}"
    return Section(
        key="steps",
        title="Steps" if steps else "Gain and cost",
        question=f"What does each system {adds}, and at what cost?",
        points=(*_step_sentences(context), *low_recall_notes(context.results), *approximate_search_notes(context.results)),
        charts=(_chart(context),),
        tables=(steps_table(context),),
    )


def _step_sentences(context: ReportContext) -> list[str]:
    """The systems, grouped by how they differ from the system that they build on, then from the baseline."""
    gains: dict[tuple[str, str], list[str]] = {}
    for system_run in context.results.system_runs:
        if verdict := step_verdict(context, system_run):
            other = _BASELINE if system_run.builds_on is None else _BUILT_ON
            gains.setdefault((other, verdict), []).append(f"{for_message(system_run.name)} ({_gain_text(context, system_run)})")
    return [
        f"{words} {other}: {_gain_list(gains[other, verdict])}."
        for other in (_BUILT_ON, _BASELINE)
        for verdict, words in _VERDICT_SENTENCES.items()
        if (other, verdict) in gains
    ]


def _gain_list(gains: list[str]) -> str:
    return ", ".join(gains[:_MAX_NAMES]) + (
        f" and {pluralise(len(gains) - _MAX_NAMES, 'other')}" if len(gains) > _MAX_NAMES else ""
    )


def _chart(context: ReportContext) -> SvgChart:
    rows = [_dot_row(context, system_run) for system_run in context.results.system_runs]
    has_intervals = any(row.interval for row in rows)
    title = f"{context.measure} of each system{', with 95% intervals' if has_intervals else ''}"
    legend = ["Filled: the best."] if context.has_better_direction and len(context.values) > 1 else []
    key = " ".join([*legend, f"Lines: 95% intervals ({context.sampling})."] if has_intervals else legend)
    about = "; ".join(f"{row.name} {row.shown}{f' ({row.aside})' if row.aside else ''}" for row in rows)
    within = context.measured.measure.range
    return chart_of_widths(lambda medium: dot_chart(medium, rows, title, about, within=within), title, key, len(rows))


def _dot_row(context: ReportContext, system_run: SystemRun) -> ValueRow:
    measured = context.values[system_run.name]
    aside = _gain_text(context, system_run)
    best = context.has_better_direction and system_run.name in context.best_systems
    return ValueRow(
        system_run.name,
        measured.value,
        format_value(measured.value, measured),
        context.intervals[system_run.name, context.measure],
        aside,
        best,
        address=pair_link(system_run.name, context.results.compared_with(system_run), context.measure),
    )


def _gain_text(context: ReportContext, system_run: SystemRun) -> str:
    """The gain over the system that it is compared with; empty for the baseline."""
    other, measured = context.results.compared_with(system_run), context.values[system_run.name]
    if other is None:
        return ""
    return f"{signed_difference(measured.value - context.values[other].value, measured)} over {for_message(other)}"


def chunks_section(context: ReportContext) -> Section | None:
    """The values at chunk level; None if no system ranks chunks."""
    chunks = context.results.chunks
    if chunks is None:
        return None
    many = pluralise(len(chunks.systems), "system ranks", "systems rank")
    return Section(
        key="chunks",
        title="Chunks",
        question="How good are the rankings before chunks are collapsed to documents?",
        sentences=(
            f"{many} chunks. These are the values of the same runs at chunk level; the other sections are at document level.",
            "Systems with different chunking rank different chunks, so no value here is marked as the best.",
        ),
        tables=(chunks_table(chunks, "At chunk level"),),
    )
