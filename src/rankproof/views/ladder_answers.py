"""The measures of the systems that answer, beside the ladder."""

from __future__ import annotations

from collections.abc import Callable

from ..evaluation import Result
from .grid import Grid, summary_grid


def answers_title(answers: Result) -> str:
    """What stands above the grid."""
    return f"Answers, over the {len(answers.queries)} queries whose answer is known (rankproof answers says more):"


def answers_grid(answers: Result, fits: Callable[[Grid], bool] = lambda grid: True) -> Grid:
    """As many measures as fit, the last left out first."""
    grid = summary_grid(answers)
    while not fits(grid) and len(grid.columns) > 1:
        grid = grid.part(range(len(grid.columns) - 1))
    return grid
