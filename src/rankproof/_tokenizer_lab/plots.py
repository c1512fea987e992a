"""The charts of a comparison: quality, latency, quality against latency, typos, languages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rankproof._charts.curves import Curve, curve_chart
from rankproof._charts.figure import figure_style, saved
from rankproof._charts.heatmap import Heatmap, heatmap_chart
from rankproof._charts.latency import SystemTimes, TimeWords, latency_chart
from rankproof._charts.model import Axis, Chart, Scale, Tick, value_axis, value_scale
from rankproof._charts.pareto import ParetoAxes, ParetoPoint, pareto_chart
from rankproof._charts.rows import BarGroup, ValueRow, bar_chart
from rankproof._data.text import pluralise, query_range
from rankproof._plots.charts import latency_note
from rankproof._plots.settings import PlotSettings, full_name
from rankproof._statistics.intervals import describe_interval_method
from rankproof._tokenizer_lab.comparison import TokenizerComparison
from rankproof._tokenizer_lab.measured import SLOW_MS, MeasuredSystem, QueryCondition, column_name, is_conclusive
from rankproof.measures._parse import parse_measure

DrawChart = Callable[[TokenizerComparison, PlotSettings], Chart]
_APART = 0.035
"""The distance between the points of two systems on the axis of edits."""
_STAGES = {"embed": "embedding", "search": "retrieval"}


def draw_tokenizer_charts(comparison: TokenizerComparison, settings: PlotSettings | None = None) -> dict[str, bytes]:
    """All charts with content as PNG files, by name."""
    settings = settings or PlotSettings()
    with figure_style():
        charts = tokenizer_charts(comparison, settings)
        return {chart.name: saved(chart, "png", dpi=settings.dpi) for chart in charts}


def tokenizer_charts(comparison: TokenizerComparison, settings: PlotSettings) -> list[Chart]:
    """All charts with content."""
    drawings: list[DrawChart] = [quality, latency, pareto]
    drawings += [typos] if len(comparison.edits) > 1 else []
    drawings += [languages] if len(comparison.languages) > 1 else []
    return [draw(comparison, settings) for draw in drawings]


def quality(comparison: TokenizerComparison, settings: PlotSettings) -> Chart:
    """One panel per measure, one bar per system under the base condition."""
    entries, measures = comparison.at_condition(comparison.base_condition), comparison.measures
    best = ["the highest is darker and bold"] if len(entries) > 1 else []
    notes = [_where(comparison), "; ".join((_HOW, *best, *_hatching(entries)))]
    groups = []
    for name in measures:
        plain = column_name(name)
        groups.append(BarGroup(name if plain == name else f"{name} ({plain})", "", _rows(entries, name)))
    return bar_chart(settings.medium, "quality", f"Quality by {len(measures)} measures", notes, groups)


def _rows(entries: Sequence[MeasuredSystem], measure: str) -> list[ValueRow]:
    means = [entry.mean(measure) for entry in entries]
    top = max(means) if len(set(means)) > 1 else None
    return [
        ValueRow(entry.system, mean, f"{mean:.3f}", entry.interval(measure), best=mean == top, doubtful=not is_conclusive(entry))
        for entry, mean in zip(entries, means, strict=True)
    ]


def latency(comparison: TokenizerComparison, settings: PlotSettings) -> Chart:
    """Mean times of embedding and retrieval, stacked; p50 and p95 of the total; the limit of slow queries."""
    entries = comparison.at_condition(comparison.base_condition)
    rows = [_times(entry) for entry in entries]
    notes = [f"{_where(comparison)}, {comparison.store}; {_timed(entries)}", latency_note(settings)]
    words = TimeWords(_STAGES, SLOW_MS, f"{SLOW_MS:.0f} ms: limit of slow queries")
    return latency_chart(settings.medium, "latency", "Latency of a query: embedding and retrieval", notes, rows, words)


def _timed(entries: Sequence[MeasuredSystem]) -> str:
    return f"latency of {query_range(entry.timed for entry in entries)}"


def _times(entry: MeasuredSystem) -> SystemTimes:
    parts = {part: float(entry.ms(part).mean()) for part in _STAGES}
    p50, p95 = (max(float(np.percentile(entry.ms("total"), at)), 1e-6) for at in (50, 95))
    slow = int(entry.slow.sum())
    return SystemTimes(entry.system, parts, p50, p95, f"{slow} slow" if slow else "")


def pareto(comparison: TokenizerComparison, settings: PlotSettings) -> Chart:
    """The main measure against the median time of a query."""
    entries, measure = comparison.at_condition(comparison.base_condition), comparison.main
    title = f"{full_name(parse_measure(measure))}, against latency"
    notes = [f"{_where(comparison)}, {comparison.store}; {_timed(entries)}", "; ".join((_HOW, *_hatching(entries)))]
    times = [max(float(np.median(entry.ms("total"))), 1e-6) for entry in entries]
    systems = [
        ParetoPoint(entry.system, time, entry.mean(measure), entry.interval(measure), filled=is_conclusive(entry))
        for entry, time in zip(entries, times, strict=True)
    ]
    limit = SLOW_MS if max(times) > SLOW_MS / 10 else None
    axes = ParetoAxes("milliseconds per query, p50 (faster to the left)", f"{measure} (better upwards)", limit=limit)
    return pareto_chart(settings.medium, "pareto", title, "", notes, systems, axes)


def typos(comparison: TokenizerComparison, settings: PlotSettings) -> Chart:
    """One line per system over the number of random edits per query."""
    entries, measure = comparison.at_condition(comparison.base_condition), comparison.main
    title = f"{full_name(parse_measure(measure))}, with typos"
    notes = [_where(comparison), "; ".join((_HOW, "points are shifted to be visible", *_hatching(entries)))]
    curves = [_curve(comparison, system, at) for at, system in enumerate(comparison.systems)]
    side = _APART * len(curves) / 2 + 0.05
    ticks = tuple(Tick(edits, str(edits)) for edits in comparison.edits)
    x = Axis(Scale(comparison.edits[0] - side, comparison.edits[-1] + side), "random edits per query", ticks, grid=False)
    values = [end for curve in curves for span, y in zip(curve.spans, curve.ys, strict=True) for end in span or (y, y)]
    y = value_axis(value_scale(values), f"{measure} (better upwards)")
    return curve_chart(settings.medium, "typos", title, notes, curves, (x, y), f"at {pluralise(comparison.edits[-1], 'edit')}")


def _curve(comparison: TokenizerComparison, system: str, at: int) -> Curve:
    entries = [comparison.entry(system, QueryCondition(comparison.base_condition.language, edits)) for edits in comparison.edits]
    shift = _APART * (at - (len(comparison.systems) - 1) / 2)
    means = [entry.mean(comparison.main) for entry in entries]
    spans = [entry.interval(comparison.main) for entry in entries]
    xs = [edits + shift for edits in comparison.edits]
    return Curve(system, xs, means, means[-1], range(len(means)), spans, doubtful=not is_conclusive(entries[0]))


def languages(comparison: TokenizerComparison, settings: PlotSettings) -> Chart:
    """A heat map of languages and systems, with the mean over the languages as last row."""
    measure, edits = comparison.main, comparison.edits[0]
    title = f"{full_name(parse_measure(measure))}, by language"
    entries = comparison.at_condition(comparison.base_condition)
    how = "; ".join(("queries and documents of the same language", *_hatching(entries)))
    by_language = [comparison.at_condition(QueryCondition(name, edits)) for name in comparison.languages]
    cells = np.array([[entry.mean(measure) for entry in row] for row in by_language])
    rows = [*comparison.languages, "all languages"]
    heat = Heatmap(rows, comparison.systems, np.vstack([cells, cells.mean(axis=0)]).tolist())
    return heatmap_chart(settings.medium, "languages", title, [_where(comparison, condition=False), how], measure, heat)


def _where(comparison: TokenizerComparison, *, condition: bool = True) -> str:
    """The dataset, and the numbers of queries and repeats."""
    entries = comparison.at_condition(comparison.base_condition)
    repeats = max(entry.repeats for entry in entries)
    models = f", trained encoders: means of {repeats} repeats" if repeats > 1 else ""
    language = f", {comparison.base_condition.language}" if condition and len(comparison.languages) > 1 else ""
    return f"{comparison.dataset}{language}, n = {pluralise(len(entries[0].queries), 'query', 'queries')}{models}"


_HOW = f"whiskers: 95% intervals ({describe_interval_method()})"


def _hatching(entries: Sequence[MeasuredSystem]) -> list[str]:
    """The meaning of hatching, if a system is drawn with it."""
    return [] if all(map(is_conclusive, entries)) else ["hatched or hollow: not trained for retrieval"]
