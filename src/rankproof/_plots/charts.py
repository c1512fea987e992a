"""Charts of curves, differences and segments, and charts as files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rankproof._analysis.compare.decision_data import default_baseline
from rankproof._analysis.inputs import AnalysisInput, checked_system
from rankproof._analysis.pareto import pareto_front, stage_means, untimed_systems
from rankproof._analysis.query_groups import MIN_QUERIES, Grouping, default_grouping, group_queries
from rankproof._analysis.values import (
    MeasureResults,
    best_system,
    best_systems,
    format_points,
    mean_intervals,
    measure_results,
    oriented_value,
)
from rankproof._charts.curves import DEPTHS, Curve, curve_chart, curve_value_axis, differences_chart, recall_chart
from rankproof._charts.figure import Format, figure_style, pages, saved
from rankproof._charts.latency import ParetoAxes, ParetoPoint, SystemTimes, TimeWords, latency_chart, pareto_chart
from rankproof._charts.model import Axis, Chart, Medium, Scale, Tick
from rankproof._charts.rows import BarGroup, Heatmap, ValueRow, bar_chart, heatmap_chart
from rankproof._charts.text import fitted
from rankproof._data.arrays import FloatArray, weight_column
from rankproof._data.text import pluralise, query_range
from rankproof._evaluation.result import MeasureResult
from rankproof._plots.registry import PLOT_KINDS
from rankproof._plots.settings import (
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
from rankproof._statistics.intervals import Interval, describe_interval_method, enough_differ, mean_interval
from rankproof._statistics.means import weighted_mean
from rankproof._statistics.paired import differences as apart
from rankproof.errors import UsageError
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure

MOST = 40
"""The largest number of segments; the largest segments are shown."""
_UPRIGHT = 5
"""With more systems than this, and more than segments, systems are rows."""


def segments(inputs: AnalysisInput, settings: PlotSettings) -> list[Chart]:
    """One chart per measure; the lowest segment first, all queries last."""
    names = means_of(inputs, settings)
    by = settings.by or default_grouping(inputs)
    if not names:
        return [missing(inputs, settings, "segments", f"Values by {by}", NO_MEAN)]
    grouping = group_queries(inputs, by)
    return [_segments_chart(inputs, grouping, name, settings) for name in names]


def means_by(grouping: Grouping, values: dict[str, MeasureResult]) -> tuple[dict[str, int], FloatArray]:
    """The size of each segment, the lowest first, and its means by system; NaN without queries."""
    by_system = [value.per_query for value in values.values()]
    means, sizes = {}, {}
    for name, queries in grouping.segments.items():
        by_row = [[row[query] for query in queries if query in row] for row in by_system]
        sizes[name] = max(map(len, by_row))
        means[name] = [math.fsum(row) / len(row) if row else math.nan for row in by_row]
    largest = sorted((name for name in sizes if sizes[name]), key=lambda name: (-sizes[name], name))[:MOST]
    order = sorted(largest, key=lambda name: (float(np.nansum(means[name])), name))
    return {name: sizes[name] for name in order}, np.array([means[name] for name in order])


def _segments_chart(inputs: AnalysisInput, grouping: Grouping, name: str, settings: PlotSettings) -> Chart:
    values = of_measure(inputs, name)
    first = next(iter(values.values()))
    title = f"{full_name(first.measure)}, by {grouping.by}"
    sizes, means = means_by(grouping, values)
    if not sizes:
        return missing(inputs, settings, "segments", title, "No query has a value for this measure.", queries=first.queries)
    warning = f"; * fewer than {MIN_QUERIES} queries" if any(size < MIN_QUERIES for size in sizes.values()) else ""
    notes = [where(inputs, first.queries), f"means of each segment, the lowest first{warning}"]
    if len(sizes) < len(grouping.segments):
        notes.append(f"the {len(sizes)} largest of {len(grouping.segments):,} segments")
    heat = _heatmap(settings.medium, sizes, means, values)
    return heatmap_chart(settings.medium, part_name("segments", name, settings), title, notes, str(first.measure), heat)


def _heatmap(medium: Medium, sizes: dict[str, int], means: FloatArray, values: dict[str, MeasureResult]) -> Heatmap:
    """The heat map, with the longer dimension as rows."""
    first = next(iter(values.values()))
    cells = np.vstack([means, [value.value for value in values.values()]])
    names = zip(medium.names(list(sizes), 12 * medium.text), sizes.values(), strict=True)
    labels = [
        *(f"{name} (n = {size:,}){'*' if size < MIN_QUERIES else ''}" for name, size in names),
        f"all queries (n = {first.queries:,})",
    ]
    if len(values) > max(len(labels), _UPRIGHT):
        return Heatmap(list(values), labels, cells.T.tolist(), transposed=True)
    return Heatmap(labels, list(values), cells.tolist())


_TITLE = "Differences between two systems by query"
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class QueryDifferences:
    """The difference of two systems on each query, the largest first; `interval` is that of their (weighted) mean."""

    system: str
    other: str
    queries: tuple[str, ...]
    sizes: FloatArray
    mean: float
    interval: Interval | None

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers of queries on which it is higher, equal and lower."""
        higher, lower = int((self.sizes > 0).sum()), int((self.sizes < 0).sum())
        return higher, len(self.sizes) - higher - lower, lower


