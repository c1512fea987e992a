"""A run in Arrow columns as the stream that alignment takes.

Its columns are query, document and score, then rank and tag where there are any. Ids are text or integers, scores float64, ranks
integers, tags text; text may be by dictionary. What alignment refuses (null, empty or broken ids, scores that are null or not
finite) may still be in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from ..data.refusals import refusal
from .arrow import checked_ids, load_pyarrow, plain_scores, wanted

if TYPE_CHECKING:
    import pyarrow as pa


class StreamColumns(NamedTuple):
    """Where the parts of a row stand in a run's stream; rank and tag are -1 where there are none."""

    query: int = 0
    doc: int = 1
    score: int = 2
    rank: int = -1
    tag: int = -1


class ReopeningStream:
    """A stream that begins anew each time that it is asked for, so that nobody has to keep its batches; opened once already."""

    reopens = True

    def __init__(self, opened: Callable[[], pa.RecordBatchReader]) -> None:
        self._opened, self._first = opened, [opened()]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader: Any = self._first.pop() if self._first else self._opened()
        return reader.__arrow_c_stream__(requested_schema)


def run_stream(batches: Iterable[pa.RecordBatch], names: list[str], source: str) -> pa.RecordBatchReader:
    """The batches as a stream; the first is read now, so that columns of a wrong type are refused here."""
    plain = plain_batches(batches, names, source)
    first = next(plain, None)
    if first is None:
        raise refusal("no-rows", source=source)
    reader: pa.RecordBatchReader = load_pyarrow().RecordBatchReader.from_batches(first.schema, chain((first,), plain))
    return reader


def stream_layout(schema: pa.Schema, source: str) -> tuple[StreamColumns, list[str]]:
    """Where the stream's columns will stand, and the names of those that it takes; ranks must be integers and tags text."""
    types = load_pyarrow().types
    columns, names = wanted(schema, "run", source)
    taken = names[:3]
    rank = tag = -1
    if columns.rank is not None and types.is_integer(schema.field(columns.rank).type):
        rank = len(taken)
        taken.append(schema.names[columns.rank])
    if columns.tag is not None and types.is_string(schema.field(columns.tag).type):
        tag = len(taken)
        taken.append(schema.names[columns.tag])
    return StreamColumns(rank=rank, tag=tag), taken


def plain_batches(batches: Iterable[pa.RecordBatch], names: list[str], source: str) -> Iterator[pa.RecordBatch]:
    """The batches with the stream's columns and types."""
    pa = load_pyarrow()
    done = 0
    for batch in batches:
        query, doc, score, *rest = (batch.column(name) for name in names)
        columns = [
            checked_ids(query, "query", names[0], source, done),
            checked_ids(doc, "document", names[1], source, done),
            plain_scores(score, names[2], source),
            *rest,
        ]
        yield pa.record_batch(columns, names=["query", "doc", "score", "rank", "tag"][: len(columns)])
        done += batch.num_rows
