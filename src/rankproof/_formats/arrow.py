"""Arrow tables and Parquet files by pyarrow: only the needed columns, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankproof._data.grades import GradeReader
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.row_errors import row_error
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import Order
from rankproof._extras import extra
from rankproof._formats.columns import Columns, Kind, find_columns, kind_from_names
from rankproof._formats.rows import (
    ParseOptions,
    build_qrels,
    build_run,
    id_of_value,
    judgement,
    rank_of_value,
    ranked_rows,
    run_row,
)
from rankproof._io.file_errors import file_error
from rankproof._io.memory import MemoryLimit, MemoryWatch, check_memory
from rankproof._io.open import read_all_bytes
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_BYTES = ("binary", "large_binary", "binary_view", "fixed_size_binary")
_TEXTS = ("string", "large_string", "string_view")


def load_pyarrow() -> Any:
    """The module pyarrow; an error names the extra that installs it."""
    with extra("parquet"):
        import pyarrow
    return pyarrow


def is_text(kind: Any) -> bool:
    """Whether a column of this type holds text, with or without a dictionary."""
    values = kind.value_type if load_pyarrow().types.is_dictionary(kind) else kind
    return str(values) in _TEXTS


def id_column(column: Any, role: str, name: str, source: str, done: int) -> Any:
    """The column as ids, which are text (with a dictionary, or as bytes) or integers; `done` is the number of earlier rows."""
    kind = column.type
    types = load_pyarrow().types
    if is_text(kind):
        return text_column(column)
    if types.is_integer(kind):
        return column
    if types.is_dictionary(kind):
        return id_column(column.dictionary_decode(), role, name, source, done)
    if str(kind).partition("[")[0] in _BYTES:
        ids = [
            None if value is None else id_of_value(value, role, source=source, line=line)
            for line, value in _enumerate_rows(column, done)
        ]
        return load_pyarrow().array(ids, load_pyarrow().large_string())
    if len(column) and (types.is_floating(kind) or types.is_null(kind)):
        id_of_value(column[0].as_py(), role, source=source, line=done + 1)
    raise file_error("column-type", source=source, role=role, name=name, kind=str(kind), expected="text or integers")


def text_column(column: Any) -> Any:
    """The column with string views copied, as exporting them can crash pyarrow before version 25."""
    pa = load_pyarrow()
    # Other types need no copy, which would take the memory of the column again.
    if "string_view" not in str(column.type):
        return column
    return (column.dictionary_decode() if pa.types.is_dictionary(column.type) else column).cast(pa.large_string())


def score_column(column: Any, name: str, source: str) -> Any:
    """The column of numbers as float64."""
    pa = load_pyarrow()
    kind = column.type
    if pa.types.is_float64(kind):
        return column
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64(), safe=False)
    raise file_error("column-type", source=source, role="score", name=name, kind=str(kind), expected="numbers")


def rank_column(column: Any) -> Any:
    """The column as integers, with null for a value that is not a whole number."""
    pa = load_pyarrow()
    if pa.types.is_integer(column.type):
        return column
    if not pa.types.is_floating(column.type):
        return pa.array([rank_of_value(value) for value in column.to_pylist()], pa.int64())
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    whole = (np.abs(values) < 2.0**63) & (np.floor(values) == values)
    return pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole)


def scores_from_ranks(ranks: Any) -> Any:
    """The negated ranks, for a run without scores; 0 for a missing rank, which alignment rejects."""
    pa = load_pyarrow()
    values = ranks.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
    return pa.array(-values)


def _enumerate_rows(column: Any, done: int) -> Any:
    return enumerate(column.to_pylist(), start=done + 1)


class StreamColumns(NamedTuple):
    """The indexes of a run's columns in a stream; rank and tag are -1 if they are missing."""

    query: int = 0
    doc: int = 1
    score: int = 2
    rank: int = -1
    tag: int = -1


Batches = Callable[[], Iterable["pa.RecordBatch"]]