def differences(inputs: AnalysisInput, settings: PlotSettings) -> list[Chart]:
    """One chart per measure."""
    names = means_of(inputs, settings)
    why = "There is only one system; a difference needs two." if len(inputs.systems) < 2 else ""
    if why or not names:
        return [missing(inputs, settings, "differences", _TITLE, why or NO_MEAN)]
    return [_chart(inputs, name, settings) for name in names]


def query_differences(inputs: AnalysisInput, measure: str, settings: PlotSettings) -> QueryDifferences:
    """The differences on the queries that both systems have."""
    values = of_measure(inputs, measure)
    system, other = _pair(inputs, values, settings)
    mine, theirs = values[system].per_query, values[other].per_query
    queries = sorted(query for query in mine if query in theirs)
    sizes = apart(np.array([mine[query] for query in queries]), np.array([theirs[query] for query in queries]))
    order = sorted(range(len(queries)), key=lambda at: (-sizes[at], queries[at]))
    known = inputs.result.weights
    weights = None if known is None else weight_column(known[query] for query in queries)
    mean = weighted_mean(sizes, weights) if queries else 0.0
    interval = _interval(sizes, weights, values[system].measure)
    return QueryDifferences(system, other, tuple(queries[at] for at in order), sizes[order], mean, interval)


def _interval(sizes: FloatArray, weights: FloatArray | None, measure: Measure) -> Interval | None:
    """The interval of `compare`: differences are in the order of query ids."""
    low, high = measure.range
    within = (low - high, high - low)
    return mean_interval(sizes, within=within, weights=weights) if enough_differ(sizes, weights) else None


def _pair(inputs: AnalysisInput, values: dict[str, MeasureResult], settings: PlotSettings) -> tuple[str, str]:
    """The given systems; else the best one, and the system that it builds on, the baseline, or the best of the others."""
    other = checked_system(inputs, settings.against) if settings.against else None
    system = checked_system(inputs, settings.system) if settings.system else None
    system = system or _best(values, other)
    built_on = next((system_run.builds_on for system_run in inputs.system_runs if system_run.name == system), None)
    usual = built_on or inputs.decision_settings.baseline or default_baseline(inputs)
    other = other or (usual if usual is not None and usual != system else _best(values, system))
    if system == other:
        raise UsageError("a system cannot be compared with itself", fix="choose two systems with --system and --against")
    return system, other


def _best(values: dict[str, MeasureResult], other: str | None) -> str:
    return best_system({name: value for name, value in values.items() if name != other})


def _chart(inputs: AnalysisInput, name: str, settings: PlotSettings) -> Chart:
    gaps, medium = query_differences(inputs, name, settings), settings.medium
    measure = of_measure(inputs, name)[gaps.system].measure
    system, other = medium.names([gaps.system, gaps.other], 14 * medium.text)
    title = f"{system} minus {other} on each query, {full_name(measure)}"
    if not gaps.queries:
        return missing(inputs, settings, "differences", title, "The two systems have no query in common.", queries=0)
    higher, equal, lower = gaps.counts
    counts = f"{system} is higher on {higher:,}, equal on {equal:,} and lower on {lower:,} queries; {_mean(gaps, measure)}"
    notes = [where(inputs, len(gaps.queries)), counts, *_extreme_queries(gaps, medium)]
    keys = (f"{system} higher ({higher:,})", f"{other} higher ({lower:,})", f"equal ({equal:,})")
    sizes = gaps.sizes.tolist()
    chart = part_name("differences", name, settings)
    return differences_chart(medium, chart, title, notes, sizes, keys, f"difference in {measure}")


def _mean(gaps: QueryDifferences, measure: Measure) -> str:
    words = f"mean {'+' if gaps.mean > 0 else ''}{format_points(gaps.mean, measure)}"
    if gaps.interval is None:
        return words
    low, high = (format_points(end, measure).removesuffix(" pp") for end in gaps.interval)
    return f"{words} (95% CI [{low}, {high}]; {describe_interval_method()})"


