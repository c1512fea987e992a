"""Every measure as a panel of bars with intervals: a bar for each system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..analysis.evidence import Evidence
from ..analysis.measured import is_contest, leaders, worth
from ..analysis.statistics.bootstrap import Interval
from ..analysis.statistics.many import intervals_of
from ..analysis.wording import counted
from ..evaluation import MeasureResult
from ..views.grid import shown_number
from .canvas import MIDDLE, SMALL
from .intervals import how
from .lettering import fitted, fitted_names, wrapped
from .order import of_measure, systems_of
from .palette import BLACK, BLUE, GREY, SKY
from .sheet import Chart, PlotSettings, full_name, sheet, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ACROSS, _LEAST = 3, 1.6
_ROW, _PANEL = 0.2, 0.75


def bars(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """One figure with a panel for each measure."""
    measures = evidence.result.systems[0].measures
    values = {name: of_measure(evidence, name) for name in measures}
    flat = {(name, system): one for name, each in values.items() for system, one in each.items()}
    ranges = intervals_of(flat)
    one, systems = next(iter(measures.values())), systems_of(evidence)
    alone = len(measures) == 1
    title = full_name(one.measure) if alone else f"Quality of {counted(len(systems), 'system')} by {len(measures)} measures"
    best = "; darker and bold: the best" if len(systems) > 1 else ""
    about = [where(evidence, one.queries), f"{how(flat, ranges)}{best}"]
    across = min(2 if len(measures) == 4 else _ACROSS, len(measures), max(1, int((settings.width - 1.6) / _LEAST)))
    down = -(-len(measures) // across)
    figure = sheet(settings, title, about, down * (_PANEL + _ROW * max(len(systems), 2)))
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    room = (settings.width - 1.9) / across
    for at, name in enumerate(measures):
        axis = axes[at // across][at % across]
        _panel(axis, values[name], [ranges[name, system] for system in systems])
        lines = [str(measures[name].measure), *wrapped(measures[name].measure.title, size=SMALL, room=room, most=2)]
        axis.set_title("\n".join([fitted(lines[0], room=room), *lines[1:]]), loc="left", size=SMALL)
    for row in axes:
        row[0].set_yticks(range(len(systems)), fitted_names(systems), size=MIDDLE)
    axes[0][0].set_ylim(len(systems) - 0.4, -0.6)
    for spare in range(len(measures), down * across):
        axes[spare // across][spare % across].set_axis_off()
    return [Chart("bars", title, figure)]


def _panel(axis: Axes, values: dict[str, MeasureResult], ranges: list[Interval | None]) -> None:
    best = _best(values)
    ends = [max(one.value, span[1] if span else 0.0) for one, span in zip(values.values(), ranges, strict=True)]
    most = max(*ends, 0.0, 1e-9)
    for at, ((name, one), span, end) in enumerate(zip(values.items(), ranges, ends, strict=True)):
        won = name in best
        axis.barh(at, one.value, height=0.68, color=BLUE if won else SKY, edgecolor=BLACK, linewidth=0.5)
        if span:
            axis.errorbar(one.value, at, xerr=[[one.value - span[0]], [span[1] - one.value]], color=BLACK, lw=1, capsize=2.5)
        text = shown_number(one.value, one) if one.summary == "sum" else f"{one.value:.3f}"
        axis.text(end + 0.03 * most, at, text, va="center", size=SMALL, weight="bold" if won else "normal")
    axis.set_xlim(0, most * 1.32)
    axis.locator_params(axis="x", nbins=4)
    axis.grid(axis="x")
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", color=GREY)


def _best(values: dict[str, MeasureResult]) -> list[str]:
    """The systems that lead; none where all are equal or the measure names no winner."""
    told = len({one.value for one in values.values()}) > 1 and is_contest(next(iter(values.values())).measure)
    return leaders({name: worth(one) for name, one in values.items()}) if told else []
