"""Quality against latency: who is worth waiting for."""

from __future__ import annotations

from ...analysis.front import beaten_by, front
from ...analysis.table import Column, Table
from ...errors import shown
from ...views.grid import shown_number
from ..charts.pareto import Point
from ..charts.pareto import pareto as draw
from ..material import Material
from ..section import Chart, Section
from ..sheet import Sheet, sheet_of
from ..words import listed, milliseconds
from .sizes import NARROW, WIDE


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
    said = [f"On the front: {listed(best)}. To each of them no system is both faster and better."]
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
    columns = (
        Column("system"),
        Column(material.measure, "value"),
        Column("95% interval", "interval", "by resampling the queries"),
        Column("ms p50", "number", "half of the queries take no longer"),
        Column("ms p95", "number", "95% of the queries take no longer"),
        Column("on the front", "flag", "no other is at least as good and as fast, and better in one of them"),
        Column("beaten by", about="the best of the systems that are at least as good in both"),
    )
    rows = []
    for name, time in material.times.items():
        late = material.rungs[name].time_of("total")["p95"]
        others = beaten_by(material.times, material.worths, name)
        value, span = material.values[name].value, material.intervals[name, material.measure]
        rows.append((name, value, span, time, late, name in best, others[0] if others else None))
    return sheet_of(Table("front", "Quality and latency", columns, tuple(rows)))
