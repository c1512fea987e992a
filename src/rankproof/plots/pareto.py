"""Quality against latency: which systems no other beats in both."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from ..analysis.evidence import Evidence
from ..analysis.front import contenders, front
from ..analysis.measured import worth
from ..analysis.statistics.bootstrap import Interval
from ..analysis.statistics.many import intervals_of
from ..evaluation import MeasureResult
from ..measures import Measure
from .canvas import SMALL
from .intervals import how
from .latency import NO_TIMES
from .lettering import fitted, fitted_names
from .order import means_of, of_measure, part_name
from .palette import GREY, style_of
from .placing import Point, placed
from .scale import time_axis
from .sheet import Chart, PlotSettings, empty, full_name, sheet, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 10
_HEIGHT, _LINE = 3.8, 0.17


def pareto(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """A figure for each measure; systems on the front are filled, and a line joins them."""
    names = means_of(evidence, settings)
    if not any(len(rung.times["total"]) for rung in evidence.rungs) or not names:
        about = [where(evidence, len(evidence.result.queries))]
        return [empty("pareto", settings, "Quality against latency", about, NO_TIMES if names else "No measure is a mean.")]
    return [_chart(evidence, name, settings) for name in names]


def _chart(evidence: Evidence, measure: str, settings: PlotSettings) -> Chart:
    rivals = contenders(evidence.rungs)
    values = {name: one for name, one in of_measure(evidence, measure).items() if name in rivals}
    times = {rung.name: max(rung.time_of("total")["p50"], 1e-6) for rung in evidence.rungs if rung.name in rivals}
    best = front(times, {name: worth(one) for name, one in values.items()})
    one, ranges = next(iter(values.values())), intervals_of(values)
    title = f"{full_name(one.measure)}, against latency"
    about = [where(evidence, one.queries), f"filled, on the line: none is both faster and better; {how(values, ranges)}"]
    figure = sheet(settings, title, about, max(_HEIGHT, _LINE * len(values) + 0.8))
    axis = figure.subplots()
    _points(axis, times, values, ranges, best)
    axis.set_xlabel("milliseconds a query, p50 (faster to the left)")
    _upwards(axis, one.measure)
    axis.grid()
    time_axis(axis, list(times.values()), width=settings.width - (2.8 if len(values) > _NAMED else 0.8))
    axis.margins(y=0.12)
    _name(axis, times, values, best, _lines(times, values, ranges, best))
    return Chart(part_name("pareto", measure, settings), title, figure)


def _upwards(axis: Axes, measure: Measure) -> None:
    """The best on top, whichever end of the measure is the better one."""
    less = measure.higher_is_better is False
    axis.set_ylabel(f"{measure} ({'less is better, ' if less else ''}better upwards)")
    axis.yaxis.set_inverted(less)


def _points(
    axis: Axes,
    times: Mapping[str, float],
    values: Mapping[str, MeasureResult],
    ranges: Mapping[str, Interval | None],
    best: list[str],
) -> None:
    axis.step([times[name] for name in best], [values[name].value for name in best], where="post", color=GREY, lw=1.2, zorder=1)
    for at, (name, one) in enumerate(values.items()):
        style, span = style_of(at), ranges[name]
        if span:
            axis.vlines(times[name], *span, color=style.colour, lw=0.9, alpha=0.6, zorder=2)
        fill = style.colour if name in best else "white"
        label = fitted(f"{at + 1}  {name}" if len(values) > _NAMED else name, size=SMALL)
        axis.plot(times[name], one.value, style.marker, color=style.colour, mfc=fill, ms=7, mew=1.4, ls="", label=label, zorder=3)


def _lines(
    times: Mapping[str, float], values: Mapping[str, MeasureResult], ranges: Mapping[str, Interval | None], best: list[str]
) -> list[tuple[Point, Point]]:
    """The lines of the chart, which no name should cover: the intervals and the steps of the front."""
    upright: list[tuple[Point, Point]] = [
        ((times[name], span[0]), (times[name], span[1])) for name, span in ranges.items() if span
    ]
    for one, other in pairwise(best):
        corner = (times[other], values[one].value)
        upright += [((times[one], values[one].value), corner), (corner, (times[other], values[other].value))]
    return upright


def _name(
    axis: Axes,
    times: Mapping[str, float],
    values: Mapping[str, MeasureResult],
    best: list[str],
    lines: list[tuple[Point, Point]],
) -> None:
    """Names beside the points; where there are many, numbers, and a legend that says whose they are."""
    many = len(values) > _NAMED
    texts = [str(at + 1) for at in range(len(values))] if many else fitted_names(list(values), size=SMALL, room=1.5)
    if many:
        axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    points = [(times[name], one.value) for name, one in values.items()]
    placed(axis, points, texts, [name in best for name in values], lines)
