"""Recall against depth, and precision against recall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import MeasureResults, measure_results
from rankproof._charts.curves import Curve, curve_chart
from rankproof._charts.model import Axis, Chart, Tick, value_axis
from rankproof._charts.scale import Scale
from rankproof._data.text import pluralise
from rankproof._plots.inputs import PlotSettings, systems_of, where
from rankproof.measures._parse import parse_measure

DEPTHS = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)
RECALLS = tuple(at / 10 for at in range(11))
_MARKED_DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100)


def recall(inputs: AnalysisInput, settings: PlotSettings) -> list[Chart]:
    """R@k for k from 1 to 100; k is on a logarithmic scale."""
    values = measure_results(inputs, [f"R@{depth}" for depth in DEPTHS])
    lists = _lists(inputs, values)
    curves = [Curve(name, DEPTHS, ys, ys[-1], [DEPTHS.index(depth) for depth in _MARKED_DEPTHS]) for name, ys in lists.items()]
    title = f"Recall against depth, R@k: {parse_measure('R@1').title}"
    notes = [where(inputs, _queries(values)), f"mean share of relevant documents in the top k; {_depth_note(inputs)}"]
    ticks = tuple(Tick(depth, str(depth)) for depth in _MARKED_DEPTHS)
    axes = Axis(Scale(0.93, 107, log=True), "k, number of documents", ticks), _value_axis(curves, "R@k")
    return [curve_chart(settings.medium, "recall", title, notes, curves, axes, "R@100")]


def precision_recall(inputs: AnalysisInput, settings: PlotSettings) -> list[Chart]:
    """IPrec at the 11 points 0, 0.1, … 1."""
    values = measure_results(inputs, [f"IPrec@{level:g}" for level in RECALLS])
    lists = _lists(inputs, values)
    curves = [Curve(name, RECALLS, ys, sum(ys) / len(ys), range(len(RECALLS))) for name, ys in lists.items()]
    title = f"Precision against recall, IPrec@r: {parse_measure('IPrec@0.1').title}"
    notes = [where(inputs, _queries(values)), "the mean of the best precision at a recall of r or beyond, at 11 points"]
    ticks = tuple(Tick(level, f"{level:g}") for level in RECALLS[:: 2 if settings.medium.narrow else 1])
    axes = Axis(Scale(-0.02, 1.02), "recall r", ticks), _value_axis(curves, "IPrec@r")
    return [curve_chart(settings.medium, "precision-recall", title, notes, curves, axes, "mean of 11")]


def _lists(inputs: AnalysisInput, values: MeasureResults) -> dict[str, list[float]]:
    return {name: [one.value for one in values[name].values()] for name in systems_of(inputs)}


def _value_axis(curves: Sequence[Curve], name: str) -> Axis:
    most = max(max(curve.ys) for curve in curves)
    return value_axis(Scale(0, 1.02 if most > 0.6 else max(1.15 * most, 0.01)), name)


def _queries(values: MeasureResults) -> int:
    return max(one.queries for each in values.values() for one in each.values())


def _depth_note(inputs: AnalysisInput) -> str:
    """The depth of the rankings, beyond which a curve is flat."""
    depths = [int(np.diff(inputs.runs[name].offsets).max(initial=0)) for name in inputs.systems]
    return f"rankings have up to {pluralise(max(depths), 'document')}"