class RowStream:
    """The batches of a run as an Arrow stream that can be read more than once, so that batches need not be kept.

    It is opened once when created, so that columns of a wrong type raise an error then. `error` is the exception that stopped it,
    which Arrow's interface passes on only as text.
    """

    reopens = True

    def __init__(self, batches: Batches, names: list[str], places: StreamColumns, source: str) -> None:
        self.error: BaseException | None = None
        self._batches, self._names, self._places, self._source = batches, names, places, source
        self._ready = [self._opened()]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader: Any = self._ready.pop() if self._ready else self._opened()
        return reader.__arrow_c_stream__(requested_schema)

    def _opened(self) -> pa.RecordBatchReader:
        rows = self._rows()
        first = next(rows, None)
        if first is None:
            raise row_error("no-rows", source=self._source)
        reader: pa.RecordBatchReader = load_pyarrow().RecordBatchReader.from_batches(first.schema, chain((first,), rows))
        return reader

    def _rows(self) -> Iterator[pa.RecordBatch]:
        arrow, labels = load_pyarrow(), _column_names(self._places)
        try:
            for columns in stream_batches(self._batches(), self._names, self._places, self._source):
                yield arrow.record_batch(columns, names=labels)
        except BaseException as error:
            self.error = error
            raise


def stream_layout(schema: pa.Schema, source: str, order: Order) -> tuple[StreamColumns, list[str]]:
    """The layout of the stream and the names of its columns; tags must be text.

    For a run without scores the rank column takes the place of the scores.
    """
    columns = find_columns(schema.names, "run", source=source, order=order)
    taken = [columns.query, columns.doc, columns.value]
    rank = tag = -1
    if columns.rank is not None:
        rank = len(taken)
        taken.append(columns.rank)
    if columns.tag is not None and is_text(schema.field(columns.tag).type):
        tag = len(taken)
        taken.append(columns.tag)
    return StreamColumns(rank=rank, tag=tag), [schema.names[place] for place in taken]


def stream_batches(
    batches: Iterable[pa.RecordBatch], names: list[str], places: StreamColumns, source: str
) -> Iterator[list[Any]]:
    """The columns of each batch, in the order and types of the stream."""
    done = 0
    for batch in batches:
        query, doc, score, *rest = (batch.column(name) for name in names)
        if places.rank >= 0:
            rest[0] = rank_column(rest[0])
        if places.tag >= 0:
            rest[-1] = text_column(rest[-1])
        unscored = places.rank >= 0 and names[places.score] == names[places.rank]
        yield [
            id_column(query, "query", names[0], source, done),
            id_column(doc, "document", names[1], source, done),
            scores_from_ranks(rest[0]) if unscored else score_column(score, names[2], source),
            *rest,
        ]
        done += batch.num_rows


def _column_names(places: StreamColumns) -> list[str]:
    return [name for name, place in zip(StreamColumns._fields, places, strict=True) if place >= 0]


def run_rows(batches: Iterable[pa.RecordBatch], names: list[str], places: StreamColumns, source: str) -> Iterator[RunRow]:
    """The rows of a run from the columns of these names, in the layout of `places`."""
    rank, tag = (None if place < 0 else place for place in (places.rank, places.tag))
    columns = Columns(places.query, places.doc, places.score, rank, tag)
    for line, cells in _numbered_rows(stream_batches(batches, names, places, source), source):
        yield run_row(cells, columns, source=source, line=line)


def judgements(batches: Iterable[pa.RecordBatch], names: list[str], columns: Columns, grades: GradeReader) -> Iterator[Judgement]:
    """The judgements from the columns of these names, which have the roles of `columns`."""
    for line, cells in _numbered_rows(_with_id_columns(batches, names, columns, grades.source), grades.source):
        yield judgement(cells, columns, grades, line=line)


def _with_id_columns(batches: Iterable[pa.RecordBatch], names: list[str], columns: Columns, source: str) -> Iterator[list[Any]]:
    roles = {columns.query: "query", columns.doc: "document", columns.subtopic: "subtopic"}
    done = 0
    for batch in batches:
        cells = [batch.column(name) for name in names]
        yield [
            id_column(column, roles[place], names[place], source, done) if place in roles else column
            for place, column in enumerate(cells)
        ]
        done += batch.num_rows


