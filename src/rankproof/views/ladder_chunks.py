"""The values of the systems that rank chunks, before their rankings are collapsed."""

from __future__ import annotations

from collections.abc import Callable

from ..evaluation import Result
from .grid import Cell, Grid, label, shown_number

TITLE = "At chunk level, from the same run:"


def chunk_grid(chunks: Result, fits: Callable[[Grid], bool] = lambda grid: True) -> Grid:
    """As many measures as fit, the last left out first; none is the best, for systems that cut otherwise rank other chunks."""
    names = list(chunks.systems[0].measures)
    while not fits(_grid(chunks, names)) and len(names) > 1:
        names.pop()
    return _grid(chunks, names)


def _grid(chunks: Result, names: list[str]) -> Grid:
    first = chunks.systems[0].measures
    rows = [[system.measures[name] for name in names] for system in chunks.systems]
    cells = tuple(tuple(Cell(shown_number(one.value, one)) for one in row) for row in rows)
    return Grid(
        "system", tuple(system.name for system in chunks.systems), tuple(label(name, first[name]) for name in names), cells
    )
