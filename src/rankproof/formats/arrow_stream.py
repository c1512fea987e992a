"""A run in Arrow columns as the stream that alignment takes.

Its columns are query, document and score, then rank and tag where there are any. Ids are text or integers, scores float64, ranks
integers or null, tags text; text may be by dictionary. What alignment refuses (null, empty or broken ids, scores that are null
or not finite) may still be in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from ..data.reading import Order
from ..data.refusals import refusal
from .arrow import is_text, load_pyarrow, plain_ids, plain_ranks, plain_scores, plain_texts, scores_of_ranks
from .columns import columns_of

if TYPE_CHECKING:
    import pyarrow as pa


class StreamColumns(NamedTuple):
    """Where the parts of a row stand in a run's stream; rank and tag are -1 where there are none."""

    query: int = 0
    doc: int = 1
    score: int = 2
    rank: int = -1
    tag: int = -1


Batches = Callable[[], Iterable["pa.RecordBatch"]]


class RowStream:
    """A run's batches as an Arrow stream that begins anew each time that it is asked for, so that nobody has to keep them.

    It is opened once when made, so that columns of a wrong type are refused then. `error` is what stopped it, which Arrow's
    interface hands on as text only.
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
            raise refusal("no-rows", source=self._source)
        reader: pa.RecordBatchReader = load_pyarrow().RecordBatchReader.from_batches(first.schema, chain((first,), rows))
        return reader

    def _rows(self) -> Iterator[pa.RecordBatch]:
        arrow, labels = load_pyarrow(), _named(self._places)
        try:
            for columns in plain_batches(self._batches(), self._names, self._places, self._source):
                yield arrow.record_batch(columns, names=labels)
        except BaseException as error:
            self.error = error
            raise


def stream_layout(schema: pa.Schema, source: str, order: Order) -> tuple[StreamColumns, list[str]]:
    """Where the stream's columns will stand, and the names of those that it takes; tags must be text.

    Where the run has no scores, its ranks are named in their place.
    """
    columns = columns_of(schema.names, "run", source=source, order=order)
    taken = [columns.query, columns.doc, columns.value]
    rank = tag = -1
    if columns.rank is not None:
        rank = len(taken)
        taken.append(columns.rank)
    if columns.tag is not None and is_text(schema.field(columns.tag).type):
        tag = len(taken)
        taken.append(columns.tag)
    return StreamColumns(rank=rank, tag=tag), [schema.names[place] for place in taken]


def plain_batches(batches: Iterable[pa.RecordBatch], names: list[str], places: StreamColumns, source: str) -> Iterator[list[Any]]:
    """The columns of each batch, in the stream's order and types."""
    done = 0
    for batch in batches:
        query, doc, score, *rest = (batch.column(name) for name in names)
        if places.rank >= 0:
            rest[0] = plain_ranks(rest[0])
        if places.tag >= 0:
            rest[-1] = plain_texts(rest[-1])
        unscored = places.rank >= 0 and names[places.score] == names[places.rank]
        yield [
            plain_ids(query, "query", names[0], source, done),
            plain_ids(doc, "document", names[1], source, done),
            scores_of_ranks(rest[0]) if unscored else plain_scores(score, names[2], source),
            *rest,
        ]
        done += batch.num_rows


def _named(places: StreamColumns) -> list[str]:
    return [name for name, place in zip(StreamColumns._fields, places, strict=True) if place >= 0]
