"""Columns of Arrow (of Parquet files and frames) as rows, and as the plain stream that alignment takes.

A run's stream has the columns query, document, score and, where there are ranks, rank. Ids are text (query ids may be a
dictionary of text), scores float64, ranks int64; nothing is null. A row's number from 1 stands where text files have a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..data.qrels import Judgement
from ..data.run import RunRow
from ..errors import MissingExtraError, RankproofError
from .columns import Columns, Kind, columns_of
from .faults import fault
from .grades import grade_of_value
from .rows import Options
from .values import id_of_value, score_of_value

if TYPE_CHECKING:
    import pyarrow as pa

_ROLES = ("query", "document")


class StreamColumns(NamedTuple):
    """Where the parts of a row stand in a run's stream; rank is -1 where there is none."""

    query: int = 0
    doc: int = 1
    score: int = 2
    rank: int = -1


def load_pyarrow() -> Any:
    """The library, or the error that says how to get it."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    return pyarrow


def wanted(schema: pa.Schema, kind: Kind, source: str) -> tuple[Columns, list[str]]:
    """Which columns to read, and their names in the order query, document, score or grade, rank, tag."""
    columns = columns_of(schema.names, kind, source=source)
    places = [columns.query, columns.doc, columns.value, columns.rank, columns.tag]
    return columns, [schema.names[place] for place in places if place is not None]


class RowStream:
    """A run's batches behind the Arrow stream interface; a fault met while it is read is kept in `fault`."""

    def __init__(self, batches: Iterable[pa.RecordBatch], names: list[str], source: str, *, ranked: bool) -> None:
        self._batches, self._names, self._source = batches, names, source
        self.columns = StreamColumns(rank=3 if ranked else -1)
        self.fault: RankproofError | None = None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        pa = load_pyarrow()
        batches = self._plain()
        first = next(batches, None)
        if first is None:
            first = pa.record_batch({name: [] for name in ("query", "doc", "score")})
        reader = pa.RecordBatchReader.from_batches(first.schema, _chained(first, batches))
        return reader.__arrow_c_stream__(requested_schema)

    def _plain(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from plain_batches(self._batches, self._names, self._source, ranked=self.columns.rank >= 0)
        except RankproofError as error:
            self.fault = error
            raise


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def plain_batches(batches: Iterable[pa.RecordBatch], names: list[str], source: str, *, ranked: bool) -> Iterator[pa.RecordBatch]:
    """The batches with the stream's columns and types."""
    pa = load_pyarrow()
    done = 0
    for batch in batches:
        cells = [batch.column(name) for name in names[: 4 if ranked else 3]]
        plain = [_plain_ids(cells[place], role, source, done, keep_dictionary=place == 0) for place, role in enumerate(_ROLES)]
        plain.append(_plain_scores(cells[2], names[2], source, done))
        if ranked:
            plain.append(cells[3].cast(pa.int64()))
        yield pa.record_batch(plain, names=["query", "doc", "score", "rank"][: len(plain)])
        done += batch.num_rows


def run_rows(batches: Iterable[pa.RecordBatch], names: list[str], columns: Columns, source: str) -> Iterator[RunRow]:
    """The rows of a run, one by one."""
    for line, cells in _cells(batches, names, source):
        query, doc = cells[:2]
        score = score_of_value(cells[2], query=query, doc=doc, source=source, line=line)
        extra = iter(cells[3:])
        rank = next(extra) if columns.rank is not None else None
        tag = next(extra) if columns.tag is not None else None
        yield RunRow(query, doc, score, rank if type(rank) is int else None, line, tag if isinstance(tag, str) else None)


def judgements(batches: Iterable[pa.RecordBatch], names: list[str], source: str, options: Options) -> Iterator[Judgement]:
    """The judgements of qrels, one by one."""
    for line, (query, doc, value) in _cells(batches, names, source):
        yield Judgement(
            query, doc, grade_of_value(value, options.grade_map, query=query, doc=doc, source=source, line=line), line
        )


def _cells(batches: Iterable[pa.RecordBatch], names: list[str], source: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    line = 0
    for batch in batches:
        ids = [_plain_ids(batch.column(name), role, source, line) for name, role in zip(names, _ROLES, strict=False)]
        columns = [_listed(column, line, source) for column in (*ids, *(batch.column(name) for name in names[2:]))]
        for cells in zip(*columns, strict=True):
            line += 1
            for role, value in zip(_ROLES, cells, strict=False):
                id_of_value(value, role, source=source, line=line)
            yield line, cells


def _listed(column: Any, done: int, source: str) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError as error:
        raise fault("encoding", source=source, encoding="UTF-8", reason=f"{error.reason}, after row {done}") from None
    return values


def _plain_ids(column: Any, role: str, source: str, done: int, *, keep_dictionary: bool = False) -> Any:
    pa = load_pyarrow()
    types = pa.types
    kind = column.type
    if column.null_count:
        raise fault("id-null", source=source, line=done + _first_null(column), column=role)
    if types.is_dictionary(kind) and types.is_string(kind.value_type) and keep_dictionary:
        return column
    if types.is_dictionary(kind):
        return _plain_ids(column.dictionary_decode(), role, source, done)
    if types.is_string(kind) or types.is_large_string(kind):
        return column
    if types.is_integer(kind):
        return column.cast(pa.string())
    if types.is_floating(kind) and len(column):
        raise fault("id-float", source=source, line=done + 1, column=role, token=repr(column[0].as_py()))
    if str(kind) in ("string_view", "binary", "large_binary", "binary_view"):
        return _as_text(column, source)
    raise fault("column-type", source=source, role=role, name=role, kind=str(kind), expected="text or integers")


def _as_text(column: Any, source: str) -> Any:
    pa = load_pyarrow()
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise fault("encoding", source=source, encoding="UTF-8", reason=str(error)) from None


def _plain_scores(column: Any, name: str, source: str, done: int) -> Any:
    pa = load_pyarrow()
    kind = column.type
    if column.null_count:
        raise fault("score-null", source=source, line=done + _first_null(column))
    if pa.types.is_float64(kind):
        return column
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False)
    raise fault("column-type", source=source, role="score", name=name, kind=str(kind), expected="numbers")


def _first_null(column: Any) -> int:
    return int(column.is_null().to_pylist().index(True)) + 1