def _numbered_rows(batches: Iterable[Any], source: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    line = 0
    for batch in batches:
        for cells in zip(*(_to_list(column, source) for column in batch), strict=True):
            line += 1
            yield line, cells


def _to_list(column: Any, source: str) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError as error:
        raise file_error("encoding", source=source, encoding="UTF-8", reason=error.reason) from None
    return values


_BATCH_ROWS = 1 << 16
_LARGE_GROUP_BYTES = 1 << 28


class ParquetFormat:
    """A table of typed columns."""

    keeps_judge_labels, keeps_empty_queries = True, False

    def read_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels:
        file = open_parquet(source)
        columns = find_columns(file.schema_arrow.names, "qrels", source=source.name)
        names = [file.schema_arrow.names[place] for place in columns.places]
        grades = GradeReader(source.name, options.grade_map)
        rows = judgements(parquet_batches(file, names, source.name), names, columns.compacted(), grades)
        return build_qrels(rows, grades, options.on_conflict)

    def read_run(self, source: ByteSource, name: str, options: ParseOptions) -> Run:
        file = open_parquet(source)
        places, names = stream_layout(file.schema_arrow, source.name, options.read_options.order)
        rows = run_rows(parquet_batches(file, names, source.name), names, places, source.name)
        return build_run(rows, name=name, source=source.name, read_options=options.read_options)

    def run_stream(self, source: ByteSource, order: Order) -> tuple[RowStream, StreamColumns]:
        """The run as an Arrow stream for alignment, and its layout; queries and tags have dictionaries."""
        places, names = stream_layout(open_parquet(source).schema_arrow, source.name, order)
        dictionaries = [names[0], *names[places.tag :][: places.tag >= 0]]

        def batches() -> Iterator[pa.RecordBatch]:
            return parquet_batches(open_parquet(source, dictionaries), names, source.name)

        return RowStream(batches, names, places, source.name), places

    def kind(self, source: ByteSource, options: ParseOptions) -> Kind | None:
        return kind_from_names(open_parquet(source).schema_arrow.names)

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        pa = load_pyarrow()
        rows = list(ranked_rows(run))
        columns = {
            "query_id": pa.array([row.query for row in rows], pa.string()),
            "doc_id": pa.array([row.doc for row in rows], pa.string()),
            "rank": pa.array([row.rank for row in rows], pa.int64()),
            "score": pa.array([row.score for row in rows], pa.float64()),
        }
        if len(run.tags) == 1:
            columns["tag"] = pa.array([run.tags[0]] * len(rows), pa.string())
        yield _parquet_blocks(pa.table(columns))

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        pa = load_pyarrow()
        rows = list(qrels.rows())
        columns = {
            "query_id": pa.array([row.query for row in rows], pa.string()),
            "doc_id": pa.array([row.doc for row in rows], pa.string()),
            "relevance": pa.array([row.grade for row in rows], pa.int64()),
        }
        if qrels.subtopics:
            columns["subtopic"] = pa.array([row.subtopic for row in rows], pa.string())
        if qrels.judge_labels:
            columns["judged_by"] = pa.array([row.judged_by for row in rows], pa.string())
        yield _parquet_blocks(pa.table(columns))


def open_parquet(source: ByteSource, dictionaries: list[str] | None = None) -> Any:
    """The file as a pyarrow ParquetFile; `dictionaries` are columns to read with one."""
    pa = load_pyarrow()
    with extra("parquet"):
        import pyarrow.parquet as pq

    place = source.path if source.path is not None else pa.BufferReader(read_all_bytes(source))
    try:
        return pq.ParquetFile(place, read_dictionary=dictionaries, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise _read_error(error, source.name) from None


def parquet_batches(file: Any, names: list[str], source: str) -> Iterator[pa.RecordBatch]:
    """The columns of the file, some rows at a time; the file is closed at the end."""
    pa = load_pyarrow()
    check_memory(_row_group_bytes(file.metadata, frozenset(names)), source)
    limit, memory = MemoryLimit(source), MemoryWatch(source)
    batches = file.iter_batches(batch_size=_BATCH_ROWS, columns=list(dict.fromkeys(names)), use_threads=False)
    try:
        while True:
            # A few bytes of a dictionary may become gigabytes of text, which no size in the file says.
            with limit:
                batch = next(batches, None)
            if batch is None:
                return
            memory.add(batch.nbytes)
            yield batch
    except (pa.ArrowException, OSError) as error:
        raise _read_error(error, source) from None
    finally:
        file.close()


def _row_group_bytes(metadata: Any, names: frozenset[str]) -> int:
    """The largest size of these columns in a row group, decompressed; small row groups are not looked at."""
    groups = (metadata.row_group(at) for at in range(metadata.num_row_groups))
    large = (group for group in groups if group.total_byte_size > _LARGE_GROUP_BYTES)
    columns = ([group.column(at) for at in range(group.num_columns)] for group in large)
    sizes = (
        sum(chunk.total_uncompressed_size for chunk in group_columns if chunk.path_in_schema.split(".")[0] in names)
        for group_columns in columns
    )
    return max(sizes, default=0)


def _read_error(error: Exception, source: str) -> InputError:
    return file_error("parquet", source=source, reason=str(error).splitlines()[0] if str(error) else type(error).__name__)


def _parquet_blocks(table: pa.Table) -> bytes:
    with extra("parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue().to_pybytes()


PARQUET = ParquetFormat()
