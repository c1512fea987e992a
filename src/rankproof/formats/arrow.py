"""Columns of Arrow (of Parquet files and frames) as rows; a row's number from 1 stands where text files have a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..data.qrels import Judgement
from ..data.run import RunRow
from ..errors import MissingExtraError
from .columns import Columns, Kind, columns_of
from .faults import fault
from .grades import grade_of_value
from .rows import Options
from .values import id_of_value, score_of_cell

if TYPE_CHECKING:
    import pyarrow as pa

_BYTES = ("binary", "large_binary", "binary_view", "fixed_size_binary")
_TEXTS = ("string", "large_string", "string_view")


def load_pyarrow() -> Any:
    """The library, or the error that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    return pyarrow


def wanted(schema: pa.Schema, kind: Kind, source: str) -> tuple[Columns, list[str]]:
    """Which columns to read, and their names in the order query, document, score or grade, rank, tag."""
    columns = columns_of(schema.names, kind, source=source)
    places = [columns.query, columns.doc, columns.value, columns.rank, columns.tag]
    return columns, [schema.names[place] for place in places if place is not None]


def run_rows(batches: Iterable[pa.RecordBatch], names: list[str], columns: Columns, source: str) -> Iterator[RunRow]:
    """The rows of a run, one by one."""
    for line, (query, doc, value, *extra) in _cells(_scored(batches, names[2], source), names, source):
        score = score_of_cell(value, query=query, doc=doc, source=source, line=line)
        rank = extra[0] if columns.rank is not None else None
        tag = extra[-1] if columns.tag is not None else None
        yield RunRow(query, doc, score, rank if type(rank) is int else None, line, tag if isinstance(tag, str) else None)


def judgements(batches: Iterable[pa.RecordBatch], names: list[str], source: str, options: Options) -> Iterator[Judgement]:
    """The judgements of qrels, one by one."""
    for line, (query, doc, value) in _cells(batches, names, source):
        grade = grade_of_value(value, options.grade_map, query=query, doc=doc, source=source, line=line)
        yield Judgement(query, doc, grade, line)


def checked_ids(column: Any, role: str, name: str, source: str, done: int) -> Any:
    """The column, where it holds text (perhaps by dictionary, perhaps as bytes) or integers; `done` rows came before it."""
    kind = column.type
    types = load_pyarrow().types
    if types.is_dictionary(kind) and str(kind.value_type) not in _TEXTS:
        return checked_ids(column.dictionary_decode(), role, name, source, done)
    if types.is_dictionary(kind) or types.is_integer(kind) or str(kind) in _TEXTS:
        return column
    if str(kind).partition("[")[0] in _BYTES:
        return _as_text(column, source)
    values = column.drop_null()
    if types.is_floating(kind) and len(values):
        raise fault("id-float", source=source, line=done + 1, column=role, token=repr(values[0].as_py()))
    if len(column) and not len(values):
        raise fault("id-null", source=source, line=done + 1, column=role)
    raise fault("column-type", source=source, role=role, name=name, kind=str(kind), expected="text or integers")


def plain_scores(column: Any, name: str, source: str) -> Any:
    """The column as float64, where it holds numbers."""
    pa = load_pyarrow()
    kind = column.type
    if pa.types.is_float64(kind):
        return column
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64(), safe=False)
    raise fault("column-type", source=source, role="score", name=name, kind=str(kind), expected="numbers")


def _cells(batches: Iterable[pa.RecordBatch], names: list[str], source: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The number and the values of each row, its ids as text."""
    line = 0
    for batch in batches:
        query = checked_ids(batch.column(names[0]), "query", names[0], source, line)
        doc = checked_ids(batch.column(names[1]), "document", names[1], source, line)
        rest = [batch.column(name) for name in names[2:]]
        for cells in zip(*(_listed(column, source) for column in (query, doc, *rest)), strict=True):
            line += 1
            yield (
                line,
                (
                    id_of_value(cells[0], "query", source=source, line=line),
                    id_of_value(cells[1], "document", source=source, line=line),
                    *cells[2:],
                ),
            )


def _scored(batches: Iterable[pa.RecordBatch], name: str, source: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        place = batch.schema.names.index(name)
        yield batch.set_column(place, name, plain_scores(batch.column(place), name, source))


def _listed(column: Any, source: str) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError as error:
        raise fault("encoding", source=source, encoding="UTF-8", reason=error.reason) from None
    return values


def _as_text(column: Any, source: str) -> Any:
    pa = load_pyarrow()
    try:
        return column.cast(pa.large_string())
    except pa.ArrowException as error:
        raise fault("encoding", source=source, encoding="UTF-8", reason=str(error)) from None
