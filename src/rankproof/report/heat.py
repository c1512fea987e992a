"""A table of values by segment and system, coloured from the lowest to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .._charts.heatmap import heat_levels
from ..analysis.segments.rows import LEAST
from ..analysis.table import Table
from ..views.grid import Cell, Grid
from .sheet import Sheet, sheet_of

_LEVELS = 9
_SIGNS = {"lower": "▼", "higher": "▲"}


def heat_sheet(by: str, tables: Sequence[Table]) -> Sheet:
    """Segments down, systems across; marked where a segment is told from the rest."""
    details = [table for table in tables if "system" in table.facts]
    overview = next((table for table in tables if "system" not in table.facts), None)
    if overview is None:
        return sheet_of(details[0])
    verdicts = {(row["system"], row[by]): str(row["verdict"]) for table in details for row in table.records()}
    told = any(verdict in _SIGNS for verdict in verdicts.values())
    notes = (
        *(["▼ ▲ lower or higher than the rest of the queries, by more than chance."] if told else []),
        *([f"Of segments with fewer than {LEAST} queries nothing is claimed."] if _is_few(overview) else []),
    )
    sheet = sheet_of(overview)
    cells = tuple(
        tuple(_signed(cell, verdicts.get((_system(sheet.grid, at), row), "")) for at, cell in enumerate(line))
        for row, line in zip(sheet.grid.rows, sheet.grid.cells, strict=True)
    )
    return replace(sheet, grid=replace(sheet.grid, cells=cells), notes=(*notes, *sheet.notes), heats=_heats(overview))


def _system(grid: Grid, at: int) -> str:
    return grid.columns[at] if at else ""


def _is_few(table: Table) -> bool:
    return any(isinstance(row[1], int) and row[1] < LEAST for row in table.rows)


def _signed(cell: Cell, verdict: str) -> Cell:
    return replace(cell, marks=_SIGNS.get(verdict, ""))


def _heats(table: Table) -> dict[tuple[int, int], int]:
    """The colour of each value; the first column names the segment, the second counts its queries."""
    values = {(row, at - 1): cells[at] for row, cells in enumerate(table.rows) for at in range(2, len(cells))}
    known = {place: float(value) for place, value in values.items() if isinstance(value, int | float)}
    return {place: round(_LEVELS * level) for place, level in heat_levels(known).items()}
