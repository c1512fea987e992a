"""Segments of the queries by systems: a heat map with the values in its cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.evidence import Evidence
from ..analysis.segments.groups import Grouping, default_by, grouped
from ..analysis.segments.rows import LEAST
from ..data.arrays import FloatArray
from ..evaluation import MeasureResult
from .canvas import SMALL, width_of
from .lettering import fitted_names
from .order import means_of, of_measure, part_name
from .palette import SCALE, lightness
from .sheet import Chart, PlotSettings, empty, full_name, sheet, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 40
"""More segments than this cannot be read: the largest are shown."""
_ALL = "all queries"
_ROW, _UPRIGHT, _NAMES, _ASLANT = 0.23, 5, 2.6, 2.2
_MIDDLE_LIGHT = 0.179
"""On a lighter ground than this black letters stand out more than white ones (WCAG 2: equal contrast)."""
_LETTERS = ((3, SMALL), (2, SMALL), (2, 6.0), (1, 6.0), (1, 4.5))


@dataclass(frozen=True, slots=True)
class Heat:
    """Cells under their names; the last row, or where `turned` the last column, is that of all queries."""

    rows: list[str]
    columns: list[str]
    cells: FloatArray
    turned: bool

    def is_aslant(self, width: float) -> bool:
        """Whether the names of the columns need more room than there is side by side in so many inches."""
        room = (width - _NAMES) / len(self.columns)
        return self.turned or any(width_of(name, SMALL) > room for name in self.columns)


def segments(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """A figure for each measure; the lowest segment stands first, all queries last."""
    names = means_of(evidence, settings)
    by = settings.by or default_by(evidence)
    if not names:
        about = [where(evidence, len(evidence.result.queries))]
        return [empty("segments", settings, f"Values by {by}", about, "No measure is a mean.")]
    grouping = grouped(evidence, by)
    return [_chart(evidence, grouping, name, settings) for name in names]


def means_by(grouping: Grouping, values: dict[str, MeasureResult]) -> tuple[dict[str, int], FloatArray]:
    """The size of each segment, the lowest first, and a row of means for each, a column for each system; NaN for no query."""
    each = [one.per_query for one in values.values()]
    means, sizes = {}, {}
    for name, queries in grouping.segments.items():
        found = [[row[query] for query in queries if query in row] for row in each]
        sizes[name] = max(map(len, found))
        means[name] = [math.fsum(row) / len(row) if row else math.nan for row in found]
    largest = sorted((name for name in sizes if sizes[name]), key=lambda name: (-sizes[name], name))[:MOST]
    order = sorted(largest, key=lambda name: (float(np.nansum(means[name])), name))
    return {name: sizes[name] for name in order}, np.array([means[name] for name in order])


def _chart(evidence: Evidence, grouping: Grouping, name: str, settings: PlotSettings) -> Chart:
    values = of_measure(evidence, name)
    one = next(iter(values.values()))
    title = f"{full_name(one.measure)}, by {grouping.by}"
    sizes, means = means_by(grouping, values)
    if not sizes:
        return empty("segments", settings, title, [where(evidence, one.queries)], "No query has a value.")
    warning = f"; * fewer than {LEAST} queries, which tell little" if any(size < LEAST for size in sizes.values()) else ""
    about = [where(evidence, one.queries), f"the mean of each segment, the lowest first{warning}"]
    if len(sizes) < len(grouping.segments):
        about.append(f"the {len(sizes)} largest of {len(grouping.segments):,} segments")
    heat = _heat_of(sizes, means, values)
    figure = sheet(settings, title, about, 1.1 + _ROW * len(heat.rows) + (_ASLANT / 2 if heat.is_aslant(settings.width) else 0))
    draw_heat(figure, figure.subplots(), heat, str(one.measure))
    return Chart(part_name("segments", name, settings), title, figure)


def _heat_of(sizes: dict[str, int], means: FloatArray, values: dict[str, MeasureResult]) -> Heat:
    """What there is more of goes down the side, where there is room for it."""
    one = next(iter(values.values()))
    cells = np.vstack([means, [each.value for each in values.values()]])
    named = zip(fitted_names(list(sizes), room=1.4), sizes.values(), strict=True)
    labels = [*(_label(name, size) for name, size in named), f"{_ALL} (n = {one.queries:,})"]
    systems = fitted_names(list(values), room=1.5)
    if len(systems) > max(len(labels), _UPRIGHT):
        return Heat(systems, labels, cells.T, turned=True)
    return Heat(labels, systems, cells, turned=False)


def _label(name: str, size: int) -> str:
    return f"{name} (n = {size:,}){'*' if size < LEAST else ''}"


def draw_heat(figure: Figure, axis: Axes, heat: Heat, measure: str) -> None:
    """Fills the axis with the cells and their values."""
    low, high = float(np.nanmin(heat.cells)), float(np.nanmax(heat.cells))
    picture = axis.imshow(heat.cells, cmap=SCALE, aspect="auto", vmin=low, vmax=high if high > low else low + 1e-9)
    grounds = np.asarray(picture.cmap(picture.norm(heat.cells)))
    texts, size = _texts(heat.cells, (figure.get_figwidth() - _NAMES) / len(heat.columns))
    for row, column in np.ndindex(heat.cells.shape):
        ground = lightness(grounds[row, column].tolist())
        last = column == len(heat.columns) - 1 if heat.turned else row == len(heat.rows) - 1
        axis.text(
            column,
            row,
            texts[row][column],
            ha="center",
            va="center",
            color="black" if ground > _MIDDLE_LIGHT else "white",
            size=size,
            weight="bold" if last else "normal",
        )
    line = axis.axvline if heat.turned else axis.axhline
    line((len(heat.columns) if heat.turned else len(heat.rows)) - 1.5, color="white", lw=3)
    _name(axis, heat, aslant=heat.is_aslant(figure.get_figwidth()))
    figure.colorbar(picture, ax=axis, label=measure, shrink=0.9, pad=0.02)


def _texts(cells: FloatArray, room: float) -> tuple[list[list[str]], float]:
    """The values with as many decimals as a cell has room for, and the size of the letters."""
    for digits, size in _LETTERS:
        texts = [["" if math.isnan(value) else f"{value:.{digits}f}" for value in row] for row in cells.tolist()]
        if digits < 3:
            texts = [[text.removeprefix("0") if text.startswith("0.") else text for text in row] for row in texts]
        if max(width_of(text, size, bold=True) for row in texts for text in row if text) + 0.04 <= room:
            break
    return texts, size


def _name(axis: Axes, heat: Heat, *, aslant: bool) -> None:
    axis.set_yticks(range(len(heat.rows)), heat.rows)
    axis.set_xticks(range(len(heat.columns)), fitted_names(heat.columns, size=SMALL, room=_ASLANT))
    if aslant:
        for label in axis.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