def _extreme_queries(gaps: QueryDifferences, medium: Medium) -> list[str]:
    """The queries with the largest differences."""
    pairs = list(zip(gaps.queries, gaps.sizes.tolist(), strict=True))
    gains, losses = [pair for pair in pairs if pair[1] > 0][:_SHOWN], [pair for pair in pairs[::-1] if pair[1] < 0][:_SHOWN]
    parts = [
        f"{words}: {_query_list(extremes, medium)}"
        for words, extremes in (("largest gains", gains), ("largest losses", losses))
        if extremes
    ]
    return ["; ".join(parts)] if parts else []


def _query_list(extremes: list[tuple[str, float]], medium: Medium) -> str:
    return ", ".join(f"{fitted(medium.clean(query), 8.5 * medium.text, medium.text)} {size:+.2f}" for query, size in extremes)


RECALLS = tuple(at / 10 for at in range(11))


def recall(inputs: AnalysisInput, settings: PlotSettings) -> list[Chart]:
    """R@k for k from 1 to 100; k is on a logarithmic scale."""
    values = measure_results(inputs, [f"R@{depth}" for depth in DEPTHS])
    title = f"Recall against depth, R@k: {parse_measure('R@1').title}"
    notes = [where(inputs, _queries(values)), f"mean share of relevant documents in the top k; {_depth_note(inputs)}"]
    return [recall_chart(settings.medium, title, notes, _lists(inputs, values))]


def precision_recall(inputs: AnalysisInput, settings: PlotSettings) -> list[Chart]:
    """IPrec at the 11 points 0, 0.1, … 1."""
    values = measure_results(inputs, [f"IPrec@{level:g}" for level in RECALLS])
    lists = _lists(inputs, values)
    curves = [Curve(name, RECALLS, ys, sum(ys) / len(ys), range(len(RECALLS))) for name, ys in lists.items()]
    title = f"Precision against recall, IPrec@r: {parse_measure('IPrec@0.1').title}"
    notes = [where(inputs, _queries(values)), "the mean of the best precision at a recall of r or beyond, at 11 points"]
    ticks = tuple(Tick(level, f"{level:g}") for level in RECALLS[:: 2 if settings.medium.narrow else 1])
    axes = Axis(Scale(-0.02, 1.02), "recall r", ticks), curve_value_axis(curves, "IPrec@r")
    return [curve_chart(settings.medium, "precision-recall", title, notes, curves, axes, "mean of 11")]


def _lists(inputs: AnalysisInput, values: MeasureResults) -> dict[str, list[float]]:
    return {name: [value.value for value in values[name].values()] for name in systems_of(inputs)}


def _queries(values: MeasureResults) -> int:
    return max(measure.queries for value in values.values() for measure in value.values())


def _depth_note(inputs: AnalysisInput) -> str:
    """The depth of the rankings, beyond which a curve is flat."""
    depths = [int(np.diff(inputs.runs[name].offsets).max(initial=0)) for name in inputs.systems]
    return f"rankings have up to {pluralise(max(depths), 'document')}"


@dataclass(frozen=True, slots=True)
class PlotFile:
    """A file's name without suffix and its content; `missing` is the reason if there was nothing to draw."""

    name: str
    content: bytes = field(repr=False)
    missing: str = ""


def draw_plots(inputs: AnalysisInput, kinds: Sequence[str], settings: PlotSettings, format: Format) -> list[PlotFile]:
    """A file for each chart of these kinds."""
    with figure_style():
        charts = _charts(inputs, kinds, settings)
        return [PlotFile(chart.name, saved(chart, format, dpi=settings.dpi), chart.missing) for chart in charts]


def draw_pdf(inputs: AnalysisInput, kinds: Sequence[str], settings: PlotSettings) -> PlotFile:
    """All charts of these kinds as one PDF file; charts without data are left out unless all are."""
    with figure_style():
        charts = _charts(inputs, kinds, settings)
        drawn = [chart for chart in charts if not chart.missing] or charts
        missing = "; ".join(dict.fromkeys(chart.missing for chart in charts if chart.missing))
        return PlotFile("plots", pages(drawn, dpi=settings.dpi, title=inputs.name), missing)


def _charts(inputs: AnalysisInput, kinds: Sequence[str], settings: PlotSettings) -> list[Chart]:
    return [chart for kind in kinds for chart in PLOT_KINDS[kind](inputs, settings)]


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
