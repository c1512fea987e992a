"""Runs and qrels from the columns that the C extension reads; the readers in Python read what it rejects."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np

from rankproof import _engine_choice
from rankproof._data.arrays import PackedIds
from rankproof._data.qrels import Qrels
from rankproof._data.run import NO_RANK, Run, known
from rankproof._formats.columns import Columns
from rankproof._formats.rows import ParseOptions
from rankproof._io.file_errors import LargeFileError
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError

BLOCK_BYTES: Final = 1 << 18
WIDEST_SCAN: Final = 3
Places = tuple[int, int, int, int, int, int]
NO_PLACES: Final[Places] = (-1, -1, -1, -1, -1, -1)
"""Makes the extension reject the row."""
Table = tuple[tuple[str, ...], bytes, bytes, bytes, bytes, bytes, bytes, tuple[str, ...], bool]
ReadTable = Callable[[Any, Callable[[memoryview], int | None]], Table | None]
"""A function of the extension and the `readinto` of a stream; the sizes above do not change what it returns."""


def read_run(source: ByteSource, name: str, read: ReadTable, options: ParseOptions) -> Run | None:
    """The run in the text; None if C cannot read it, or a row lacks the rank to order by."""
    table = _table(source, read)
    if table is None:
        return None
    queries, offsets, text, bounds, scores, ranks, lines, tags, _ = table
    found, numbers = (np.frombuffer(column, dtype=np.int64) for column in (ranks, lines))
    if options.read_options.order == "rank" and NO_RANK in found:
        return None
    return Run.from_columns(
        name=name,
        queries=queries,
        offsets=np.frombuffer(offsets, dtype=np.int64),
        docs=PackedIds(text, np.frombuffer(bounds, dtype=np.int64)),
        scores=np.frombuffer(scores, dtype=np.float64),
        ranks=known(found),
        lines=numbers if numbers[0] else None,
        tags=tags,
        source=source.name,
    )


def read_qrels(source: ByteSource, read: ReadTable, options: ParseOptions) -> Qrels | None:
    """The judgements in the text; None if C cannot read it, grades are mapped, a document repeats, or a machine judged."""
    table = _table(source, read) if options.grade_map is None else None
    if table is None or table[-1]:
        return None
    queries, offsets, text, bounds, grades, *_ = table
    docs, values = PackedIds(text, np.frombuffer(bounds, dtype=np.int64)), np.frombuffer(grades, dtype=np.int64).tolist()
    spans = list(pairwise(np.frombuffer(offsets, dtype=np.int64).tolist()))
    found = {query: dict(zip(docs[a:b], values[a:b], strict=True)) for query, (a, b) in zip(queries, spans, strict=True)}
    if sum(map(len, found.values())) < len(values):
        return None
    return Qrels.of_checked(found, source=source.name)


def places_of(columns: Columns) -> Places:
    """The columns by role, as the extension reads them: -1 for one that is missing; it reads no subtopics."""
    if columns.subtopic is not None:
        return NO_PLACES
    places = (
        columns.query,
        columns.doc,
        columns.value if columns.scored else None,
        columns.rank,
        columns.tag,
        columns.judge_label,
    )
    query, doc, value, rank, tag, label = (-1 if place is None else place for place in places)
    return query, doc, value, rank, tag, label


def _table(source: ByteSource, read: ReadTable) -> Table | None:
    if _engine_choice.chosen_name() != "native":
        return None
    native = _engine_choice.loaded(_engine_choice.READER)
    stream = source.open()
    try:
        return read(native, stream.readinto)
    except LargeFileError:
        raise
    except (native.ReadError, InputError):
        return None
    finally:
        stream.close()
