"""A comparison of tokenizers as pictures: quality, latency, both against each other, typing errors, languages."""

from __future__ import annotations

from collections.abc import Callable

from ..lab.comparing.comparison import Comparison
from .canvas import drawing, saved
from .sheet import Chart, PlotSettings
from .tokenizers_conditions import languages, typos
from .tokenizers_quality import quality
from .tokenizers_time import latency, pareto

Draw = Callable[[Comparison, PlotSettings], Chart]


def tokenizer_pictures(comparison: Comparison, settings: PlotSettings | None = None) -> dict[str, bytes]:
    """The charts that there is something to draw in, as PNG files by their names."""
    settings = settings or PlotSettings()
    with drawing():
        charts = [draw(comparison, settings) for draw in _charts(comparison)]
        return {chart.name: saved(chart.figure, "png", dpi=settings.dpi, title=chart.title) for chart in charts}


def _charts(comparison: Comparison) -> list[Draw]:
    found: list[Draw] = [quality, latency, pareto]
    found += [typos] if len(comparison.edits) > 1 else []
    return found + ([languages] if len(comparison.languages) > 1 else [])
