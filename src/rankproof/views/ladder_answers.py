"""The measures of the systems that answer, beside the ladder."""

from __future__ import annotations

from dataclasses import replace

from ..evaluation import Result
from .grid import ABSENT, Cell, Grid, summary_grid


def answers_title(answers: Result) -> str:
    """What stands above the grid."""
    n = len(answers.queries)
    known = "the query" if n == 1 else f"the {n} queries"
    return f"Answers, over {known} whose answer is known (rankproof answers says more):"


def answers_grid(answers: Result) -> Grid:
    """Every measure; before them each system's n where answers failed."""
    return _with_n(answers, summary_grid(answers))


def _with_n(answers: Result, grid: Grid) -> Grid:
    """The grid with the number of questions that each system's means run over, and no mean where that is none."""
    sizes = [max(one.queries for one in system.measures.values()) for system in answers.systems]
    if all(size == len(answers.queries) for size in sizes):
        return grid
    rows = zip(sizes, grid.cells, strict=True)
    cells = tuple((Cell(str(size)), *(row if size else [Cell(ABSENT)] * len(row))) for size, row in rows)
    return replace(grid, columns=("n", *grid.columns), cells=cells)
