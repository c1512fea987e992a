"""Differences between two systems by query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankproof._analysis.inputs import AnalysisInput, checked_system
from rankproof._analysis.values import best_system, format_points, resample_count
from rankproof._charts.differences import differences_chart
from rankproof._charts.model import Chart, Medium
from rankproof._charts.text import fitted
from rankproof._data.arrays import FloatArray
from rankproof._evaluation.result import MeasureResult
from rankproof._plots.inputs import NO_MEAN, PlotSettings, full_name, means_of, missing, of_measure, part_name, where
from rankproof._statistics.intervals import Interval, describe_interval_method, mean_interval
from rankproof._statistics.paired import differences as apart
from rankproof.errors import UsageError
from rankproof.measures._base import Measure

_TITLE = "Differences between two systems by query"
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class QueryDifferences:
    """The difference of two systems on each query, the largest first; `interval` is that of the mean."""

    one: str
    other: str
    queries: tuple[str, ...]
    sizes: FloatArray
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
    one, other = _pair(inputs, values, settings)
    mine, theirs = values[one].per_query, values[other].per_query
    queries = sorted(query for query in mine if query in theirs)
    sizes = apart(np.array([mine[query] for query in queries]), np.array([theirs[query] for query in queries]))
    order = sorted(range(len(queries)), key=lambda at: (-sizes[at], queries[at]))
    return QueryDifferences(one, other, tuple(queries[at] for at in order), sizes[order], _interval(sizes, values[one].measure))


def _interval(sizes: FloatArray, measure: Measure) -> Interval | None:
    """The interval of `compare`: differences are in the order of query ids."""
    low, high = measure.range
    within = (low - high, high - low)
    return mean_interval(sizes, resamples=resample_count(len(sizes)), within=within) if len(sizes) else None


def _pair(inputs: AnalysisInput, values: dict[str, MeasureResult], settings: PlotSettings) -> tuple[str, str]:
    """The given systems; else the best one, and its baseline or the best of the others."""
    other = checked_system(inputs, settings.against) if settings.against else None
    one = checked_system(inputs, settings.system) if settings.system else None
    one = one or _best(values, other)
    baseline = next((system_run.baseline for system_run in inputs.system_runs if system_run.name == one), None)
    other = other or baseline or _best(values, one)
    if one == other:
        raise UsageError("a system cannot be compared with itself", fix="choose two systems with --system and --against")
    return one, other


def _best(values: dict[str, MeasureResult], other: str | None) -> str:
    return best_system({name: one for name, one in values.items() if name != other})


def _chart(inputs: AnalysisInput, name: str, settings: PlotSettings) -> Chart:
    gaps, medium = query_differences(inputs, name, settings), settings.medium
    measure = of_measure(inputs, name)[gaps.one].measure
    one, other = medium.names([gaps.one, gaps.other], 14 * medium.text)
    title = f"{one} minus {other} on each query, {full_name(measure)}"
    if not gaps.queries:
        return missing(inputs, settings, "differences", title, "The two systems have no query in common.", queries=0)
    higher, equal, lower = gaps.counts
    counts = f"{one} is higher on {higher:,}, equal on {equal:,} and lower on {lower:,} queries; {_mean(gaps, measure)}"
    notes = [where(inputs, len(gaps.queries)), counts, *_extreme_queries(gaps, medium)]
    keys = (f"{one} higher ({higher:,})", f"{other} higher ({lower:,})", f"equal ({equal:,})")
    sizes = gaps.sizes.tolist()
    chart = part_name("differences", name, settings)
    return differences_chart(medium, chart, title, notes, sizes, keys, f"difference in {measure}")


def _mean(gaps: QueryDifferences, measure: Measure) -> str:
    mean = float(gaps.sizes.mean())
    n = len(gaps.sizes)
    words = f"mean {'+' if mean > 0 else ''}{format_points(mean, measure)}"
    if gaps.interval is None:
        return words
    low, high = (format_points(end, measure).removesuffix(" pp") for end in gaps.interval)
    return f"{words} (95% interval {low} to {high}; {describe_interval_method('bca', resample_count(n), n, n)})"


def _extreme_queries(gaps: QueryDifferences, medium: Medium) -> list[str]:
    """The queries with the largest differences."""
    pairs = list(zip(gaps.queries, gaps.sizes.tolist(), strict=True))
    gains, losses = [one for one in pairs if one[1] > 0][:_SHOWN], [one for one in pairs[::-1] if one[1] < 0][:_SHOWN]
    parts = [
        f"{words}: {_query_list(found, medium)}"
        for words, found in (("largest gains", gains), ("largest losses", losses))
        if found
    ]
    return ["; ".join(parts)] if parts else []


def _query_list(found: list[tuple[str, float]], medium: Medium) -> str:
    return ", ".join(f"{fitted(medium.clean(query), 8.5 * medium.text, medium.text)} {size:+.2f}" for query, size in found)
