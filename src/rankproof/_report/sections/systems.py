"""Table of systems, chunk level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rankproof._analysis.compare.pairs import swapped
from rankproof._analysis.values import has_winner
from rankproof._charts.model import Medium
from rankproof._charts.rows import ValueRow, dot_chart
from rankproof._charts.svg import svg_of
from rankproof._data.text import pluralise
from rankproof._evaluation.result import MeasureResult
from rankproof._render.grid import MISSING, Cell, Grid, format_value, measure_label
from rankproof._render.systems import approximate_search_notes, system_sentences
from rankproof._render.systems_grid import COUNT_MARK, chunk_grid, main_measure, stage_measures, systems_grid
from rankproof._report.context import ReportContext
from rankproof._report.elements import (
    NARROW_CHART_WIDTH,
    WIDE_CHART_WIDTH,
    HtmlTable,
    Section,
    SvgChart,
    interval_cell,
    signed_difference,
)
from rankproof._results.experiment_result import SystemRun
from rankproof.errors import for_message

_VERDICT_WORDS = {"better": "real gain", "worse": "real loss"}
_COLUMN_NOTES = {
    "95% interval": "of the first measure: {how}",
    "pp (over)": "percentage points gained over the rung of that number",
    "gain (over)": "what is gained over the rung of that number",
    "is it real": "whether the gain is more than chance, by a paired test that takes all pairs of systems into account",
    "ms p50/p95": "milliseconds a query: half of the queries and 95% of them take no longer; one at a time, after a warm-up",
    "calls": "how often language models were asked",
    "tokens": "in what they were sent and what they replied",
    "money": "what that cost, by the prices in the experiment",
    "index s": "seconds to build all that the system searches in",
    "index MB": "megabytes of it",
    "queries/s": "queries a second in batch",
}


def system_verdict(context: ReportContext, system_run: SystemRun) -> str:
    """What is known of the rung and the one that it is measured over, nothing where there is none."""
    pair = None if system_run.baseline is None else context.comparison(system_run.name, system_run.baseline)
    if pair is None:
        return ""
    verdict = pair.verdict if pair.observed.one == system_run.name else swapped(pair.verdict)
    return _VERDICT_WORDS.get(verdict, verdict)


def systems_table(context: ReportContext) -> HtmlTable:
    """Every rung with the measures that matter at some stage; the others have a part of their own."""
    columns = list(_columns(context))
    names = tuple(name for name, _ in columns)
    rows = tuple(f"{at} {system_run.name}" for at, system_run in enumerate(context.results.system_runs, start=1))
    words = frozenset(at for at, name in enumerate(names) if name == "is it real")
    grid = Grid("rung", rows, names, tuple(zip(*(cells for _, cells in columns), strict=True)), words)
    abouts = {name: about.format(how=context.sampling) for name, about in _COLUMN_NOTES.items() if name in names}
    return HtmlTable("Every rung: quality, gain, latency and cost", grid, abouts, tuple(_grid_notes(grid)))


def _grid_notes(grid: Grid) -> Iterator[str]:
    cells = [cell for row in grid.cells for cell in row]
    if any(COUNT_MARK in cell.text for cell in cells):
        yield f"{COUNT_MARK} what matters at the rung's stage."
    if any(cell.best for cell in cells):
        yield "In bold: the best."


def _columns(context: ReportContext) -> Iterator[tuple[str, list[Cell]]]:
    results = context.results
    grid = systems_grid(results)
    telling = {context.measure, *(name for system_run in results.system_runs for name in stage_measures(results, system_run))}
    titles = {measure_label(name, one): name for name, one in results.result.systems[0].measures.items()}
    for at, name in enumerate(grid.columns):
        if name in titles and titles[name] not in telling:
            continue
        yield name, [row[at] for row in grid.cells]
        if titles.get(name) == context.measure and context.one.summary == "mean":
            spans = [context.intervals[system_run.name, context.measure] for system_run in results.system_runs]
            yield "95% interval", [Cell(interval_cell(span)) for span in spans]
        if "(over)" in name:
            yield "is it real", [Cell(system_verdict(context, system_run) or MISSING) for system_run in results.system_runs]


_MAX_SENTENCES = 8
_VERDICT_SENTENCES = {
    "real gain": "More than chance better than the rung below",
    "real loss": "More than chance worse than the rung below",
    "not significant": "No significant difference to its baseline",
    "same": "The same as the rung below on every query",
}


def systems_section(context: ReportContext) -> Section:
    """Rung by rung."""
    return Section(
        key="ladder",
        title="The ladder",
        question="What does each rung add to the one below it, and at what price?",
        points=(
            *_step_sentences(context),
            *approximate_search_notes(context.results),
            *_first_sentences(_no_gain_sentences(context)),
        ),
        charts=(_chart(context),),
        tables=(systems_table(context),),
    )


def _step_sentences(context: ReportContext) -> list[str]:
    """The rungs by what is known of each and the one that it is measured over."""
    found: dict[str, list[str]] = {}
    for system_run in context.results.system_runs:
        if system_run.baseline is not None and (verdict := system_verdict(context, system_run)):
            found.setdefault(verdict, []).append(f"{for_message(system_run.name)} ({_gain_text(context.values, system_run)})")
    return [f"{_VERDICT_SENTENCES[verdict]}: {_gain_list(found[verdict])}." for verdict in _VERDICT_SENTENCES if verdict in found]


def _no_gain_sentences(context: ReportContext) -> list[str]:
    """Which rungs do not pay, by the first measure; none where that says nothing of better and worse."""
    first = next(iter(context.results.result.systems[0].measures.values()))
    return system_sentences(context.results, _inconclusive_systems(context)) if has_winner(first.measure) else []


def _inconclusive_systems(context: ReportContext) -> list[str] | None:
    """The rungs that the test does not tell from the one below; None where it is not of the first measure."""
    if context.measure != main_measure(context.results) or not context.comparisons:
        return None
    return [system_run.name for system_run in context.results.system_runs if system_verdict(context, system_run) == "not significant"]


def _gain_list(gains: list[str]) -> str:
    return ", ".join(gains[:_MAX_SENTENCES]) + (
        f" and {pluralise(len(gains) - _MAX_SENTENCES, 'other')}" if len(gains) > _MAX_SENTENCES else ""
    )


def _first_sentences(said: list[str]) -> list[str]:
    """The first of many sentences, and how many there are besides."""
    more = f"{pluralise(len(said) - _MAX_SENTENCES, 'more rung does', 'more rungs do')} not gain or cannot be told to: the table below has all."
    return said if len(said) <= _MAX_SENTENCES else [*said[:_MAX_SENTENCES], more]


def _chart(context: ReportContext) -> SvgChart:
    rows = [_dot_row(context, system_run) for system_run in context.results.system_runs]
    sure = any(row.interval for row in rows)
    title = f"{context.measure} of each rung{', with 95% intervals' if sure else ''}"
    told = ["Filled: the best."] if context.has_better_direction and len(context.values) > 1 else []
    key = " ".join([*told, f"Lines: 95% intervals ({context.sampling})."] if sure else told)
    about = "; ".join(f"{row.name} {row.shown}{f' ({row.aside})' if row.aside else ''}" for row in rows)
    within = context.one.measure.range
    wide, narrow = (
        svg_of(dot_chart(Medium(width), rows, title, about, within=within)) for width in (WIDE_CHART_WIDTH, NARROW_CHART_WIDTH)
    )
    return SvgChart(title, wide, key, narrow)


def _dot_row(context: ReportContext, system_run: SystemRun) -> ValueRow:
    one = context.values[system_run.name]
    aside = "" if system_run.baseline is None else _gain_text(context.values, system_run)
    best = context.has_better_direction and system_run.name in context.best_systems
    return ValueRow(
        system_run.name, one.value, format_value(one.value, one), context.intervals[system_run.name, context.measure], aside, best
    )


def _gain_text(values: Mapping[str, MeasureResult], system_run: SystemRun) -> str:
    one, below = values[system_run.name], values[system_run.baseline or ""]
    return f"{signed_difference(one.value - below.value, one)} over {for_message(system_run.baseline or '')}"


def chunks_section(context: ReportContext) -> Section | None:
    """None where no system ranks chunks."""
    found = context.results.chunks
    if found is None:
        return None
    many = pluralise(len(found.systems), "system ranks", "systems rank")
    return Section(
        key="chunks",
        title="Chunks",
        question="How good are the rankings before chunks are collapsed to documents?",
        sentences=(
            f"{many} chunks; the values here are of the same run at chunk level, those above of its documents.",
            "Systems that cut documents otherwise rank other chunks, so that none of these values is the best.",
        ),
        tables=(HtmlTable("At chunk level", chunk_grid(found)),),
    )
