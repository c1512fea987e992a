"""Where the time of a query goes, stage by stage."""

from __future__ import annotations

from ..._charts.latency import SystemTimes, shares_chart, spread_chart
from ..._charts.model import Medium
from ..._charts.svg import svg_of
from ...analysis.latency import stage_means
from ...data.counting import shown_time
from ...errors import shown
from ...experiment.rung import Rung
from ...views.grid import Cell, Grid
from ..material import Material
from ..section import Chart, Section
from ..sheet import Sheet
from ..words import milliseconds
from .sizes import NARROW, WIDE

_ABOUTS = {
    "embed": "turning the query into a vector",
    "search": "finding documents",
    "rerank": "putting the found ones in order",
    "generate": "asking a language model",
    "mean": "the whole, all queries",
    "p50": "half of the queries take no longer",
    "p95": "95% of the queries take no longer",
    "p99": "99% of the queries take no longer",
}


def latency(material: Material) -> Section | None:
    """None where nothing was timed."""
    if not material.times:
        return None
    rows = [_times_of(rung) for rung in material.climb.rungs]
    return Section(
        key="latency",
        title="Where the time goes",
        question="Which stage takes the milliseconds of a query?",
        sentences=tuple(_said(rows)),
        charts=(_shares(rows), _spread(rows)),
        tables=(_sheet(material, rows),),
    )


def _times_of(rung: Rung) -> SystemTimes:
    """The mean of each stage, and how the whole spreads."""
    total = rung.time_of("total")
    return SystemTimes(rung.name, stage_means(rung), total["p50"], total["p95"])


def _said(rows: list[SystemTimes]) -> list[str]:
    slowest, fastest = (choose(rows, key=lambda row: row.whole) for choose in (max, min))
    if slowest.whole <= 0:
        return []
    part = max(slowest.parts, key=lambda name: slowest.parts[name])
    share = slowest.parts[part] / slowest.whole
    time = f"{milliseconds(slowest.whole)} a query on average; {share:.0%} of it is {part}"
    if len(rows) == 1:
        return [f"{shown(slowest.name)} takes {time}."]
    said = [f"{shown(slowest.name)} is the slowest, {time}."]
    if fastest.whole > 0:
        times = _times(slowest.whole / fastest.whole)
        said.append(f"{shown(fastest.name)} is the fastest, {milliseconds(fastest.whole)}: {times} as fast.")
    return said


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


def _shares(rows: list[SystemTimes]) -> Chart:
    title = "A query's time by stage"
    about = "; ".join(f"{row.name} {_parts(row)}" for row in rows)
    wide, narrow = (svg_of(shares_chart(Medium(width), rows, title, about)) for width in (WIDE, NARROW))
    return Chart(title, wide, "Each bar is the mean time of one system, as a whole; the milliseconds stand behind it.", narrow)


def _spread(rows: list[SystemTimes]) -> Chart:
    title = "How long queries take"
    about = "; ".join(f"{row.name} p50 {milliseconds(row.p50)}, p95 {milliseconds(row.p95)}" for row in rows)
    wide, narrow = (svg_of(spread_chart(Medium(width), rows, title, about)) for width in (WIDE, NARROW))
    return Chart(title, wide, "Filled: p50, half of the queries take no longer. Hollow: p95.", narrow)


def _parts(row: SystemTimes) -> str:
    return ", ".join(f"{part} {milliseconds(time)}" for part, time in row.parts.items() if time > 0)


def _sheet(material: Material, rows: list[SystemTimes]) -> Sheet:
    used = [part for part in rows[0].parts if any(row.parts[part] for row in rows)]
    columns = (*used, "mean", "p50", "p95", "p99")
    cells = []
    for row in rows:
        total = material.rungs[row.name].time_of("total")
        numbers = [*(row.parts[part] for part in used), *(total[name] for name in columns[len(used) :])]
        cells.append(tuple(Cell(shown_time(value)) for value in numbers))
    grid = Grid("system", tuple(row.name for row in rows), columns, tuple(cells))
    abouts = {name: about for name, about in _ABOUTS.items() if name in columns}
    return Sheet("Milliseconds a query: the mean of each stage, and how the whole spreads", grid, abouts)
