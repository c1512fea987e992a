"""Markdown tables; the best of each measure in bold."""

from __future__ import annotations

from ..evaluation import Result
from .escape import for_markdown
from .grid import Cell, Grid, query_grid, summary_grid
from .look import Look


def render(result: Result, look: Look) -> str:
    """The summary as a table; with per_query a table for each measure after it."""
    parts = [table_of(summary_grid(result))]
    if look.per_query:
        parts += [
            f"### {for_markdown(name)}\n\n{table_of(_closed(query_grid(result, name)))}" for name in result.systems[0].measures
        ]
    return "\n".join(parts)


def _closed(grid: Grid) -> Grid:
    """The grid with its last row set apart from a query that has the same name."""
    return Grid(grid.corner, (*grid.rows[:-1], f"({grid.rows[-1]})"), grid.columns, grid.cells)


def table_of(grid: Grid) -> str:
    """The grid as a Markdown table."""
    head = " | ".join(for_markdown(text) for text in (grid.corner, *grid.columns))
    rule = " | ".join([":---"] + [":---" if at in grid.words else "---:" for at in range(len(grid.columns))])
    names = [f"**{for_markdown(row)}**" if at in grid.strong else for_markdown(row) for at, row in enumerate(grid.rows)]
    lines = [" | ".join([name, *map(_cell, cells)]) for name, cells in zip(names, grid.cells, strict=True)]
    return "".join(f"| {line} |\n" for line in (head, rule, *lines))


def _cell(cell: Cell) -> str:
    text = f"**{for_markdown(cell.text)}**" if cell.best else for_markdown(cell.text)
    return f"{text}<sup>{for_markdown(cell.marks)}</sup>" if cell.marks else text
