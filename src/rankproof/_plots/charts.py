"""All kinds of charts by name, and charts as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rankproof._analysis.inputs import AnalysisInput
from rankproof._charts.figure import Format, figure_style, pages, saved
from rankproof._charts.model import Chart
from rankproof._plots.curves import precision_recall, recall
from rankproof._plots.differences import differences
from rankproof._plots.inputs import PlotSettings
from rankproof._plots.quality import bars, latency, pareto
from rankproof._plots.segments import segments

PLOT_KINDS: dict[str, Callable[[AnalysisInput, PlotSettings], list[Chart]]] = {
    "bars": bars,
    "pareto": pareto,
    "latency": latency,
    "recall": recall,
    "differences": differences,
    "segments": segments,
    "precision-recall": precision_recall,
}


@dataclass(frozen=True, slots=True)
class PlotFile:
    """A file's name without suffix and its content; `missing` is the reason if there was nothing to draw."""

    name: str
    content: bytes = field(repr=False)
    missing: str = ""


def draw_plots(inputs: AnalysisInput, kinds: Sequence[str], settings: PlotSettings, format: Format) -> list[PlotFile]:
    """A file for each chart of these kinds."""
    with figure_style():
        charts = [chart for kind in kinds for chart in PLOT_KINDS[kind](inputs, settings)]
        return [PlotFile(chart.name, saved(chart, format, dpi=settings.dpi), chart.missing) for chart in charts]


def draw_pdf(inputs: AnalysisInput, kinds: Sequence[str], settings: PlotSettings) -> PlotFile:
    """All charts of these kinds as one PDF file; charts without data are left out unless all are."""
    with figure_style():
        charts = [chart for kind in kinds for chart in PLOT_KINDS[kind](inputs, settings)]
        drawn = [chart for chart in charts if not chart.missing] or charts
        missing = "; ".join(dict.fromkeys(chart.missing for chart in charts if chart.missing))
        return PlotFile("plots", pages(drawn, dpi=settings.dpi, title=inputs.name), missing)
