"""Tables: the results of analyses, in a form that every output format can show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

ColumnKind = Literal[
    "text", "value", "difference", "points", "share", "risk", "p", "count", "number", "interval", "flag", "marks"
]
"""The meaning of a cell: `value` of a measure, `difference` of two values, `points` a difference in percentage points, `share`
a fraction of 1, `risk` a probability that is never shown as 0%, `p` a p-value, `count` an integer, `interval` a pair (low, high)
of values or differences, `marks` letters that are shown as a superscript of the previous cell."""

CellValue = str | float | int | bool | tuple[float, float] | None
"""A cell as computed, never rounded; None for an empty one. A text in a column of numbers is shown as it is."""
Place = tuple[int, int]
"""The row and the column of a cell."""


class Column(NamedTuple):
    """A column: its name, the meaning of its cells, and a sentence about it.

    The column with the highest `drop_order` is left out first if the table is too wide.
    """

    name: str
    kind: ColumnKind = "text"
    about: str = ""
    drop_order: int = 0


class FilledColumn(NamedTuple):
    """A column with its cells by row; `best` are the rows with the best value."""

    column: Column
    cells: Sequence[CellValue]
    best: Collection[int] = ()


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
    `best` are the cells with the best value, `levels` the colours of cells from 0 to 9 and `links` their addresses on a page, for
    formats that can show them.
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
    best: frozenset[Place] = frozenset()
    levels: Mapping[Place, int] = field(default_factory=dict)
    links: Mapping[Place, str] = field(default_factory=dict)

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
        chosen = replace(self, sentences=tuple(self.sentences[at] for at in sentences), summary=None)
        return chosen.with_columns(kept).with_rows(self.summary.rows if kept else ())

    def with_rows(self, kept: Sequence[int]) -> Table:
        """The table with these rows, in this order."""
        moved = {row: new for new, row in enumerate(kept)}
        return replace(
            self,
            rows=tuple(self.rows[row] for row in kept),
            highlighted=frozenset(moved[row] for row in self.highlighted if row in moved),
            best=frozenset((moved[row], at) for row, at in self.best if row in moved),
            levels={(moved[row], at): level for (row, at), level in self.levels.items() if row in moved},
            links={(moved[row], at): link for (row, at), link in self.links.items() if row in moved},
        )

    def with_columns(self, kept: Sequence[int]) -> Table:
        """The table with these columns only."""
        moved = {at: new for new, at in enumerate(kept)}
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(tuple(row[at] for at in kept) for row in self.rows),
            best=frozenset((row, moved[at]) for row, at in self.best if at in moved),
            levels={(row, moved[at]): level for (row, at), level in self.levels.items() if at in moved},
            links={(row, moved[at]): link for (row, at), link in self.links.items() if at in moved},
        )

    def without_sentences(self) -> Table:
        """The rows alone, where the sentences are shown elsewhere."""
        return replace(self, sentences=())

    def without(self, name: str) -> Table:
        """The table without a column."""
        return self.with_columns([at for at, column in enumerate(self.columns) if column.name != name])

    def narrowed(self, fits: Callable[[Table], bool]) -> Table:
        """The table with as many columns as fit, but at least two; the highest `drop_order` is left out first."""
        if len(self.columns) <= 2 or fits(self):
            return self
        last = max(range(1, len(self.columns)), key=lambda at: self.columns[at].drop_order)
        return self.with_columns([at for at in range(len(self.columns)) if at != last]).narrowed(fits)

    def records(self) -> list[dict[str, CellValue]]:
        """Each row as column name to cell."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


def table_of_columns(name: str, title: str, columns: Sequence[FilledColumn]) -> Table:
    """A table of columns with their cells; the first one names the rows."""
    best = frozenset((row, at) for at, filled in enumerate(columns) for row in filled.best)
    rows = tuple(zip(*(filled.cells for filled in columns), strict=True))
    return Table(name, title, tuple(filled.column for filled in columns), rows, best=best)
