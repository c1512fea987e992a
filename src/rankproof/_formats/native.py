"""Runs and qrels from the columns that the C extension reads; the readers in Python read what it rejects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from rankproof import _engine_choice
from rankproof._data.arrays import PackedIds
from rankproof._data.qrels import Qrels, subtopic_of
from rankproof._data.run import NO_RANK, Run, known_column
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
    rank_values, line_numbers = (np.frombuffer(column, dtype=np.int64) for column in (ranks, lines))
    if options.read_options.order == "rank" and NO_RANK in rank_values:
        return None
    return Run.from_columns(
        name=name,
        queries=queries,
        offsets=np.frombuffer(offsets, dtype=np.int64),
        docs=PackedIds(text, np.frombuffer(bounds, dtype=np.int64)),
        scores=np.frombuffer(scores, dtype=np.float64),
        ranks=known_column(rank_values),
        lines=line_numbers if line_numbers[0] else None,
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
    grades_by_query = {
        query: dict(zip(docs[a:b], values[a:b], strict=True)) for query, (a, b) in zip(queries, spans, strict=True)
    }
    if sum(map(len, grades_by_query.values())) < len(values):
        return None
    return Qrels.of_checked(grades_by_query, source=source.name)


_DOC_PLACES: Final[Places] = (0, 2, 3, -1, -1, 1)
_SUBTOPIC_PLACES: Final[Places] = (0, 1, 3, -1, -1, -1)


def read_subtopics(source: ByteSource, options: ParseOptions) -> Qrels | None:
    """The judgements of TREC text for subtopics; None if C cannot read it, a row repeats, or a name may be a judge's.

    The text is read twice: once with the documents and once with the subtopics as ids.
    """
    if options.grade_map is not None or options.on_conflict != "error":
        return None
    tables = [_table(source, _reader_of_four(places)) for places in (_DOC_PLACES, _SUBTOPIC_PLACES)]
    first, second = tables
    if first is None or second is None or first[-1]:
        return None
    (queries, offsets, *_, grades), docs, names = first[:5], *(_ids(table) for table in (first, second))
    values = np.frombuffer(grades, dtype=np.int64).tolist()
    made = _BySubtopic()
    for query, (a, b) in zip(queries, pairwise(np.frombuffer(offsets, dtype=np.int64).tolist()), strict=True):
        made.add(query, names[a:b], docs[a:b], values[a:b])
    if made.rows < len(values) or len(made.names) < 2 or not all(map(subtopic_of, made.names)):
        return None
    return Qrels.of_checked(made.grades, source=source.name, subtopics=made.subtopics, merged=made.merged)


class _BySubtopic:
    """The grades of documents for subtopics, and the largest one of each document."""

    def __init__(self) -> None:
        self.grades: dict[str, dict[str, int]] = {}
        self.subtopics: dict[str, dict[str, dict[str, int]]] = {}
        self.names: set[str] = set()
        self.merged = self.rows = 0

    def add(self, query: str, names: Sequence[str], docs: Sequence[str], values: Sequence[int]) -> None:
        largest: dict[str, int] = {}
        differing = set()
        by_subtopic: dict[str, dict[str, int]] = {name: {} for name in dict.fromkeys(names)}
        for name, doc, value in zip(names, docs, values, strict=True):
            by_subtopic[name][doc] = value
            known = largest.setdefault(doc, value)
            if known != value:
                differing.add(doc)
                largest[doc] = max(known, value)
        self.grades[query], self.subtopics[query] = largest, by_subtopic
        self.names |= by_subtopic.keys()
        self.merged += len(differing)
        self.rows += sum(map(len, by_subtopic.values()))


def _reader_of_four(places: Places) -> ReadTable:
    """The reader in C of four columns between white space."""
    return lambda align, stream: align.read_delimited(stream, False, 0, 0, 4, places, BLOCK_BYTES)


def _ids(table: Table) -> PackedIds:
    return PackedIds(table[2], np.frombuffer(table[3], dtype=np.int64))


def places_of(columns: Columns) -> Places:
    """The columns by role, as the extension reads them: -1 for one that is missing; it reads no subtopics and no judges."""
    if columns.subtopic is not None or columns.judge_label is not None:
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
