"""The charts of `rankproof plot` by name, one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rankproof._registry import Component, Registry

if TYPE_CHECKING:
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._charts.model import Chart
    from rankproof._plots.settings import PlotSettings

DrawCharts = Callable[["AnalysisInput", "PlotSettings"], "list[Chart]"]

_CHARTS = "rankproof._plots.charts"
PLOT_KINDS: Registry[DrawCharts] = Registry(
    "chart",
    "rankproof.plots",
    (
        Component("bars", f"{_CHARTS}:bars", "one panel per measure, one bar per system, 95% confidence intervals"),
        Component(
            "pareto", f"{_CHARTS}:pareto", "quality against p50 latency, with a line through the systems of the Pareto front"
        ),
        Component("latency", f"{_CHARTS}:latency", "left: mean time of each stage, stacked; right: p50 and p95 of the total"),
        Component("recall", f"{_CHARTS}:recall", "R@k for k from 1 to 100"),
        Component("differences", f"{_CHARTS}:differences", "two systems, query by query, with the mean and its interval"),
        Component("segments", f"{_CHARTS}:segments", "a heat map of segments and systems; * marks fewer than 10 queries"),
        Component("precision-recall", f"{_CHARTS}:precision_recall", "interpolated precision at 11 recall levels"),
    ),
)
