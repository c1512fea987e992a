"""Heat map of query segments and systems."""

from __future__ import annotations

import math

import numpy as np

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.query_groups import Grouping, default_grouping, group_queries
from rankproof._analysis.segments import MIN_QUERIES
from rankproof._charts.heatmap import Heatmap, heatmap_chart
from rankproof._charts.model import Chart, Medium
from rankproof._data.arrays import FloatArray
from rankproof._evaluation.result import MeasureResult
from rankproof._plots.inputs import NO_MEAN, PlotSettings, full_name, means_of, missing, of_measure, part_name, where

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
    return [_chart(inputs, grouping, name, settings) for name in names]


def means_by(grouping: Grouping, values: dict[str, MeasureResult]) -> tuple[dict[str, int], FloatArray]:
    """The size of each segment, the lowest first, and its means by system; NaN without queries."""
    each = [one.per_query for one in values.values()]
    means, sizes = {}, {}
    for name, queries in grouping.segments.items():
        found = [[row[query] for query in queries if query in row] for row in each]
        sizes[name] = max(map(len, found))
        means[name] = [math.fsum(row) / len(row) if row else math.nan for row in found]
    largest = sorted((name for name in sizes if sizes[name]), key=lambda name: (-sizes[name], name))[:MOST]
    order = sorted(largest, key=lambda name: (float(np.nansum(means[name])), name))
    return {name: sizes[name] for name in order}, np.array([means[name] for name in order])


def _chart(inputs: AnalysisInput, grouping: Grouping, name: str, settings: PlotSettings) -> Chart:
    values = of_measure(inputs, name)
    one = next(iter(values.values()))
    title = f"{full_name(one.measure)}, by {grouping.by}"
    sizes, means = means_by(grouping, values)
    if not sizes:
        return missing(inputs, settings, "segments", title, "No query has a value for this measure.", queries=one.queries)
    warning = f"; * fewer than {MIN_QUERIES} queries" if any(size < MIN_QUERIES for size in sizes.values()) else ""
    notes = [where(inputs, one.queries), f"means of each segment, the lowest first{warning}"]
    if len(sizes) < len(grouping.segments):
        notes.append(f"the {len(sizes)} largest of {len(grouping.segments):,} segments")
    heat = _heatmap(settings.medium, sizes, means, values)
    return heatmap_chart(settings.medium, part_name("segments", name, settings), title, notes, str(one.measure), heat)


def _heatmap(medium: Medium, sizes: dict[str, int], means: FloatArray, values: dict[str, MeasureResult]) -> Heatmap:
    """The heat map, with the longer dimension as rows."""
    one = next(iter(values.values()))
    cells = np.vstack([means, [each.value for each in values.values()]])
    names = zip(medium.names(list(sizes), 12 * medium.text), sizes.values(), strict=True)
    labels = [
        *(f"{name} (n = {size:,}){'*' if size < MIN_QUERIES else ''}" for name, size in names),
        f"all queries (n = {one.queries:,})",
    ]
    if len(values) > max(len(labels), _UPRIGHT):
        return Heatmap(list(values), labels, cells.T.tolist(), transposed=True)
    return Heatmap(labels, list(values), cells.tolist())
