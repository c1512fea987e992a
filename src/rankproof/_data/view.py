"""How values show themselves: as text in a console, and as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from rankproof._extras import extra

if TYPE_CHECKING:
    import pandas
    import polars

    from rankproof._data.table import CellValue, ColumnKind, Table

MAX_ROWS = 10
"""Rows shown of a collection."""


class View(NamedTuple):
    """What a value shows: its title, sentences such as a decision, tables, and notes."""

    title: str
    tables: tuple[Table, ...] = ()
    sentences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Viewed:
    """A value that prints as text and shows as HTML; `_render.views` draws it and is loaded on first use."""

    __slots__ = ()

    def _view(self) -> View:
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(_renderer("views").as_repr(self._view()))

    def __str__(self) -> str:
        return str(_renderer("views").as_text(self._view()))

    def _repr_html_(self) -> str:
        return str(_renderer("views").as_html(self._view()))


class ViewedTables(Viewed):
    """A value with tables that turns into frames, LaTeX, Markdown, CSV and JSON."""

    __slots__ = ()

    def _tables(self) -> tuple[Table, ...]:
        return self._view().tables

    def _frame_columns(self) -> dict[str, Any]:
        """The columns of the frames: those of the first table."""
        if not self._tables():
            return {}
        table = self._tables()[0]
        return {column.name: [_plain(row[at]) for row in table.rows] for at, column in enumerate(table.columns)}

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas data frame."""
        with extra("pandas"):
            import pandas
        return pandas.DataFrame(self._frame_columns())

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars data frame."""
        with extra("polars"):
            import polars
        return polars.DataFrame(self._frame_columns(), strict=False)

    def to_latex(self) -> str:
        """The tables as LaTeX."""
        return self._rendered("as_latex")

    def to_markdown(self) -> str:
        """The tables as Markdown."""
        return self._rendered("as_markdown")

    def to_csv(self) -> str:
        """The tables as CSV."""
        return self._rendered("as_csv")

    def to_json(self) -> str:
        """The tables as JSON."""
        return self._rendered("as_json")

    def _rendered(self, name: str) -> str:
        return str(getattr(_renderer("table"), name)(self._tables(), _renderer("formats").RenderOptions()))


def collection_view(title: str, columns: Mapping[str, ColumnKind], rows: Iterable[tuple[CellValue, ...]], count: int) -> View:
    """The first rows of a collection of `count` rows; `columns` has the kind of each column by name."""
    from rankproof._data.table import Column, Table

    shown = tuple(islice(rows, MAX_ROWS))
    more = (f"… {count - len(shown)} more rows",) if count > len(shown) else ()
    heads = tuple(Column(name, kind) for name, kind in columns.items())
    return View(title, (Table("rows", "", heads, shown, more),) if shown else ())


def _renderer(module: str) -> Any:
    return import_module(f"rankproof._render.{module}")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


_Item = TypeVar("_Item")


class Deferred(Sequence[_Item], Generic[_Item]):
    """Items that cost more than what they belong to, and that are often not read, such as notes and tables."""

    __slots__ = ("_compute", "_items")

    def __init__(self, compute: Callable[[], tuple[_Item, ...]]) -> None:
        self._compute: Callable[[], tuple[_Item, ...]] | None = compute
        self._items: tuple[_Item, ...] = ()

    def _known(self) -> tuple[_Item, ...]:
        compute = self._compute
        if compute is not None:
            self._items = compute()
            # The function holds what the items are computed from.
            self._compute = None
        return self._items

    @overload
    def __getitem__(self, place: int) -> _Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[_Item, ...]: ...
    def __getitem__(self, place: int | slice) -> _Item | tuple[_Item, ...]:
        return self._known()[place]

    def __len__(self) -> int:
        return len(self._known())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._known() == tuple(other)

    def __repr__(self) -> str:
        return repr(self._known())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._known(),)
