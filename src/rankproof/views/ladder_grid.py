"""The ladder as a grid: a rung a row, its quality, what it gains over the rung below, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..analysis.measured import deepest_recall
from ..data.counting import shown_time
from ..evaluation import MeasureResult
from ..experiment.rung import Climb, Rung
from .grid import ABSENT, Cell, Grid, label, summary_grid

COSTS = ("index s", "index MB", "queries/s")
COUNTS = "†"
"""Marks the measure that matters at the rung's stage."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and how soon it gives way where there is no room: the highest number first."""

    title: str
    cells: tuple[Cell, ...]
    yields: int


def ladder_grid(climb: Climb, fits: Callable[[Grid], bool] = lambda grid: True) -> Grid:
    """As many columns as fit, the least needed left out first."""
    columns = _columns(climb)
    while not fits(_grid(climb, columns)) and len(columns) > 1:
        columns.remove(max(columns, key=lambda column: column.yields))
    return _grid(climb, columns)


def main_measure(climb: Climb) -> str:
    """The measure that gains are told in: the first."""
    return next(iter(climb.result.systems[0].measures))


def shown_gain(gain: float | None, one: MeasureResult) -> str:
    """A gain in percentage points, with its sign; the plain difference of a measure that is no share."""
    if gain is None:
        return ABSENT
    return f"{100 * gain:+z.2f}" if one.measure.is_share else f"{gain:+.4g}"


def deciding(climb: Climb, rung: Rung) -> list[str]:
    """What matters at the rung's stage: that the documents are found, or that the found ones stand in the right order."""
    if rung.kind == "rerank":
        return [*_called(climb, "nDCG")[:1], *_called(climb, "RR")[:1]]
    return _deepest_recall(climb)


def _grid(climb: Climb, columns: Sequence[Column]) -> Grid:
    rows = tuple(f"{at} {rung.name}" for at, rung in enumerate(climb.rungs, start=1))
    cells = tuple(zip(*(column.cells for column in columns), strict=True))
    return Grid("rung", rows, tuple(column.title for column in columns), cells)


def _columns(climb: Climb) -> list[Column]:
    first, *others = _ordered_measures(climb)
    times = [rung.time_of("total") for rung in climb.rungs]
    return [
        _measure(climb, first, 0),
        Column(_gain_title(climb), tuple(Cell(_gain(climb, rung)) for rung in climb.rungs), 1),
        *(_measure(climb, name, place + (3 if place < 2 else 10)) for place, name in enumerate(others)),
        Column("ms p50/p95", tuple(Cell(f"{shown_time(time['p50'])}/{shown_time(time['p95'])}") for time in times), 2),
        *_asked(climb),
        Column(COSTS[0], tuple(Cell(shown_time(rung.index_seconds)) for rung in climb.rungs), 6),
        Column(COSTS[1], tuple(Cell(shown_time(rung.index_bytes / 1e6)) for rung in climb.rungs), 7),
        Column(COSTS[2], tuple(Cell(_throughput(rung)) for rung in climb.rungs), 8),
    ]


def _asked(climb: Climb) -> list[Column]:
    """What asking language models came to, where any system asks one; money where one has a price."""
    tokens = [sum(rung.total(name) for name in ("tokens_in", "tokens_out")) for rung in climb.rungs]
    if not any(tokens):
        return []
    calls = tuple(Cell(f"{rung.total('calls'):,}" if many else ABSENT) for rung, many in zip(climb.rungs, tokens, strict=True))
    money = tuple(Cell(f"{rung.money:.4f}" if rung.money else ABSENT) for rung in climb.rungs)
    return [
        Column("calls", calls, 5),
        Column("tokens", tuple(Cell(f"{many:,}" if many else ABSENT) for many in tokens), 9),
        *([Column("money", money, 5)] if any(rung.money for rung in climb.rungs) else []),
    ]


def _throughput(rung: Rung) -> str:
    return ABSENT if rung.throughput is None else shown_time(rung.throughput)


def _measure(climb: Climb, name: str, yields: int) -> Column:
    grid = summary_grid(climb.result)
    one = climb.result.systems[0].measures[name]
    at = list(climb.result.systems[0].measures).index(name)
    marked = [name in deciding(climb, rung) for rung in climb.rungs]
    blank = " " if any(marked) else ""
    rows = zip(grid.cells, marked, strict=True)
    cells = tuple(Cell(f"{row[at].text}{COUNTS if mark else blank}", row[at].best) for row, mark in rows)
    return Column(label(name, one), cells, yields)


def _ordered_measures(climb: Climb) -> list[str]:
    """The first, then the first reciprocal rank and the deepest recall, then the others as they were asked for."""
    names = list(climb.result.systems[0].measures)
    return list(dict.fromkeys([names[0], *_called(climb, "RR")[:1], *_deepest_recall(climb), *names]))


def _deepest_recall(climb: Climb) -> list[str]:
    found = deepest_recall(climb.result)
    return [] if found is None else [found]


def _called(climb: Climb, name: str) -> list[str]:
    """The measures of that kind, whatever their cutoffs, as they were asked for."""
    return [full for full, one in climb.result.systems[0].measures.items() if one.measure.name == name]


def _gain_title(climb: Climb) -> str:
    one = climb.result.systems[0].measures[main_measure(climb)]
    return "pp (over)" if one.measure.is_share else "gain (over)"


def _gain(climb: Climb, rung: Rung) -> str:
    if rung.over is None:
        return ABSENT
    name = main_measure(climb)
    number = [other.name for other in climb.rungs].index(rung.over) + 1
    return f"{shown_gain(climb.gain(rung, name), climb.result.systems[0].measures[name])} ({number})"
