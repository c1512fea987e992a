"""Quality against latency: who is worth waiting for."""

from __future__ import annotations

from ...analysis.front import beaten_by, front
from ...errors import shown
from ...views.grid import ABSENT, Cell, Grid, shown_number
from ...views.ladder_grid import shown_time
from ..charts.pareto import Point
from ..charts.pareto import pareto as draw
from ..material import Material
from ..section import Chart, Section
from ..sheet import Sheet
from ..words import listed, milliseconds, span_text
from .sizes import NARROW, WIDE

_ABOUTS = {
    "95% interval": "by resampling the queries",
    "ms p50": "half of the queries take no longer",
    "ms p95": "95% of the queries take no longer",
    "on the front": "no other is at least as good and as fast, and better in one of them",
    "beaten by": "the best of the systems that are at least as good in both",
}


def pareto(material: Material) -> Section | None:
    """None where nothing was timed, or there is one system."""
    if not material.times or len(material.times) < 2:
        return None
    best = front(material.times, material.worths)
    return Section(
        key="pareto",
        title="Quality against latency",
        question="Which systems are worth their time?",
        sentences=tuple(_said(material, best)),
        charts=(_chart(material, best),),
        tables=(_sheet(material, best),),
    )


def _said(material: Material, best: list[str]) -> list[str]:
    said = [f"On the front: {listed(best)}. No system is both faster and better than one of these."]
    if len(best) == 1:
        said = [f"{listed(best)} is both the fastest and the best: no other is on the front."]
    for name in material.times:
        if name not in best:
            other = beaten_by(material.times, material.worths, name)[0]
            value, theirs = (shown_number(material.values[each].value, material.one) for each in (name, other))
            said.append(
                f"{shown(other)} beats {shown(name)}: {theirs} in {milliseconds(material.times[other])}, against {value} in"
                f" {milliseconds(material.times[name])}."
            )
    return said


def _chart(material: Material, best: list[str]) -> Chart:
    points = [_point(material, name, name in best) for name in material.times]
    title = f"{material.measure} against milliseconds a query"
    about = "; ".join(point.shown for point in points)
    axes = ("milliseconds a query, p50: faster to the left", material.measure)
    wide = draw(points, title, about, axes, width=WIDE, height=430)
    narrow = draw(points, title, about, ("ms a query, p50", material.measure), width=NARROW, height=400)
    return Chart(title, wide, "Filled, on the line: no system is both faster and better. Upright lines: 95% intervals.", narrow)


def _point(material: Material, name: str, on: bool) -> Point:
    value, time = material.values[name].value, material.times[name]
    told = f"{name}: {shown_number(value, material.one)} in {milliseconds(time)}{', on the front' if on else ''}"
    return Point(name, time, value, told, material.intervals[name, material.measure], on)


def _sheet(material: Material, best: list[str]) -> Sheet:
    cells = []
    for name, time in material.times.items():
        late = material.rungs[name].time_of("total")["p95"]
        others = beaten_by(material.times, material.worths, name)
        value = shown_number(material.values[name].value, material.one)
        numbers = (value, span_text(material.intervals[name, material.measure]), shown_time(time), shown_time(late))
        cells.append(tuple(map(Cell, (*numbers, "yes" if name in best else "no", others[0] if others else ABSENT))))
    columns = (material.measure, *_ABOUTS)
    grid = Grid("system", tuple(material.times), columns, tuple(cells), frozenset((4, 5)))
    return Sheet("Quality and latency", grid, _ABOUTS)
