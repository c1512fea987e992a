"""Every measure side by side: whether they agree on the order."""

from __future__ import annotations

from collections import Counter

from ..._charts.model import Medium
from ..._charts.rows import ValueRow, dot_chart
from ..._charts.svg import svg_of
from ...analysis.measured import is_contest, leaders, worth
from ...errors import shown
from ...evaluation import MeasureResult
from ...views.grid import Cell, Grid, shown_number, summary_grid
from ..material import Material
from ..section import Chart, Section
from ..sheet import Sheet
from ..words import listed, span_text
from .sizes import PANEL


def measures(material: Material) -> Section:
    """A small chart for each."""
    result = material.climb.result
    names = list(result.systems[0].measures)
    return Section(
        key="measures",
        title="Every measure",
        question="Do other measures tell the same story?",
        sentences=tuple(_said(material, names)),
        charts=tuple(_chart(material, name) for name in names),
        tables=(Sheet("Every measure of every system; in bold: the best", summary_grid(result)),),
        folded=_intervals(material, names),
    )


def _said(material: Material, names: list[str]) -> list[str]:
    """Who leads by how many measures, and which disagree with the first."""
    firsts = {name: tuple(leading) for name in names if (leading := _leaders(material, name))}
    if not firsts:
        return []
    counts = Counter(system for found in firsts.values() for system in found)
    (first, times), *rest = counts.most_common(4)
    more = "".join(f", {shown(system)} by {many}" for system, many in rest)
    tied = " (systems that tie all lead)" if sum(counts.values()) > len(firsts) else ""
    said = [f"{shown(first)} leads by {times} of {len(firsts)} measures{more}{tied}."]
    others = {name: found for name, found in firsts.items() if material.is_contest and material.best not in found}
    for found in dict.fromkeys(others.values()):
        names = [name for name, each in others.items() if each == found]
        said.append(f"By {listed(names)} it is {listed(found)}, not {shown(material.best)}.")
    return said


def _values(material: Material, name: str) -> dict[str, MeasureResult]:
    return {system.name: system.measures[name] for system in material.climb.result.systems}


def _leaders(material: Material, name: str) -> list[str]:
    """The systems that lead by a measure; none where there is one, or the measure does not say which is better."""
    values = _values(material, name)
    if len(material.contenders) < 2 or not is_contest(values[material.best].measure):
        return []
    return leaders({system: worth(values[system]) for system in material.contenders})


def _chart(material: Material, name: str) -> Chart:
    values = _values(material, name)
    best = _leaders(material, name)
    rows = [
        ValueRow(system, one.value, shown_number(one.value, one), material.intervals[system, name], best=system in best)
        for system, one in values.items()
    ]
    about = "; ".join(f"{row.name} {row.shown}" for row in rows)
    measure = next(iter(values.values())).measure
    return Chart(
        name, svg_of(dot_chart(Medium(PANEL), rows, name, about, step=2, within=measure.range)), measure.title, small=True
    )


def _intervals(material: Material, names: list[str]) -> tuple[Sheet, ...]:
    """The intervals as numbers; none where no measure is a mean."""
    spans = material.intervals
    used = [name for name in names if any(spans[system, name] for system in material.values)]
    if not used:
        return ()
    cells = tuple(tuple(Cell(span_text(spans[system, name])) for name in used) for system in material.values)
    return (
        Sheet(
            f"95% intervals of every measure ({material.sampling})",
            Grid("system", tuple(material.values), tuple(used), cells),
        ),
    )
