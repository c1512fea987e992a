"""Latency by stage, and quality against latency."""

from __future__ import annotations

from rankproof._analysis.pareto import dominated_by, pareto_front, stage_means, untimed_systems
from rankproof._charts.latency import ParetoAxes, ParetoPoint, SystemTimes, pareto_chart, shares_chart, spread_chart
from rankproof._charts.model import Chart, Medium
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import shown_time
from rankproof._render.result import format_value
from rankproof._report.context import ReportContext
from rankproof._report.elements import (
    Section,
    SvgChart,
    chart_of_widths,
    format_milliseconds,
    join_names,
    pair_link,
    queries_link,
)
from rankproof.errors import for_message

_STAGE_NOTES = {
    "embed": "encoding the query",
    "search": "retrieving documents",
    "network": "sending the request and receiving the reply of a search engine",
    "rerank": "reranking them",
    "generate": "calling a language model",
    "mean": "mean of the total time",
    "p50": "median of the total time",
    "p95": "95th percentile of the total time",
    "p99": "99th percentile of the total time, from 1,000 timed queries on",
    "queries": "timed queries: asked one at a time, after a warm-up",
}


def latency_section(context: ReportContext) -> Section | None:
    """Latency by stage; None if nothing was timed."""
    if not context.times:
        return None
    rows = [
        SystemTimes(
            system_run.name,
            stage_means(system_run),
            total.p50,
            total.p95,
            address=queries_link(a=system_run.name, sort="time", down="1") if context.has_queries else "",
        )
        for system_run in context.results.system_runs
        if (total := system_run.time_of("total"))
    ]
    return Section(
        key="latency",
        title="Latency",
        question="How much of the query time does each stage take?",
        sentences=(*_latency_sentences(rows), *_noticed_sentence(rows), *_untimed_sentence(context)),
        charts=(_shares_chart(rows), _percentiles_chart(rows)),
        tables=(_latency_table(context, rows),),
    )


def _untimed_sentence(context: ReportContext) -> list[str]:
    names = untimed_systems(context.results.system_runs)
    return [f"Not timed, and left out here: {join_names(names)}."] if names else []


_NOTICED_MS = 100.0
"""A reply within 0.1 s seems instant to people (Miller 1968; Nielsen 1993)."""


def _noticed_sentence(rows: list[SystemTimes]) -> list[str]:
    """The systems with delays that people notice; none if every p95 is within the limit."""
    slow = [f"{for_message(row.name)} ({format_milliseconds(row.p95)})" for row in rows if row.p95 > _NOTICED_MS]
    return (
        [f"People notice a delay above {_NOTICED_MS:.0f} ms; the p95 of these systems is longer: {', '.join(slow)}."]
        if slow
        else []
    )


def _latency_sentences(rows: list[SystemTimes]) -> list[str]:
    slowest, fastest = (choose(rows, key=lambda row: row.total) for choose in (max, min))
    if slowest.total <= 0:
        return []
    part = max(slowest.parts, key=lambda name: slowest.parts[name])
    share = slowest.parts[part] / slowest.total
    time = f"{format_milliseconds(slowest.total)} a query on average; {share:.0%} of it is {part}"
    if len(rows) == 1:
        return [f"{for_message(slowest.name)} takes {time}."]
    sentences = [f"{for_message(slowest.name)} is the slowest, {time}."]
    if fastest.total > 0:
        times = _ratio_text(slowest.total / fastest.total)
        sentences.append(f"{for_message(fastest.name)} is the fastest, {format_milliseconds(fastest.total)}: {times} as fast.")
    return sentences


