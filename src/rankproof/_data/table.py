"""The small table that every analysis gives, and that every view can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

ColumnKind = Literal["text", "value", "difference", "points", "share", "p", "count", "number", "interval", "flag", "marks"]
"""How a cell is read: `value` is a measure's, `difference` one of two values, `points` a difference in percentage points, `share`
a part of 1, `p` a p-value, `count` a whole number, `interval` a pair (low, high) of values or differences, `marks`
letters that stand raised behind the cell before them."""

CellValue = str | float | int | bool | tuple[float, float] | None
"""A cell as it was computed, never rounded; None where there is nothing to say."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name, how its cells are read, and a sentence that says what it is."""

    name: str
    kind: ColumnKind = "text"
    about: str = ""


@dataclass(frozen=True, slots=True)
class TableSummary:
    """What of a table a first screen has room for: columns by name, rows and sentences by place (all sentences where None)."""

    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    sentences: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; `sentences` say in words what the rows show, `notes` what must be known beside them.

    `facts` are what the table rests on (n, seed, samples, alpha, method), as JSON. `strong` are the indexes of rows that
    stand out. `verdict_first` puts the sentences before the rows where people read. `glance` is what a first screen shows of it,
    where that is less than all.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[CellValue, ...], ...]
    sentences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    highlighted: frozenset[int] = frozenset()
    verdict_first: bool = False
    summary: TableSummary | None = None

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), "every row has a cell for each column"

    def summarised(self) -> Table | None:
        """The table with what a first screen has room for; None where nothing is left to tell."""
        if self.summary is None:
            return self
        if not self.sentences and not self.summary.rows:
            return None
        said = range(len(self.sentences)) if self.summary.sentences is None else self.summary.sentences
        kept = [at for at, column in enumerate(self.columns) if column.name in self.summary.columns]
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(tuple(self.rows[place][at] for at in kept) for place in self.summary.rows) if kept else (),
            sentences=tuple(self.sentences[at] for at in said),
            highlighted=frozenset(new for new, place in enumerate(self.summary.rows) if place in self.highlighted),
            summary=None,
        )

    def without(self, name: str) -> Table:
        """The table less a column."""
        kept = [at for at, column in enumerate(self.columns) if column.name != name]
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[at] for at in kept), rows=rows)

    def records(self) -> list[dict[str, CellValue]]:
        """Each row as column name to cell."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]
