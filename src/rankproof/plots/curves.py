"""Curves over all systems: recall against the number of documents looked at, and precision against recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.evidence import Evidence
from ..analysis.measured import Values, measured
from ..analysis.wording import counted
from ..measures import parse
from .canvas import SMALL
from .lettering import fitted_names
from .order import systems_of
from .palette import style_of
from .sheet import Chart, PlotSettings, sheet, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DEPTHS = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)
RECALLS = tuple(at / 10 for at in range(11))
_MARKED = (1, 2, 3, 5, 10, 20, 50, 100)
_HEIGHT, _LINE = 3.6, 0.17


def recall(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """R@k for k from 1 to 100; k is on a logarithmic scale."""
    values = measured(evidence, [f"R@{depth}" for depth in DEPTHS])
    curves = {name: [one.value for one in values[name].values()] for name in systems_of(evidence)}
    title = f"Recall against depth, R@k: {parse('R@1').title}"
    about = [where(evidence, _queries(values)), f"the mean of the share of relevant documents in the top k; {_reach(evidence)}"]
    figure, axis = _sheet(settings, title, about, len(curves))
    _draw(axis, DEPTHS, curves, [DEPTHS.index(depth) for depth in _MARKED])
    axis.set_xscale("log")
    axis.set_xlim(0.93, 107)
    axis.set_xticks(_MARKED, [str(depth) for depth in _MARKED])
    axis.set_xticks([], minor=True)
    axis.set_xlabel("k, documents looked at")
    axis.set_ylabel("R@k")
    _legend(axis, "R@100", {name: curve[-1] for name, curve in curves.items()}, settings)
    return [Chart("recall", title, figure)]


def precision_recall(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """IPrec at the 11 points 0, 0.1, … 1."""
    values = measured(evidence, [f"IPrec@{level:g}" for level in RECALLS])
    curves = {name: [one.value for one in values[name].values()] for name in systems_of(evidence)}
    title = f"Precision against recall, IPrec@r: {parse('IPrec@0.1').title}"
    about = [where(evidence, _queries(values)), "the mean of the best precision at a recall of r or beyond, at 11 points"]
    figure, axis = _sheet(settings, title, about, len(curves))
    _draw(axis, RECALLS, curves, range(len(RECALLS)))
    axis.set_xlim(-0.02, 1.02)
    ticks = RECALLS[:: 2 if settings.narrow else 1]
    axis.set_xticks(ticks, [f"{level:g}" for level in ticks])
    axis.set_xlabel("recall r")
    axis.set_ylabel("IPrec@r")
    _legend(axis, "mean of 11", {name: sum(curve) / len(curve) for name, curve in curves.items()}, settings)
    return [Chart("precision-recall", title, figure)]


def _sheet(settings: PlotSettings, title: str, about: Sequence[str], systems: int) -> tuple[Figure, Axes]:
    listed = _LINE * systems + 0.9
    figure = sheet(settings, title, about, _HEIGHT - 0.6 + listed if settings.narrow else max(_HEIGHT, listed))
    return figure, figure.subplots()


def _draw(axis: Axes, places: Sequence[float], curves: Mapping[str, Sequence[float]], marked: Sequence[int]) -> None:
    for at, (name, curve) in enumerate(curves.items()):
        style = style_of(at)
        axis.plot(
            places, curve, style.line, color=style.colour, marker=style.marker, markevery=list(marked), ms=4.5, lw=1.4, label=name
        )
    most = max((max(curve) for curve in curves.values()), default=1.0)
    axis.set_ylim(0, 1.02 if most > 0.6 else max(1.15 * most, 0.01))
    axis.grid()


def _legend(axis: Axes, title: str, ends: Mapping[str, float], settings: PlotSettings) -> None:
    """The systems beside the chart, or below it where it is narrow, the best first, each with its number."""
    lines = dict(zip(ends, axis.get_lines(), strict=True))
    names = sorted(ends, key=lambda name: -ends[name])
    shown = fitted_names(names, size=SMALL, room=1.5)
    labels = [f"{ends[name]:.3f}  {text}" for name, text in zip(names, shown, strict=True)]
    handles = [lines[name] for name in names]
    place = (0.0, -0.22) if settings.narrow else (1.01, 1.0)
    axis.legend(
        handles,
        labels,
        title=title,
        loc="upper left",
        bbox_to_anchor=place,
        borderaxespad=0,
        alignment="left",
        handlelength=2.6,
    )


def _queries(values: Values) -> int:
    return max(one.queries for each in values.values() for one in each.values())


def _reach(evidence: Evidence) -> str:
    """How deep the rankings go: beyond its end a curve is flat."""
    depths = [int(np.diff(evidence.runs[name].offsets).max(initial=0)) for name in evidence.systems]
    return f"rankings hold up to {counted(max(depths), 'document')}"
