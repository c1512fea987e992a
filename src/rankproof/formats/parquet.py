"""Parquet, by pyarrow: only the columns that are needed, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._extras import extra
from ..data.qrels import Qrels
from ..data.reading import Order
from ..data.run import Run
from ..data.source import Source
from ..errors import InputError
from .arrow import load_pyarrow
from .arrow_rows import judgements, run_rows
from .arrow_stream import RowStream, StreamColumns, stream_layout
from .columns import Kind, columns_of, kind_by_names
from .faults import fault
from .opening import all_bytes
from .ranked import ranked_rows
from .rows import Options, qrels_of, run_of

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 1 << 16


class ParquetFormat:
    """A table of typed columns."""

    def read_qrels(self, source: Source, options: Options) -> Qrels:
        file = _opened(source)
        columns = columns_of(file.schema_arrow.names, "qrels", source=source.name)
        names = [file.schema_arrow.names[place] for place in columns.places]
        rows = judgements(_batches(file, names, source.name), names, source.name, options.grade_map)
        return qrels_of(rows, source=source.name)

    def read_run(self, source: Source, name: str, options: Options) -> Run:
        file = _opened(source)
        places, names = stream_layout(file.schema_arrow, source.name, options.reading.order)
        rows = run_rows(_batches(file, names, source.name), names, places, source.name)
        return run_of(rows, name=name, source=source.name, reading=options.reading)

    def run_stream(self, source: Source, order: Order) -> tuple[RowStream, StreamColumns]:
        """The run as an Arrow stream for alignment, and where its columns stand; queries and tags come by dictionary."""
        places, names = stream_layout(_opened(source).schema_arrow, source.name, order)
        dictionaries = [names[0], *names[places.tag :][: places.tag >= 0]]

        def batches() -> Iterator[pa.RecordBatch]:
            return _batches(_opened(source, dictionaries), names, source.name)

        return RowStream(batches, names, places, source.name), places

    def kind(self, source: Source, options: Options) -> Kind | None:
        return kind_by_names(_opened(source).schema_arrow.names)

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
        yield _written(pa.table(columns))

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        pa = load_pyarrow()
        rows = [(query, doc, grade) for query, docs in qrels.items() for doc, grade in docs.items()]
        queries, docs, grades = zip(*rows, strict=True) if rows else ((), (), ())
        columns = {"query_id": pa.array(queries, pa.string()), "doc_id": pa.array(docs, pa.string())}
        yield _written(pa.table({**columns, "relevance": pa.array(grades, pa.int64())}))


def _opened(source: Source, dictionaries: list[str] | None = None) -> Any:
    pa = load_pyarrow()
    with extra("parquet"):
        import pyarrow.parquet as pq

    place = source.path if source.path is not None else pa.BufferReader(all_bytes(source))
    try:
        return pq.ParquetFile(place, read_dictionary=dictionaries, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(error, source.name) from None


def _batches(file: Any, names: list[str], source: str) -> Iterator[pa.RecordBatch]:
    pa = load_pyarrow()
    try:
        yield from file.iter_batches(batch_size=_BATCH_ROWS, columns=list(dict.fromkeys(names)), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(error, source) from None
    finally:
        file.close()


def _unreadable(error: Exception, source: str) -> InputError:
    return fault("parquet", source=source, reason=str(error).splitlines()[0] if str(error) else type(error).__name__)


def _written(table: pa.Table) -> bytes:
    with extra("parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue().to_pybytes()


PARQUET = ParquetFormat()
