"""The quality of every system by every measure, quality against latency, and where the time goes."""

from __future__ import annotations

from .._charts.latency import SystemTimes, TimeWords, latency_chart
from .._charts.model import Chart
from .._charts.pareto import ParetoAxes, ParetoPoint, pareto_chart
from .._charts.rows import BarGroup, ValueRow, bar_chart
from ..analysis.evidence import Evidence
from ..analysis.front import contenders, front
from ..analysis.latency import stage_means
from ..analysis.measured import is_contest, leaders, worth
from ..analysis.statistics.many import intervals_of
from ..analysis.wording import counted
from ..evaluation import MeasureResult
from ..views.grid import shown_number
from .inputs import (
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

NO_TIMES = "No times are known: run files hold rankings alone. Name a results folder that `rankproof run` wrote."
_LATENCY = "Latency of a query by stage"


def bars(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """One chart with a panel of bars for each measure."""
    measures = evidence.result.systems[0].measures
    values = {name: of_measure(evidence, name) for name in measures}
    flat = {(name, system): one for name, each in values.items() for system, one in each.items()}
    ranges = intervals_of(flat)
    one, systems = next(iter(measures.values())), systems_of(evidence)
    alone = len(measures) == 1
    title = full_name(one.measure) if alone else f"Quality of {counted(len(systems), 'system')} by {len(measures)} measures"
    best = "; darker and bold: the best" if len(systems) > 1 else ""
    notes = [where(evidence, one.queries), f"{how_intervals(flat, ranges)}{best}"]
    groups = []
    for name, each in values.items():
        leading = _leading(each)
        rows = [
            ValueRow(system, one.value, _shown(one), ranges[name, system], best=system in leading) for system, one in each.items()
        ]
        groups.append(BarGroup(name, measures[name].measure.title, rows))
    return [bar_chart(settings.medium, "bars", title, notes, groups)]


def _shown(one: MeasureResult) -> str:
    return shown_number(one.value, one) if one.summary == "sum" else f"{one.value:.3f}"


def _leading(values: dict[str, MeasureResult]) -> list[str]:
    """The systems that lead; none where all are equal or the measure names no winner."""
    differ = len({one.value for one in values.values()}) > 1 and is_contest(next(iter(values.values())).measure)
    return leaders({name: worth(one) for name, one in values.items()}) if differ else []


def pareto(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """A chart for each measure."""
    names = means_of(evidence, settings)
    if not _is_timed(evidence) or not names:
        return [missing(evidence, settings, "pareto", "Quality against latency", NO_TIMES if names else NO_MEAN)]
    return [_pareto(evidence, name, settings) for name in names]


def _is_timed(evidence: Evidence) -> bool:
    return any(len(rung.times["total"]) for rung in evidence.rungs)


def _pareto(evidence: Evidence, name: str, settings: PlotSettings) -> Chart:
    rivals = contenders(evidence.rungs)
    values = {system: one for system, one in of_measure(evidence, name).items() if system in rivals}
    times = {rung.name: max(rung.time_of("total")["p50"], 1e-6) for rung in evidence.rungs if rung.name in rivals}
    best = front(times, {system: worth(one) for system, one in values.items()})
    one, ranges = next(iter(values.values())), intervals_of(values)
    title = f"{full_name(one.measure)}, against latency"
    notes = [
        where(evidence, one.queries),
        f"filled, on the line: none is both faster and better; {how_intervals(values, ranges)}",
    ]
    systems = [ParetoPoint(each, times[each], values[each].value, ranges[each], each in best) for each in values]
    less = one.measure.higher_is_better is False
    axes = ParetoAxes("milliseconds a query, p50: faster to the left", value_name(one.measure), less, one.measure.range)
    return pareto_chart(settings.medium, part_name("pareto", name, settings), title, "", notes, systems, axes)


def latency(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """The mean of each stage, stacked; and p50 and p95 of the whole, where small times stay readable."""
    rungs = evidence.rungs
    if not _is_timed(evidence):
        return [missing(evidence, settings, "latency", _LATENCY, NO_TIMES)]
    totals = [rung.time_of("total") for rung in rungs]
    rows = [
        SystemTimes(rung.name, stage_means(rung), total["p50"], total["p95"]) for rung, total in zip(rungs, totals, strict=True)
    ]
    notes = [where(evidence, len(rungs[0].times["total"])), latency_note(settings)]
    return [latency_chart(settings.medium, "latency", _LATENCY, notes, rows, TimeWords())]


def latency_note(settings: PlotSettings) -> str:
    """How the times were taken, and what the two panels show."""
    first, second = ("above", "below") if settings.medium.narrow else ("left", "right")
    return f"one query at a time, after a warm-up; {first}: means, which add up; {second}: p50 and p95 of the whole"
