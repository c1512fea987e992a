"""How a comparison's systems bear typing errors and languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.wording import counted
from ..lab.comparing.comparison import Comparison
from ..lab.comparing.entry import Condition
from ..lab.comparing.remarks import is_conclusive
from ..measures import parse
from .canvas import SMALL
from .heat import Heat, draw_heat
from .lettering import fitted_names
from .palette import style_of
from .sheet import Chart, PlotSettings, full_name, sheet
from .tokenizers_quality import hatching, how, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_HEIGHT, _LINE, _APART, _ROW = 3.6, 0.17, 0.035, 0.23
_ALL = "all languages"


def typos(comparison: Comparison, settings: PlotSettings) -> Chart:
    """A line for each system over the number of random edits in a query."""
    entries, measure = comparison.under(comparison.first), comparison.main
    title = f"{full_name(parse(measure))}, with typing errors"
    about = [where(comparison), "; ".join((how(entries), "points stand beside each other to be seen", *hatching(entries)))]
    figure = sheet(settings, title, about, max(_HEIGHT, _LINE * len(entries) + 0.9))
    axis = figure.subplots()
    lines = {system: _line(axis, comparison, system, at) for at, system in enumerate(comparison.systems)}
    axis.set_xticks(comparison.edits, [str(edits) for edits in comparison.edits])
    axis.set_xlabel("random edits in each query")
    axis.set_ylabel(f"{measure} (better upwards)")
    axis.margins(y=0.1)
    axis.grid(axis="y")
    _legend(axis, comparison, lines)
    return Chart("typos", title, figure)


def _line(axis: Axes, comparison: Comparison, system: str, at: int) -> Line2D:
    style, count = style_of(at), len(comparison.systems)
    found = [comparison.entry(system, Condition(comparison.first.language, edits)) for edits in comparison.edits]
    means = np.array([entry.mean(comparison.main) for entry in found])
    spans = [entry.interval(comparison.main) or (mean, mean) for entry, mean in zip(found, means.tolist(), strict=True)]
    places = np.array(comparison.edits) + _APART * (at - (count - 1) / 2)
    error = np.abs(np.array(spans).T - means)
    fill = style.colour if is_conclusive(found[0]) else "white"
    axis.errorbar(places, means, yerr=error, color=style.colour, lw=0.8, ls="", alpha=0.6, capsize=1.5)
    (line,) = axis.plot(places, means, style.line, color=style.colour, marker=style.marker, mfc=fill, ms=4.5, lw=1.3)
    return line


def _legend(axis: Axes, comparison: Comparison, lines: Mapping[str, Line2D]) -> None:
    """The systems beside the chart, the one that bears most edits best first, each with what is left of its value."""
    last = Condition(comparison.first.language, comparison.edits[-1])
    ends = {entry.system: entry.mean(comparison.main) for entry in comparison.under(last)}
    order = sorted(ends, key=lambda name: -ends[name])
    names = fitted_names(order, size=SMALL, room=1.5)
    labels = [f"{ends[name]:.3f}  {text}" for name, text in zip(order, names, strict=True)]
    axis.legend(
        [lines[name] for name in order],
        labels,
        title=f"at {counted(comparison.edits[-1], 'edit')}",
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0,
        alignment="left",
        handlelength=2.6,
    )


def languages(comparison: Comparison, settings: PlotSettings) -> Chart:
    """A heat map of languages by systems, with the mean over the languages below."""
    measure, edits = comparison.main, comparison.edits[0]
    title = f"{full_name(parse(measure))}, by language"
    entries = comparison.under(comparison.first)
    about = [
        where(comparison, condition=False),
        "; ".join(("each language's queries against that language's documents", *hatching(entries))),
    ]
    each = [comparison.under(Condition(name, edits)) for name in comparison.languages]
    cells = np.array([[entry.mean(measure) for entry in row] for row in each])
    rows = [*fitted_names(comparison.languages, room=1.4), _ALL]
    heat = Heat(rows, _columns(comparison.systems), np.vstack([cells, cells.mean(axis=0)]), turned=False)
    figure = sheet(settings, title, about, 1.1 + _ROW * len(rows) + (1.1 if heat.is_aslant(settings.width) else 0))
    draw_heat(figure, figure.subplots(), heat, measure)
    return Chart("languages", title, figure)


def _columns(systems: Sequence[str]) -> list[str]:
    return fitted_names(systems, room=1.5)
