"""Batches of Arrow as rows; a row's number from 1 stands where text files have a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..data.qrels import Judgement
from ..data.run import RunRow
from .arrow import plain_ids
from .arrow_stream import StreamColumns, plain_batches
from .cells import judgement, run_row
from .columns import Columns
from .faults import fault
from .grades import GradeMap

if TYPE_CHECKING:
    import pyarrow as pa


def run_rows(batches: Iterable[pa.RecordBatch], names: list[str], places: StreamColumns, source: str) -> Iterator[RunRow]:
    """The rows of a run, of the columns of these names, which `places` lays out."""
    rank, tag = (None if place < 0 else place for place in (places.rank, places.tag))
    columns = Columns(places.query, places.doc, places.score, rank, tag)
    for line, cells in _numbered(plain_batches(batches, names, places, source), source):
        yield run_row(cells, columns, source=source, line=line)


def judgements(
    batches: Iterable[pa.RecordBatch], names: list[str], source: str, grade_map: GradeMap | None
) -> Iterator[Judgement]:
    """The judgements of qrels, of the columns of these names: query, document and grade."""
    for line, cells in _numbered(_with_plain_ids(batches, names, source), source):
        yield judgement(cells, Columns(0, 1, 2), grade_map, source=source, line=line)


def _with_plain_ids(batches: Iterable[pa.RecordBatch], names: list[str], source: str) -> Iterator[list[Any]]:
    done = 0
    for batch in batches:
        query, doc, grade = (batch.column(name) for name in names)
        yield [
            plain_ids(query, "query", names[0], source, done),
            plain_ids(doc, "document", names[1], source, done),
            grade,
        ]
        done += batch.num_rows


def _numbered(batches: Iterable[Any], source: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    line = 0
    for batch in batches:
        for cells in zip(*(_listed(column, source) for column in batch), strict=True):
            line += 1
            yield line, cells


def _listed(column: Any, source: str) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError as error:
        raise fault("encoding", source=source, encoding="UTF-8", reason=error.reason) from None
    return values
