"""Quality against latency: who is worth waiting for."""

from __future__ import annotations

from ..._charts.model import Medium
from ..._charts.pareto import ParetoAxes, ParetoPoint, pareto_chart
from ..._charts.svg import svg_of
from ...analysis.front import beaten_by, front
from ...data.counting import shown_time
from ...errors import shown
from ...views.grid import ABSENT, Cell, Grid, shown_number
from ..material import Material
from ..section import Chart, Section
from ..sheet import Sheet
from ..words import listed, milliseconds, span_text
from .sizes import NARROW, WIDE

_ABOUTS = {
    "95% interval": "{how}",
    "ms p50": "half of the queries take no longer",
    "ms p95": "95% of the queries take no longer",
    "on the front": "no other is at least as good and as fast, and better in one of them, by the values seen",
    "beaten by": "the best of the systems that are at least as good in both, whether or not the test tells them apart",
}


def pareto(material: Material) -> Section | None:
    """None where nothing was timed, one system ranks, or the measure does not say which is better."""
    if not material.times or len(material.contenders) < 2 or not material.is_contest:
        return None
    best = front(_times(material), material.worths)
    return Section(
        key="pareto",
        title="Quality against latency",
        question="Which systems are worth their time?",
        sentences=tuple(_said(material, best)),
        charts=(_chart(material, best),),
        tables=(_sheet(material, best),),
    )


def _times(material: Material) -> dict[str, float]:
    return {name: material.times[name] for name in material.contenders}


def _said(material: Material, best: list[str]) -> list[str]:
    said = [f"On the front: {listed(best)}. No system is both faster and better than one of these, by the values seen."]
    if len(best) == 1:
        said = [f"{listed(best)} is the fastest and has the best value: no other is on the front."]
    for name in material.contenders:
        if name not in best:
            other = beaten_by(_times(material), material.worths, name)[0]
            said.append(_beaten(material, name, other))
    return said


def _beaten(material: Material, name: str, other: str) -> str:
    """By what a system is behind another: by both only where the test says so."""
    value, theirs = (shown_number(material.values[each].value, material.one) for each in (name, other))
    time, quicker = (milliseconds(material.times[each]) for each in (name, other))
    pair = material.comparison(name, other)
    if pair is None or pair.verdict in ("better", "worse"):
        return f"{shown(other)} beats {shown(name)}: {theirs} in {quicker}, against {value} in {time}."
    alike = f"cannot be told from {shown(name)} in quality ({theirs} against {value})"
    if time == quicker:
        return f"{shown(other)} {alike}, and takes as long, {time}."
    return f"{shown(other)} {alike}, and is faster: {quicker} against {time}."


def _chart(material: Material, best: list[str]) -> Chart:
    systems = [_system(material, name, name in best) for name in material.contenders]
    title = f"{material.measure} against milliseconds a query"
    about = "; ".join(one.tip for one in systems)
    less = material.one.measure.higher_is_better is False
    upward = f"{material.measure} ({'less is better, ' if less else ''}better upwards)"
    across = "milliseconds a query, p50: faster to the left"
    wide, narrow = (
        svg_of(pareto_chart(Medium(width), "pareto", title, about, (), systems, axes))
        for width, axes in (
            (WIDE, ParetoAxes(across, upward, less, material.one.measure.range)),
            (NARROW, ParetoAxes("ms a query, p50", upward, less, material.one.measure.range)),
        )
    )
    lines = f" Upright lines: 95% intervals ({material.sampling})." if any(one.interval for one in systems) else ""
    return Chart(title, wide, f"Filled, on the line: no system is both faster and better.{lines}", narrow)


def _system(material: Material, name: str, on: bool) -> ParetoPoint:
    value, time = material.values[name].value, material.times[name]
    told = f"{name}: {shown_number(value, material.one)} in {milliseconds(time)}{', on the front' if on else ''}"
    return ParetoPoint(name, time, value, material.intervals[name, material.measure], on, tip=told)


def _sheet(material: Material, best: list[str]) -> Sheet:
    cells = []
    for name, time in _times(material).items():
        late = material.rungs[name].time_of("total")["p95"]
        others = beaten_by(_times(material), material.worths, name)
        value = shown_number(material.values[name].value, material.one)
        numbers = (value, span_text(material.intervals[name, material.measure]), shown_time(time), shown_time(late))
        cells.append(tuple(map(Cell, (*numbers, "yes" if name in best else "no", others[0] if others else ABSENT))))
    columns = (material.measure, *_ABOUTS)
    grid = Grid("system", tuple(material.contenders), columns, tuple(cells), frozenset((4, 5)))
    return Sheet("Quality and latency", grid, {name: about.format(how=material.sampling) for name, about in _ABOUTS.items()})
