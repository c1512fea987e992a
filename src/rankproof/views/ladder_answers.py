"""The measures of the systems that answer, beside the ladder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..evaluation import Result
from .grid import ABSENT, Cell, Grid, summary_grid


def answers_title(answers: Result) -> str:
    """What stands above the grid."""
    return f"Answers, over the {len(answers.queries)} queries whose answer is known (rankproof answers says more):"


def answers_grid(answers: Result, fits: Callable[[Grid], bool] = lambda grid: True) -> Grid:
    """As many measures as fit, the last left out first; before them each system's n where answers failed."""
    grid = _with_n(answers, summary_grid(answers))
    while not fits(grid) and len(grid.columns) > 1:
        grid = grid.part(range(len(grid.columns) - 1))
    return grid


def _with_n(answers: Result, grid: Grid) -> Grid:
    """The grid with the number of questions that each system's means run over, and no mean where that is none."""
    sizes = [max(one.queries for one in system.measures.values()) for system in answers.systems]
    if all(size == len(answers.queries) for size in sizes):
        return grid
    rows = zip(sizes, grid.cells, strict=True)
    cells = tuple((Cell(str(size)), *(row if size else [Cell(ABSENT)] * len(row))) for size, row in rows)
    return replace(grid, columns=("n", *grid.columns), cells=cells)
