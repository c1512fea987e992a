"""Parquet by pyarrow: only the needed columns, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankproof._data.grades import GradeReader
from rankproof._data.ordering import Order
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._extras import extra
from rankproof._formats.arrow import RowStream, StreamColumns, judgements, load_pyarrow, run_rows, stream_layout
from rankproof._formats.columns import Kind, find_columns, kind_from_names
from rankproof._formats.rows import ParseOptions, build_qrels, build_run, ranked_rows
from rankproof._io.file_errors import file_error
from rankproof._io.memory import MemoryLimit, MemoryWatch, check_memory
from rankproof._io.open import read_all_bytes
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


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
