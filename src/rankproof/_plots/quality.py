"""Quality by measure, quality against latency, and latency by stage."""

from __future__ import annotations

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.pareto import pareto_front, stage_means, untimed_systems
from rankproof._analysis.values import best_systems, mean_intervals, oriented_value
from rankproof._charts.latency import SystemTimes, TimeWords, latency_chart
from rankproof._charts.model import Chart
from rankproof._charts.pareto import ParetoAxes, ParetoPoint, pareto_chart
from rankproof._charts.rows import BarGroup, ValueRow, bar_chart
from rankproof._data.text import pluralise, query_range
from rankproof._evaluation.result import MeasureResult
from rankproof._plots.inputs import (
    NO_MEAN,
    PlotSettings,
    full_name,
    how_intervals,
    means_of,
    missing,
    of_measure,
    part_name,
    systems_of,
    value_name,
    where,
)
from rankproof._render.result import format_value
from rankproof._results.experiment_result import ranking_systems

NO_TIMES = "Run files have no times. Use a results folder of systems that `rankproof run` built."
_LATENCY = "Latency of a query by stage"


def bars(inputs: AnalysisInput, settings: PlotSettings) -> list[Chart]:
    """One chart with a panel of bars for each measure."""
    measures = inputs.result.systems[0].measures
    values = {name: of_measure(inputs, name) for name in measures}
    flat = {(name, system): measured for name, value in values.items() for system, measured in value.items()}
    ranges = mean_intervals(flat)
    first, systems = next(iter(measures.values())), systems_of(inputs)
    alone = len(measures) == 1
    title = full_name(first.measure) if alone else f"Quality of {pluralise(len(systems), 'system')} by {len(measures)} measures"
    best = "; the best is darker and bold" if len(systems) > 1 else ""
    notes = [where(inputs, first.queries), f"{how_intervals(ranges)}{best}"]
    groups = []
    for name, by_system in values.items():
        leading = _leading(by_system)
        rows = [
            ValueRow(system, value.value, _shown(value), ranges[name, system], best=system in leading)
            for system, value in by_system.items()
        ]
        groups.append(BarGroup(name, measures[name].measure.title, rows))
    return [bar_chart(settings.medium, "bars", title, notes, groups)]


def _shown(measure: MeasureResult) -> str:
    return format_value(measure.value, measure) if measure.summary == "sum" else f"{measure.value:.3f}"


def _leading(values: dict[str, MeasureResult]) -> list[str]:
    """The best systems; empty if all are equal or the measure has no better direction."""
    differ = len({value.value for value in values.values()}) > 1 and next(iter(values.values())).measure.has_winner
    return best_systems({name: oriented_value(value) for name, value in values.items()}) if differ else []


def pareto(inputs: AnalysisInput, settings: PlotSettings) -> list[Chart]:
    """One chart per measure."""
    names = means_of(inputs, settings)
    if why := _not_timed(inputs) if names else NO_MEAN:
        return [missing(inputs, settings, "pareto", "Quality against latency", why)]
    return [_pareto(inputs, name, settings) for name in names]


def _not_timed(inputs: AnalysisInput) -> str:
    """Why there are no times to show; empty if there are."""
    if inputs.timed_apart:
        return f"Not comparable: {inputs.timed_apart}."
    return "" if any(system_run.time_of("total") for system_run in inputs.system_runs) else NO_TIMES


def _pareto(inputs: AnalysisInput, name: str, settings: PlotSettings) -> Chart:
    names = ranking_systems(inputs.system_runs)
    totals = {run.name: total for run in inputs.system_runs if (total := run.time_of("total"))}
    times = {system: max(totals[system].p50, 1e-6) for system in names if system in totals}
    values = {system: measured for system, measured in of_measure(inputs, name).items() if system in times}
    best = pareto_front(times, {system: oriented_value(value) for system, value in values.items()})
    first, ranges = next(iter(values.values())), mean_intervals(values)
    title = f"{full_name(first.measure)}, against latency"
    notes = [
        f"{where(inputs, first.queries)}; latency of {query_range(totals[time].queries for time in times)}",
        f"filled, on the line: the Pareto front; {how_intervals(ranges)}",
        *_untimed_note(inputs),
    ]
    systems = [ParetoPoint(value, times[value], values[value].value, ranges[value], value in best) for value in values]
    less = first.measure.higher_is_better is False
    axes = ParetoAxes("milliseconds per query, p50 (faster to the left)", value_name(first.measure), less, first.measure.range)
    return pareto_chart(settings.medium, part_name("pareto", name, settings), title, "", notes, systems, axes)


def latency(inputs: AnalysisInput, settings: PlotSettings) -> list[Chart]:
    """The mean time of each stage, stacked, and p50 and p95 of the total."""
    timed = [(system_run, total) for system_run in inputs.system_runs if (total := system_run.time_of("total"))]
    if why := _not_timed(inputs):
        return [missing(inputs, settings, "latency", _LATENCY, why)]
    rows = [SystemTimes(system_run.name, stage_means(system_run), total.p50, total.p95) for system_run, total in timed]
    timed_queries = query_range(total.queries for _, total in timed)
    notes = [f"{inputs.dataset or inputs.name}, n = {timed_queries}", latency_note(settings), *_untimed_note(inputs)]
    return [latency_chart(settings.medium, "latency", _LATENCY, notes, rows, TimeWords())]


def _untimed_note(inputs: AnalysisInput) -> list[str]:
    """The systems that the chart leaves out because they were not timed."""
    names = untimed_systems(inputs.system_runs)
    return [f"not timed: {', '.join(names)}"] if names else []


def latency_note(settings: PlotSettings) -> str:
    """How times were measured, and what the two panels show."""
    first, second = ("above", "below") if settings.medium.narrow else ("left", "right")
    return f"one query at a time, after a warm-up; {first}: means by stage; {second}: p50 and p95 of the total"
