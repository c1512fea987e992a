"""What a comparison's systems cost: the time of a query by part, and quality against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..lab.comparing.comparison import Comparison
from ..lab.comparing.entry import SLOW_MS, Entry
from ..lab.comparing.remarks import is_conclusive
from ..measures import parse
from ..views.ladder_grid import shown_time
from .canvas import MIDDLE, SMALL
from .lettering import fitted_names
from .palette import BLACK, BLUE, GREY, SKY, VERMILLION, style_of
from .placing import Point, placed
from .scale import time_axis
from .sheet import Chart, PlotSettings, full_name, legend_above, sheet
from .tokenizers_quality import hatching, how, where

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_ROW, _HEIGHT = 0.27, 3.9
_LINE = f"{SLOW_MS:.0f} ms"


def latency(comparison: Comparison, settings: PlotSettings) -> Chart:
    """Embedding and retrieval stacked, in means that add up; beside it p50 and p95 of the whole, and where slow begins."""
    entries = comparison.under(comparison.first)
    title = "Latency of a query: embedding and retrieval"
    first, second = ("above", "below") if settings.narrow else ("left", "right")
    about = [
        f"{where(comparison)}, {comparison.store}",
        f"one query at a time, after a warm-up; {first}: means, which add up; {second}: p50 and p95 of the whole",
    ]
    panels = (2, 1) if settings.narrow else (1, 2)
    figure = sheet(settings, title, about, 0.3 + panels[0] * (0.85 + _ROW * max(len(entries), 2)))
    stack, spread = figure.subplots(*panels, sharey=True)
    drawn = {**_stacked(stack, entries), **_spread(spread, entries, settings.width / panels[1] - 0.9)}
    legend_above(figure, list(drawn.values()), list(drawn))
    for axis in (stack, spread)[: panels[0]]:
        axis.set_yticks(range(len(entries)), fitted_names([entry.system for entry in entries], room=1.6), size=MIDDLE)
    stack.set_ylim(len(entries) - 0.4, -0.6)
    return Chart("latency", title, figure)


def _stacked(axis: Axes, entries: Sequence[Entry]) -> dict[str, Artist]:
    """What was drawn, by name."""
    parts = {"embedding": ("embed", SKY), "retrieval": ("search", BLUE)}
    left = np.zeros(len(entries))
    drawn: dict[str, Artist] = {}
    for name, (part, colour) in parts.items():
        sizes = np.array([float(entry.ms(part).mean()) for entry in entries])
        bars = axis.barh(range(len(entries)), sizes, 0.68, left, color=colour, edgecolor=BLACK, linewidth=0.5)
        drawn[name], left = bars[0], left + sizes
    most = max(float(left.max()), 1e-9)
    for at, end in enumerate(left.tolist()):
        axis.text(end + 0.02 * most, at, shown_time(end), va="center", size=SMALL)
    axis.set_xlim(0, most * 1.22)
    if most > SLOW_MS:
        axis.axvline(SLOW_MS, color=VERMILLION, lw=1.2, ls="--")
    axis.locator_params(axis="x", nbins=5)
    axis.set_xlabel("mean milliseconds a query")
    _plain(axis)
    return drawn


def _spread(axis: Axes, entries: Sequence[Entry], room: float) -> dict[str, Artist]:
    """What was drawn, by name."""
    low, high = ([max(float(np.percentile(entry.ms("total"), at)), 1e-6) for entry in entries] for at in (50, 95))
    places = range(len(entries))
    axis.hlines(places, low, high, color=GREY, lw=1.5, zorder=1)
    (middle,) = axis.plot(low, places, "o", color=BLUE, ms=5)
    (late,) = axis.plot(high, places, "D", color=VERMILLION, mfc="white", ms=5)
    slow = axis.axvline(SLOW_MS, color=VERMILLION, lw=1.2, ls="--", zorder=0)
    for at, entry in enumerate(entries):
        count = int(entry.slow.sum())
        text = f"{count} slow" if count else ""
        axis.annotate(text, (high[at], at), (7, 0), textcoords="offset points", va="center", size=SMALL)
    time_axis(axis, [*low, *high, SLOW_MS], width=room, after=2.6)
    axis.set_xlabel("milliseconds a query, p50 / p95")
    _plain(axis)
    return {"p50": middle, "p95": late, f"{_LINE}: slower feels slow": slow}


def _plain(axis: Axes) -> None:
    axis.grid(axis="x")
    axis.tick_params(axis="y", length=0)


def pareto(comparison: Comparison, settings: PlotSettings) -> Chart:
    """The main measure against the median time of a query."""
    entries, measure = comparison.under(comparison.first), comparison.main
    title = f"{full_name(parse(measure))}, against latency"
    about = [f"{where(comparison)}, {comparison.store}", "; ".join((how(entries), *hatching(entries)))]
    figure = sheet(settings, title, about, _HEIGHT)
    axis = figure.subplots()
    times = [max(float(np.median(entry.ms("total"))), 1e-6) for entry in entries]
    lines: list[tuple[Point, Point]] = []
    for at, (entry, time) in enumerate(zip(entries, times, strict=True)):
        style, span = style_of(at), entry.interval(measure)
        if span:
            axis.vlines(time, *span, color=style.colour, lw=0.9, alpha=0.6, zorder=2)
            lines.append(((time, span[0]), (time, span[1])))
        fill = style.colour if is_conclusive(entry) else "white"
        axis.plot(time, entry.mean(measure), style.marker, color=style.colour, mfc=fill, ms=7, mew=1.4, ls="", zorder=3)
    axis.set_xlabel("milliseconds a query, p50 (faster to the left)")
    axis.set_ylabel(f"{measure} (better upwards)")
    axis.grid()
    time_axis(axis, [*times, *([SLOW_MS] if max(times) > SLOW_MS / 10 else [])], width=settings.width - 0.8)
    if max(times) > SLOW_MS / 10:
        axis.axvline(SLOW_MS, color=VERMILLION, lw=1.2, ls="--", zorder=0)
    axis.margins(y=0.12)
    names = fitted_names([entry.system for entry in entries], size=SMALL, room=1.5)
    points = [(time, entry.mean(measure)) for time, entry in zip(times, entries, strict=True)]
    placed(axis, points, names, [False] * len(names), lines)
    return Chart("pareto", title, figure)
