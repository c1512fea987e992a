"""The systems compared with the baseline, what each gains and costs, and the values at chunk level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rankproof._analysis.compare.comparison import Comparison
from rankproof._charts.model import Medium
from rankproof._charts.rows import ValueRow, dot_chart
from rankproof._charts.svg import svg_of
from rankproof._data.text import pluralise, shown_time
from rankproof._render.grid import MISSING, Cell, Grid, format_value, measure_label, summary_grid
from rankproof._render.systems import approximate_search_notes
from rankproof._render.systems_grid import STAGE_MARK, chunk_grid, stage_measures, systems_grid
from rankproof._render.table import table_grid
from rankproof._report.context import ReportContext
from rankproof._report.elements import (
    NARROW_CHART_WIDTH,
    WIDE_CHART_WIDTH,
    HtmlTable,
    Section,
    SvgChart,
    as_sentence,
    html_table,
    interval_cell,
    signed_difference,
)
from rankproof._results.experiment_result import SystemRun, timed_queries
from rankproof.errors import for_message


def systems_section(context: ReportContext) -> Section:
    """Every system compared with the baseline."""
    if context.comparison is None:
        grid = summary_grid(context.results.result)
        return Section("systems", "Systems", "How good is each system?", tables=(HtmlTable("Every system", grid),))
    return comparison_systems(context.comparison)


def comparison_systems(comparison: Comparison) -> Section:
    """The table of systems; the section Every measure has the exploratory measures."""
    table = comparison.table
    for name in comparison.measures:
        table = table if name == comparison.primary else table.without(name)
    notes = tuple(map(as_sentence, comparison.notes))
    shown = replace(html_table(table), grid=_with_times(comparison, table_grid(table)))
    return Section(
        key="systems",
        title="Systems",
        question=f"How good is each system, compared with {for_message(comparison.baseline or 'the baseline')}?",
        tables=(
            replace(shown, notes=(*notes, *filter(None, [comparison.method]))),
            *map(html_table, comparison.further_tables),
        ),
    )


def _with_times(comparison: Comparison, grid: Grid) -> Grid:
    """The grid with latencies in the usual form."""
    if comparison.decision.cost_unit != "ms":
        return grid
    costs = [MISSING if one.cost is None else shown_time(one.cost) for one in comparison.decision.by_system]
    at = grid.columns.index(_TIME_COLUMN)
    cells = tuple((*row[:at], Cell(cost), *row[at + 1 :]) for row, cost in zip(grid.cells, costs, strict=True))
    return replace(grid, cells=cells)


_TIME_COLUMN = "ms p50"
_STEP_NOTES = {
    "95% interval": "of the first measure: {how}",
    "significance": "of the gain, by a paired test corrected for the number of pairs of systems",
    "ms p50/p95": "milliseconds per query, median and 95th percentile: {timing}",
    "calls": "LLM calls",
    "tokens": "prompt and completion tokens of these calls",
    "money": "cost of these calls, by the prices in the experiment",
    "index s": "seconds to build the index",
    "index MB": "size of the index in megabytes",
    "queries/s": "queries per second in a batch",
}
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


def steps_table(context: ReportContext) -> HtmlTable:
    """Every system with the measures that matter at its stage; the section Every measure has the others."""
    columns = list(_columns(context))
    names = tuple(name for name, _ in columns)
    rows = tuple(f"{at} {system_run.name}" for at, system_run in enumerate(context.results.system_runs, start=1))
    words = frozenset(at for at, name in enumerate(names) if name == "significance")
    grid = Grid("system", rows, names, tuple(zip(*(cells for _, cells in columns), strict=True)), words)
    timing = timed_queries(context.results.system_runs)
    notes = {name: about.format(how=context.sampling, timing=timing) for name, about in _STEP_NOTES.items() if name in names}
    notes |= {name: "gain over the system with the number in brackets" for name in names if _is_gain_column(name)}
    return HtmlTable("Every system: quality, gain, latency and cost", grid, notes, tuple(_grid_notes(grid)))


def _grid_notes(grid: Grid) -> Iterator[str]:
    cells = [cell for row in grid.cells for cell in row]
    if any(STAGE_MARK in cell.text for cell in cells):
        yield f"{STAGE_MARK} the measure that matters at the system's stage."
    if any(cell.best for cell in cells):
        yield "Bold: the best."


def _columns(context: ReportContext) -> Iterator[tuple[str, list[Cell]]]:
    results = context.results
    grid = systems_grid(results)
    shown = {context.measure, *(name for system_run in results.system_runs for name in stage_measures(results, system_run))}
    titles = {measure_label(name, measure): name for name, measure in results.result.systems[0].measures.items()}
    for at, name in enumerate(grid.columns):
        if name in titles and titles[name] not in shown:
            continue
        yield name, [row[at] for row in grid.cells]
        if titles.get(name) == context.measure and context.measured.summary == "mean":
            spans = [context.intervals[system_run.name, context.measure] for system_run in results.system_runs]
            yield "95% interval", [Cell(interval_cell(span)) for span in spans]
        if _is_gain_column(name):
            yield "significance", [Cell(step_verdict(context, system_run) or MISSING) for system_run in results.system_runs]


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
        points=(*_step_sentences(context), *approximate_search_notes(context.results)),
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
    wide, narrow = (
        svg_of(dot_chart(Medium(width), rows, title, about, within=within)) for width in (WIDE_CHART_WIDTH, NARROW_CHART_WIDTH)
    )
    return SvgChart(title, wide, key, narrow)


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
        tables=(HtmlTable("At chunk level", chunk_grid(chunks)),),
    )
