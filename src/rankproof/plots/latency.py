"""Where the time of a query goes: a stack of stages for each system, and how the whole spreads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..analysis.evidence import Evidence
from ..analysis.latency import stage_means
from ..experiment.rung import Rung
from ..views.ladder_grid import shown_time
from .canvas import MIDDLE, SMALL
from .lettering import fitted_names
from .palette import BLACK, BLUE, GREY, ORANGE, SKY, VERMILLION
from .scale import time_axis
from .sheet import Chart, PlotSettings, empty, legend_above, sheet, where

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

NO_TIMES = "No times are known: run files hold rankings alone. Name a results folder that `rankproof run` wrote."
_TITLE = "Latency of a query by stage"
_STYLES = {"embed": (SKY, ""), "search": (BLUE, ""), "rerank": (ORANGE, "///"), "generate": (VERMILLION, "xxx")}
_ROW = 0.27


def latency(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """The mean of each stage, stacked; beside it p50 and p95 of the whole, where small times stay readable."""
    rungs = evidence.rungs
    if not any(len(rung.times["total"]) for rung in rungs):
        return [empty("latency", settings, _TITLE, [where(evidence, len(evidence.result.queries))], NO_TIMES)]
    timed = len(rungs[0].times["total"])
    first, second = ("above", "below") if settings.narrow else ("left", "right")
    how = f"one query at a time, after a warm-up; {first}: means, which add up; {second}: p50 and p95 of the whole"
    panels = (2, 1) if settings.narrow else (1, 2)
    figure = sheet(settings, _TITLE, [where(evidence, timed), how], 0.3 + panels[0] * (0.85 + _ROW * max(len(rungs), 2)))
    stack, spread = figure.subplots(*panels, sharey=True)
    room = settings.width - 1.7 if settings.narrow else settings.width / 2 - 0.9
    drawn = {**_stacked(stack, rungs), **_spread(spread, rungs, room)}
    legend_above(figure, list(drawn.values()), list(drawn))
    for axis in (stack, spread)[: panels[0]]:
        axis.set_yticks(range(len(rungs)), fitted_names([rung.name for rung in rungs], room=1.6), size=MIDDLE)
    stack.set_ylim(len(rungs) - 0.4, -0.6)
    return [Chart("latency", _TITLE, figure)]


def _stacked(axis: Axes, rungs: tuple[Rung, ...]) -> dict[str, Artist]:
    """What was drawn, by name."""
    means = [stage_means(rung) for rung in rungs]
    used = [part for part in means[0] if any(each[part] for each in means)]
    left = [0.0] * len(rungs)
    drawn: dict[str, Artist] = {}
    for part in used:
        sizes = [each[part] for each in means]
        colour, hatch = _STYLES[part]
        bars = axis.barh(range(len(rungs)), sizes, 0.68, left, color=colour, hatch=hatch, edgecolor=BLACK, linewidth=0.5)
        drawn[part] = bars[0]
        left = [start + size for start, size in zip(left, sizes, strict=True)]
    most = max(*left, 1e-9)
    for at, end in enumerate(left):
        axis.text(end + 0.02 * most, at, shown_time(end), va="center", size=SMALL)
    axis.set_xlim(0, most * 1.2)
    axis.locator_params(axis="x", nbins=6)
    axis.set_xlabel("mean milliseconds a query")
    axis.grid(axis="x")
    axis.tick_params(axis="y", length=0)
    return drawn


def _spread(axis: Axes, rungs: tuple[Rung, ...], room: float) -> dict[str, Artist]:
    """What was drawn, by name."""
    times = [rung.time_of("total") for rung in rungs]
    low, high = ([max(time[which], 1e-6) for time in times] for which in ("p50", "p95"))
    places = range(len(rungs))
    axis.hlines(places, low, high, color=GREY, lw=1.5, zorder=1)
    (middle,) = axis.plot(low, places, "o", color=BLUE, ms=5)
    (late,) = axis.plot(high, places, "D", color=VERMILLION, mfc="white", ms=5)
    for at, time in enumerate(times):
        text = f"{shown_time(time['p50'])} / {shown_time(time['p95'])}"
        axis.annotate(text, (high[at], at), (7, 0), textcoords="offset points", va="center", size=SMALL)
    time_axis(axis, [*low, *high], width=room, after=2.6)
    axis.set_xlabel("milliseconds a query, p50 / p95")
    axis.grid(axis="x")
    axis.tick_params(axis="y", length=0)
    return {"p50": middle, "p95": late}
