"""Curves over all systems: recall against the number of documents looked at, and precision against recall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._charts.curves import Curve, curve_chart
from .._charts.model import Axis, Chart, Tick, value_axis
from .._charts.scale import Scale
from ..analysis.evidence import Evidence
from ..analysis.measured import Values, measured
from ..analysis.wording import counted
from ..measures import parse
from .inputs import PlotSettings, systems_of, where

DEPTHS = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)
RECALLS = tuple(at / 10 for at in range(11))
_MARKED = (1, 2, 3, 5, 10, 20, 50, 100)


def recall(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """R@k for k from 1 to 100; k is on a logarithmic scale."""
    values = measured(evidence, [f"R@{depth}" for depth in DEPTHS])
    lists = _lists(evidence, values)
    curves = [Curve(name, DEPTHS, ys, ys[-1], [DEPTHS.index(depth) for depth in _MARKED]) for name, ys in lists.items()]
    title = f"Recall against depth, R@k: {parse('R@1').title}"
    notes = [where(evidence, _queries(values)), f"the mean of the share of relevant documents in the top k; {_reach(evidence)}"]
    ticks = tuple(Tick(depth, str(depth)) for depth in _MARKED)
    axes = Axis(Scale(0.93, 107, log=True), "k, documents looked at", ticks), _value_axis(curves, "R@k")
    return [curve_chart(settings.medium, "recall", title, notes, curves, axes, "R@100")]


def precision_recall(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """IPrec at the 11 points 0, 0.1, … 1."""
    values = measured(evidence, [f"IPrec@{level:g}" for level in RECALLS])
    lists = _lists(evidence, values)
    curves = [Curve(name, RECALLS, ys, sum(ys) / len(ys), range(len(RECALLS))) for name, ys in lists.items()]
    title = f"Precision against recall, IPrec@r: {parse('IPrec@0.1').title}"
    notes = [where(evidence, _queries(values)), "the mean of the best precision at a recall of r or beyond, at 11 points"]
    ticks = tuple(Tick(level, f"{level:g}") for level in RECALLS[:: 2 if settings.medium.narrow else 1])
    axes = Axis(Scale(-0.02, 1.02), "recall r", ticks), _value_axis(curves, "IPrec@r")
    return [curve_chart(settings.medium, "precision-recall", title, notes, curves, axes, "mean of 11")]


def _lists(evidence: Evidence, values: Values) -> dict[str, list[float]]:
    return {name: [one.value for one in values[name].values()] for name in systems_of(evidence)}


def _value_axis(curves: Sequence[Curve], name: str) -> Axis:
    most = max(max(curve.ys) for curve in curves)
    return value_axis(Scale(0, 1.02 if most > 0.6 else max(1.15 * most, 0.01)), name)


def _queries(values: Values) -> int:
    return max(one.queries for each in values.values() for one in each.values())


def _reach(evidence: Evidence) -> str:
    """How deep the rankings go: beyond its end a curve is flat."""
    depths = [int(np.diff(evidence.runs[name].offsets).max(initial=0)) for name in evidence.systems]
    return f"rankings hold up to {counted(max(depths), 'document')}"