def _ratio_text(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


def _shares_chart(rows: list[SystemTimes]) -> SvgChart:
    title = "Time of a query by stage"
    about = "; ".join(f"{row.name} {_parts_text(row)}" for row in rows)
    key = "Each bar is the mean time of one system, split by stage; the total is at the right."
    return chart_of_widths(lambda medium: shares_chart(medium, rows, title, about), title, key, len(rows))


def _percentiles_chart(rows: list[SystemTimes]) -> SvgChart:
    title = "Percentiles of the time of a query"
    about = "; ".join(f"{row.name} p50 {format_milliseconds(row.p50)}, p95 {format_milliseconds(row.p95)}" for row in rows)
    key = "Filled: p50, the median. Hollow: p95."
    return chart_of_widths(lambda medium: spread_chart(medium, rows, title, about), title, key, len(rows))


def _parts_text(row: SystemTimes) -> str:
    return ", ".join(f"{part} {format_milliseconds(time)}" for part, time in row.parts.items() if time > 0)


def _latency_table(context: ReportContext, rows: list[SystemTimes]) -> Table:
    used = [part for part in rows[0].parts if any(row.parts[part] for row in rows)]
    columns = [Column(name, "number", _STAGE_NOTES.get(name, "")) for name in (*used, "mean", "p50", "p95", "p99", "queries")]
    cells: list[tuple[CellValue, ...]] = []
    for row in rows:
        total = context.totals[row.name]
        times = [*(row.parts[part] for part in used), total.mean, total.p50, total.p95, total.p99]
        shown = (None if time is None else shown_time(time) for time in times)
        cells.append((row.name, *shown, f"{total.queries:,}"))
    title = "Milliseconds per query: mean of each stage, and percentiles of the total"
    links = {(at, 0): row.address for at, row in enumerate(rows) if row.address}
    return Table("latency", title, (Column("system"), *columns), tuple(cells), links=links)


_PARETO_COLUMNS = (
    Column("ms p50", "number", "median milliseconds per query"),
    Column("ms p95", "number", "95th percentile of milliseconds per query"),
    Column("on the front", "flag", "no other system is at least as good and as fast, and better in one of the two"),
    Column(
        "dominated by",
        about="the best system that is at least as good and at least as fast as this one; its lead need not be significant",
    ),
)


def pareto_section(context: ReportContext) -> Section | None:
    """Quality against latency; None for fewer than two timed systems, or for a measure without a better direction."""
    if len(_median_times(context)) < 2 or not context.has_better_direction:
        return None
    best = pareto_front(_median_times(context), context.oriented_values)
    return Section(
        key="pareto",
        title="Quality against latency",
        question="Which systems are on the Pareto front?",
        sentences=(*_pareto_sentences(context, best), *_untimed_sentence(context)),
        charts=(_pareto_figure(context, best),),
        tables=(_pareto_table(context, best),),
    )


def _median_times(context: ReportContext) -> dict[str, float]:
    return {name: context.times[name] for name in context.ranking_systems if name in context.times}


def _pareto_sentences(context: ReportContext, best: list[str]) -> list[str]:
    sentences = [f"On the Pareto front: {join_names(best)}. No system is both faster and better than any of these."]
    if len(best) == 1:
        sentences = [f"{join_names(best)} is the fastest and the best: no other system is on the Pareto front."]
    for name in _median_times(context):
        if name not in best:
            other = dominated_by(_median_times(context), context.oriented_values, name)[0]
            sentences.append(_dominance_sentence(context, name, other))
    return sentences


def _dominance_sentence(context: ReportContext, name: str, other: str) -> str:
    """How another system dominates this one: in quality only if the difference is significant."""
    value, theirs = (format_value(context.values[system].value, context.measured) for system in (name, other))
    time, quicker = (format_milliseconds(context.times[system]) for system in (name, other))
    pair, numbers = context.pair(other, name), f"{theirs} in {quicker}, against {value} in {time}"
    if pair is None:
        return f"{for_message(other)} has the better mean and is no slower than {for_message(name)}: {numbers}."
    if pair.verdict in ("better", "worse"):
        return f"{for_message(other)} is better and no slower than {for_message(name)}: {numbers}."
    alike = f"shows no significant difference in quality from {for_message(name)} ({theirs} against {value})"
    if time == quicker:
        return f"{for_message(other)} {alike} and takes as long, {time}."
    return f"{for_message(other)} {alike} and is faster: {quicker} against {time}."


def _pareto_figure(context: ReportContext, best: list[str]) -> SvgChart:
    systems = [_system(context, name, name in best) for name in _median_times(context)]
    title = f"{context.measure} against milliseconds per query"
    about = "; ".join(system.tip for system in systems)
    less = context.measured.measure.higher_is_better is False
    upward = f"{context.measure} ({'lower is better, ' if less else ''}better upwards)"

    def draw(medium: Medium) -> Chart:
        across = "ms per query, p50" if medium.narrow else "milliseconds per query, p50: faster to the left"
        axes = ParetoAxes(across, upward, less, context.measured.measure.range)
        return pareto_chart(medium, "pareto", title, about, (), systems, axes)

    lines = f" Vertical lines: 95% intervals ({context.sampling})." if any(system.interval for system in systems) else ""
    return chart_of_widths(draw, title, f"Filled points on the line are the Pareto front.{lines}", len(systems))


def _system(context: ReportContext, name: str, on: bool) -> ParetoPoint:
    value, time = context.values[name].value, context.times[name]
    tip = f"{name}: {format_value(value, context.measured)} in {format_milliseconds(time)}{', on the front' if on else ''}"
    interval, address = context.intervals[name, context.measure], pair_link(name, None, context.measure)
    return ParetoPoint(name, time, value, interval, on, tip=tip, address=address)


def _pareto_table(context: ReportContext, best: list[str]) -> Table:
    rows: list[tuple[CellValue, ...]] = []
    for name, time in _median_times(context).items():
        others = dominated_by(_median_times(context), context.oriented_values, name)
        value = format_value(context.values[name].value, context.measured)
        times = (shown_time(time), shown_time(context.totals[name].p95))
        interval = context.intervals[name, context.measure]
        rows.append((name, value, interval, *times, name in best, others[0] if others else None))
    quality = (Column(context.measure, "value"), Column("95% CI", "interval", context.sampling))
    return Table("pareto", "Quality and latency", (Column("system"), *quality, *_PARETO_COLUMNS), tuple(rows))
