"""The ladder for programs and pages: JSON, CSV, markdown."""

from __future__ import annotations

from ..experiment.results.document import document, written
from ..experiment.results.tables import summary_csv
from ..experiment.rung import Climb
from .escape import for_markdown
from .grid import Cell, Grid
from .ladder import approximations, sentences
from .ladder_answers import answers_grid, answers_title
from .ladder_chunks import TITLE, chunk_grid
from .ladder_grid import ladder_grid
from .ladder_lost import losses
from .look import Look


def as_json(climb: Climb, look: Look) -> str:
    """What `result.json` holds, without the values of single queries."""
    return written(document(climb, per_query=False))


def as_csv(climb: Climb, look: Look) -> str:
    """What `summary.csv` holds."""
    return summary_csv(climb)


def as_markdown(climb: Climb, look: Look) -> str:
    """The ladder as a table with every column, the best of each measure in bold, and the sentences below it."""
    said = "".join(f"\n{for_markdown(sentence)}\n" for sentence in (*approximations(climb), *sentences(climb), *losses(climb)))
    chunks = f"\n{TITLE}\n\n{_table(chunk_grid(climb.chunks))}" if climb.chunks else ""
    answers = f"\n{answers_title(climb.answers)}\n\n{_table(answers_grid(climb.answers))}" if climb.answers else ""
    return f"{_table(ladder_grid(climb))}{said}{chunks}{answers}"


def _table(grid: Grid) -> str:
    head = " | ".join(for_markdown(text) for text in (grid.corner, *grid.columns))
    rule = " | ".join([":---"] + ["---:"] * len(grid.columns))
    lines = [" | ".join([for_markdown(row), *map(_cell, cells)]) for row, cells in zip(grid.rows, grid.cells, strict=True)]
    return "".join(f"| {line} |\n" for line in (head, rule, *lines))


def _cell(cell: Cell) -> str:
    text = cell.text.strip()
    return f"**{text}**" if cell.best else text
