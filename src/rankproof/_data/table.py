"""Tables: the results of analyses, in a form that every output format can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

ColumnKind = Literal[
    "text", "value", "difference", "points", "share", "risk", "p", "count", "number", "interval", "flag", "marks"
]
"""The meaning of a cell: `value` of a measure, `difference` of two values, `points` a difference in percentage points, `share`
a fraction of 1, `risk` a probability that is never shown as 0%, `p` a p-value, `count` an integer, `interval` a pair (low, high)
of values or differences, `marks` letters that are shown as a superscript of the previous cell."""

CellValue = str | float | int | bool | tuple[float, float] | None
"""A cell as computed, never rounded; None for an empty one."""


class Column(NamedTuple):
    """A column: its name, the meaning of its cells, and a sentence about it."""

    name: str
    kind: ColumnKind = "text"
    about: str = ""


class TableSummary(NamedTuple):
    """The parts of a table that are shown without details: columns by name, rows and sentences by index (None: all sentences)."""

    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    sentences: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table with columns and rows. `sentences` summarise the rows; `notes` are remarks.

    `facts` are the settings behind the table (n, seed, samples, alpha, method), as JSON. `highlighted` are indexes of rows.
    `verdict_first` shows the sentences before the rows. `summary` is the short form, None where it is the whole table.
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
        """The short form of the table; None where it is empty."""
        if self.summary is None:
            return self
        sentences = range(len(self.sentences)) if self.summary.sentences is None else self.summary.sentences
        if not sentences and not self.summary.rows:
            return None
        kept = [at for at, column in enumerate(self.columns) if column.name in self.summary.columns]
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(tuple(self.rows[place][at] for at in kept) for place in self.summary.rows) if kept else (),
            sentences=tuple(self.sentences[at] for at in sentences),
            highlighted=frozenset(new for new, place in enumerate(self.summary.rows) if place in self.highlighted),
            summary=None,
        )

    def without(self, name: str) -> Table:
        """The table without a column."""
        kept = [at for at, column in enumerate(self.columns) if column.name != name]
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[at] for at in kept), rows=rows)

    def records(self) -> list[dict[str, CellValue]]:
        """Each row as column name to cell."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]
