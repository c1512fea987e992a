"""A table as the page shows it: a caption, named columns with what they mean, and cells that are ready to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..analysis.table import Table
from ..views.analysis import grid_of
from ..views.grid import Grid


@dataclass(frozen=True, slots=True)
class Sheet:
    """A grid under its caption; `abouts` say what columns mean, `heats` colour cells by row and column, from 0 to 9.

    `notes` stand below it. `told` are sentences that stand before it.
    """

    caption: str
    grid: Grid
    abouts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    heats: Mapping[tuple[int, int], int] = field(default_factory=dict)
    told: tuple[str, ...] = ()

    def heat(self, row: int, column: int) -> str:
        """The class of a cell that has a colour."""
        level = self.heats.get((row, column))
        return "" if level is None else f"heat heat-{level}"


def sheet_of(table: Table, *, told: bool = False) -> Sheet:
    """An analysis' table; its sentences too where nothing else on the page says them."""
    abouts = {column.name: column.about for column in table.columns if column.about}
    return Sheet(table.title, grid_of(table), abouts, table.notes, told=table.sentences if told else ())
