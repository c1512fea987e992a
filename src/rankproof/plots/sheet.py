"""A sheet: a figure with a title, what it rests on in smaller letters, and room below for the chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..analysis.evidence import Evidence
from ..analysis.wording import counted
from ..measures import Measure
from .canvas import LARGE, MIDDLE, SMALL, new_figure, width_of
from .lettering import wrapped
from .palette import GREY

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

_EDGE, _LEADING, _LEGEND_ROW, _NARROW = 0.12, 1.35, 0.2, 5.0


@dataclass(frozen=True, slots=True)
class PlotSettings:
    """`width` of a figure in inches; `by` is the field of segments; `system` and `against` are the two of the differences.

    `every` says that charts of one measure are drawn for each that was evaluated, not for the first alone.
    """

    width: float = 7.0
    dpi: int = 200
    by: str | None = None
    system: str | None = None
    against: str | None = None
    every: bool = False

    @property
    def narrow(self) -> bool:
        """Whether it is for one column of a page of two: then parts stand below each other."""
        return self.width < _NARROW


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn figure; `missing` says why there was nothing to draw, and then stands in the figure's place."""

    name: str
    title: str
    figure: Figure = field(repr=False)
    missing: str = ""


def sheet(settings: PlotSettings, title: str, about: Sequence[str], height: float) -> Figure:
    """A figure with its head, and below it so many inches of room that a chart fills by itself.

    Between them a row of a legend may be put with `legend_above`.
    """
    room = settings.width - 2 * _EDGE
    heads = [(line, LARGE, "bold", "black") for line in wrapped(title, size=LARGE, room=room, bold=True, most=3)]
    for sentence in about:
        heads += [(line, MIDDLE, "normal", GREY) for line in wrapped(sentence, size=MIDDLE, room=room)]
    head = 2 * _EDGE + sum(size * _LEADING for _, size, _, _ in heads) / 72
    full = head + height
    figure = new_figure(settings.width, full)
    down = _EDGE
    for line, size, weight, colour in heads:
        figure.text(_EDGE / settings.width, 1 - down / full, line, size=size, weight=weight, color=colour, va="top", ha="left")
        down += size * _LEADING / 72
    pad = 0.06
    figure.set_layout_engine("constrained", rect=(0, 0, 1, height / full), w_pad=pad, h_pad=pad, wspace=0.02, hspace=0.02)
    return figure


def legend_above(figure: Figure, artists: Sequence[Artist], labels: Sequence[str]) -> None:
    """A legend over the chart from its left edge on, in as many rows as the width asks for."""
    width, full = figure.get_figwidth(), figure.get_figheight()
    engine: Any = figure.get_layout_engine()
    left, low, across, high = engine.get()["rect"]
    widest = max(width_of(label, SMALL) for label in labels) + 0.45
    columns = min(len(labels), max(1, int((width - 2 * _EDGE) / widest)))
    rows = -(-len(labels) // columns)
    place = (_EDGE / width, high)
    figure.legend(
        artists,
        labels,
        loc="upper left",
        bbox_to_anchor=place,
        ncols=columns,
        borderaxespad=0,
        borderpad=0,
        handlelength=1.5,
        columnspacing=1.2,
    )
    engine.set(rect=(left, low, across, high - (rows * _LEGEND_ROW + 0.05) / full))


def empty(name: str, settings: PlotSettings, title: str, about: Sequence[str], why: str) -> Chart:
    """A sheet that says in words why there is no chart."""
    figure = sheet(settings, title, about, 1.0)
    lines = wrapped(why, size=MIDDLE, room=settings.width - 1)
    figure.text(0.5, 0.5 / figure.get_figheight(), "\n".join(lines), ha="center", va="center", size=MIDDLE, style="italic")
    return Chart(name, title, figure, why)


def where(evidence: Evidence, queries: int) -> str:
    """The data, and how many queries the values run over."""
    return f"{evidence.dataset or evidence.name}, n = {counted(queries, 'query', 'queries')}"


def full_name(measure: Measure) -> str:
    """The measure as it is written, and in words."""
    return f"{measure}: {measure.title}"
