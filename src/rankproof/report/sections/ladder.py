"""The ladder: what each rung reaches, what it adds to the rung below, and what it costs."""

from __future__ import annotations

from dataclasses import replace

from ...analysis.compare.words import sentence
from ...errors import shown
from ...experiment.rung import Rung
from ...views.grid import ABSENT, Cell, Grid, shown_number
from ...views.ladder import approximations, sentences
from ...views.ladder_grid import ladder_grid
from ..charts.dots import Row, dots
from ..material import Material
from ..section import Chart, Section
from ..sheet import Sheet
from ..words import signed
from .sizes import NARROW, WIDE

_ABOUTS = {
    "ms p50/p95": "milliseconds a query, half of the queries and 95% of them within; one query at a time, after a warm-up",
    "calls": "how often language models were asked",
    "tokens": "in what they were sent and what they replied",
    "money": "what that cost, by the prices in the experiment",
    "index s": "seconds to build all that the system searches in",
    "index MB": "megabytes of it",
    "queries/s": "queries a second in batch",
}


def ladder(material: Material) -> Section:
    """Rung by rung."""
    return Section(
        key="ladder",
        title="The ladder",
        question="What does each rung add to the one below it, and at what price?",
        points=(*_steps(material), *approximations(material.climb), *sentences(material.climb)),
        charts=(_chart(material),),
        tables=(_sheet(material),),
    )


def _steps(material: Material) -> list[str]:
    """What is known of each rung and the one that it is measured over."""
    pairs = [material.comparison(rung.name, rung.over) for rung in material.climb.rungs if rung.over is not None]
    return [sentence(pair, material.settings) for pair in pairs if pair is not None]


def _chart(material: Material) -> Chart:
    rows = [_row(material, rung) for rung in material.climb.rungs]
    title = f"{material.measure} of each rung, with 95% intervals"
    about = "; ".join(f"{row.name} {row.shown}{f' ({row.aside})' if row.aside else ''}" for row in rows)
    wide, narrow = (dots(rows, title, about, "", width=width) for width in (WIDE, NARROW))
    return Chart(title, wide, "Filled: the best. Lines: 95% intervals, by resampling the queries.", narrow)


def _row(material: Material, rung: Rung) -> Row:
    one = material.values[rung.name]
    aside = ""
    if rung.over is not None:
        aside = f"{signed(one.value - material.values[rung.over].value, one)} over {shown(rung.over)}"
    best = rung.name in material.leaders
    return Row(rung.name, one.value, shown_number(one.value, one), material.intervals[rung.name, material.measure], aside, best)


def _sheet(material: Material) -> Sheet:
    grid = ladder_grid(material.climb)
    about = {
        **_ABOUTS,
        "95% interval": f"of {material.measure}, by resampling the queries",
        **{name: "percentage points gained over the rung of that number" for name in grid.columns if "(over)" in name},
        **{name: "† what matters at the rung's stage" for name in grid.columns if any("†" in row[grid.columns.index(name)].text for row in grid.cells)},
    }
    return Sheet("Every rung: quality, gain, latency and cost", _with_interval(grid, material), about)


def _with_interval(grid: Grid, material: Material) -> Grid:
    """The interval of the first measure behind its value."""
    spans = [material.intervals[rung.name, material.measure] for rung in material.climb.rungs]
    told = [Cell(ABSENT if span is None else f"{span[0]:.4f}–{span[1]:.4f}") for span in spans]
    at = list(grid.columns).index(material.measure) + 1 if material.measure in grid.columns else 1
    columns = (*grid.columns[:at], "95% interval", *grid.columns[at:])
    cells = tuple((*row[:at], cell, *row[at:]) for row, cell in zip(grid.cells, told, strict=True))
    return replace(grid, columns=columns, cells=cells)
