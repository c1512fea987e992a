"""Every kind of chart by name, and charts as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .._charts.figure import Format, figure_style, pages, saved
from .._charts.model import Chart
from ..analysis.evidence import Evidence
from .curves import precision_recall, recall
from .differences import differences
from .inputs import PlotSettings
from .quality import bars, latency, pareto
from .segments import segments

KINDS: dict[str, Callable[[Evidence, PlotSettings], list[Chart]]] = {
    "bars": bars,
    "pareto": pareto,
    "latency": latency,
    "recall": recall,
    "differences": differences,
    "segments": segments,
    "precision-recall": precision_recall,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A file's name without suffix and its content; `missing` says why its chart could not be drawn."""

    name: str
    content: bytes = field(repr=False)
    missing: str = ""


def pictures(evidence: Evidence, kinds: Sequence[str], settings: PlotSettings, format: Format) -> list[Picture]:
    """A file for each chart of these kinds."""
    with figure_style():
        charts = [chart for kind in kinds for chart in KINDS[kind](evidence, settings)]
        return [Picture(chart.name, saved(chart, format, dpi=settings.dpi), chart.missing) for chart in charts]


def book(evidence: Evidence, kinds: Sequence[str], settings: PlotSettings) -> Picture:
    """All charts of these kinds as one PDF file; those without anything to draw are left out where another has."""
    with figure_style():
        charts = [chart for kind in kinds for chart in KINDS[kind](evidence, settings)]
        drawn = [chart for chart in charts if not chart.missing] or charts
        missing = "; ".join(dict.fromkeys(chart.missing for chart in charts if chart.missing))
        return Picture("plots", pages(drawn, dpi=settings.dpi, title=evidence.name), missing)
