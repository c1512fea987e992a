"""Alignment by the C extension, in several threads for large files."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, NoReturn, TypeVar

import numpy as np

from rankproof._align.hits import MAX_EXAMPLE_QUERIES, MAX_TAGS, AlignmentCounts, Hits, JudgedQueries, Ties, merge_hits
from rankproof._data.arrays import IntArray, PackedIds
from rankproof._data.ordering import resolve_duplicates
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import OnConflict, row_error
from rankproof._data.run import NO_RANK, Run
from rankproof._data.text import other_unicode_forms
from rankproof._data.validation import ReadOptions
from rankproof._io.file_errors import file_error
from rankproof._native import align
from rankproof.errors import InputError

if TYPE_CHECKING:
    from threading import Event

    from rankproof._io.streams import ByteSource, ByteStream

# A smaller slice is read in milliseconds: a thread of its own gains nothing.
MIN_SLICE_BYTES = 4 << 20
# A query with more rows than fit here gets no boundary, and its slices are read as one.
_LOOKAHEAD_BYTES = 1 << 20
_Part = TypeVar("_Part")


class FileSlice:
    """Bytes `start` to `end` of a file; reading ends once `stop` is set."""

    def __init__(self, path: str, start: int, end: int, stop: Event) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115
        self._file.seek(start)
        self._left = end - start
        self._stop = stop

    def readinto(self, buffer: memoryview, /) -> int | None:
        if self._stop.is_set():
            return 0
        count = self._file.readinto(buffer[: self._left])
        self._left -= count or 0
        return count

    def close(self) -> None:
        self._file.close()


def slice_boundaries(path: str, count: int, least: int) -> list[int]:
    """The offsets that split a file into `count` slices of about the same size; fewer for a small file."""
    size = os.path.getsize(path)
    count = max(1, min(count, size // max(least, 1)))
    with open(path, "rb") as file:
        inner = {_boundary(file, size * index // count) for index in range(1, count)}
    return sorted({0, size, *(cut for cut in inner if cut is not None)})


def _boundary(file: BinaryIO, near: int) -> int | None:
    """The first offset after `near` at which a line has another query than the line before."""
    file.seek(near)
    look = file.read(_LOOKAHEAD_BYTES)
    start, query = look.find(b"\n") + 1, b""
    while start > 0 and (end := look.find(b"\n", start)) >= 0:
        first = b"" if look.startswith(b"#", start) else b"".join(look[start:end].split(None, 1)[:1])
        if query and first and first != query:
            return near + start
        query, start = first or query, end + 1
    return None


def align_slices(path: str, boundaries: list[int], align: Callable[[FileSlice, bool], _Part | None]) -> list[_Part] | None:
    """Each slice aligned in its own thread; None if one cannot be, so that the file must be read sequentially."""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event

    stop = Event()
    streams = [FileSlice(path, start, end, stop) for start, end in pairwise(boundaries)]
    with ThreadPoolExecutor(len(streams)) as pool:
        try:
            waiting = [pool.submit(align, stream, index > 0) for index, stream in enumerate(streams)]
            parts = [part.result() for part in waiting]
        finally:
            # After an exception or Ctrl-C the pool still waits for its threads: this ends them.
            stop.set()
    aligned = [part for part in parts if part is not None]
    return aligned if len(aligned) == len(parts) else None


def have_no_common_query(hits: list[Hits], unknown_queries: list[bytes]) -> bool:
    """Whether no query is in two slices."""
    hashes = np.concatenate([np.frombuffer(query, dtype=np.uint64) for query in unknown_queries])
    judged = np.sum([part.present for part in hits], axis=0)
    return len(np.unique(hashes)) == len(hashes) and bool(np.all(judged <= 1))


_ON_DUPLICATE = {"error": 0, "keep-best": 1, "keep-first": 2, "keep-last": 3}


def native_options(read_options: ReadOptions) -> align.Options:
    """The options that the extension reads."""
    return (
        read_options.order == "rank",
        read_options.lower_is_better,
        read_options.float32,
        _ON_DUPLICATE[read_options.on_duplicate],
    )


def judged_from_native(made: align.Judgements, only: frozenset[str] | None, source: str) -> JudgedQueries:
    """The judgements, with the other Unicode forms of their ids added to the handle."""
    handle, queries, offsets, grades, repeats, highest, non_ascii, _ = made
    align.add_forms(handle, [(index, other_unicode_forms(align.documents(handle, index))) for index in non_ascii])
    align.mark_queries(handle, other_unicode_forms(queries), align.IS_FORM)
    align.mark_queries(handle, () if only is None else only, align.IS_LOOKED_AT)
    return JudgedQueries(
        queries=queries,
        offsets=np.frombuffer(offsets, dtype=np.int64),
        grades=np.frombuffer(grades, dtype=np.int64),
        repeats=repeats,
        highest=highest,
        source=source,
        handle=handle,
    )


def hits_from_native(judged: JudgedQueries, aligned: align.Aligned) -> Hits:
    """The hits of one run or of a slice of it."""
    (present, retrieved, offsets, ranks, grades, tie_starts, tie_sizes), counts, unjudged_queries, tags, _ = aligned
    rows, tied, contradictions, backwards, forwards, unicode_forms, dropped, unjudged = counts
    return Hits(
        judged=judged,
        present=np.frombuffer(present, dtype=np.bool_),
        retrieved=np.frombuffer(retrieved, dtype=np.int64),
        offsets=np.frombuffer(offsets, dtype=np.int64),
        ranks=np.frombuffer(ranks, dtype=np.int64),
        grades=np.frombuffer(grades, dtype=np.int64),
        ties=Ties(np.frombuffer(tie_starts, dtype=np.int64), np.frombuffer(tie_sizes, dtype=np.int64)),
        alignment_counts=AlignmentCounts(
            rows=rows,
            tied=tied,
            contradictions=contradictions,
            backwards=backwards,
            forwards=forwards,
            unicode_forms=unicode_forms,
            dropped=dropped,
            unjudged=unjudged,
            unjudged_queries=unjudged_queries,
            tags=tags,
        ),
    )


def raise_native_error(error: align.ReadError, source: str) -> NoReturn:
    """Raises the error of the extension as an InputError; the Python parsers say what is wrong with a token."""
    from rankproof._formats import trec
    from rankproof._formats.rows import parse_score

    code, number, fields = error.args
    line = number or None
    match code:
        case "run-columns":
            raise trec.run_columns_error(fields["found"], source=source, line=number)
        case "score":
            parse_score(fields["token"], source=source, line=line)
        case "duplicate":
            raise _duplicate_error(line, fields, source)
        case "id-nul":
            raise row_error(
                code, source=source, line=line, column=fields["column"], token=fields["token"].decode(errors="replace")
            )
        case "id-null" | "score-null":
            raise file_error(code, source=source, line=line, **fields)
        case "id-utf8":
            raise file_error("encoding", source=source, line=line, encoding="UTF-8", reason=f"in a {fields['column']} id")
        case _:
            raise row_error(code, source=source, line=line, **fields)
    raise AssertionError(f"the Python reader accepts {fields}") from error


def _duplicate_error(line: int | None, fields: dict[str, Any], source: str) -> InputError:
    ids = {key: fields[key].decode() for key in ("query", "doc")}
    scores = {key: float(fields[key]) for key in ("score", "first_score")}
    return row_error("duplicate", source=source, line=line, first=f"line {fields['first']}", **ids, **scores)


_COLUMN_TYPES_FIX = "pass ids as text or integers, scores as numbers, ranks as integers"


def align_arrow(judged: JudgedQueries, stream: Any, columns: Sequence[int], name: str, read_options: ReadOptions) -> Hits:
    """Hits of a run in an Arrow stream; columns are the indexes of query, document, score, rank and tag, -1 for none.

    A stream whose `reopens` is true can be read more than once, and is kept in memory a batch at a time.
    """
    query, doc, score, rank, tag = (*columns, -1, -1)[:5]
    if read_options.order == "rank" and rank < 0:
        raise row_error("rank-missing", source=name)
    options, places = native_options(read_options), (query, doc, score, rank, tag)
    keeps = not getattr(stream, "reopens", False)
    try:
        aligned = align.align_arrow(judged.handle, stream.__arrow_c_stream__(), options, places, keeps, False)
        # The rows of a query are not adjacent: the second reading groups them.
        if aligned is None:
            aligned = align.align_arrow(judged.handle, stream.__arrow_c_stream__(), options, places, False, True)
    except align.ReadError as error:
        raise_native_error(error, name)
    except TypeError as error:
        raise InputError(str(error), fix=_COLUMN_TYPES_FIX, source=name) from None
    except OSError as error:
        raise _stream_error(error, stream, name) from None
    assert aligned is not None, "a grouped read always succeeds"
    return hits_from_native(judged, aligned)


def _stream_error(error: OSError, stream: Any, name: str) -> BaseException:
    """The error for a stream that fails: the exception that stopped it, if the stream has it."""
    stopped = getattr(stream, "error", None)
    if isinstance(stopped, BaseException):
        return stopped
    return InputError(f"reading the table failed ({error})", fix="check its source", source=name)


BLOCK_BYTES: Final = 1 << 18
WIDEST_SCAN: Final = 3
_PLAIN_DICTS: Final = (dict, defaultdict, Counter)
_FLOATS: Final = (np.float64,)


def judge_text(
    source: ByteSource,
    only: Collection[str] | None = None,
    *,
    on_conflict: OnConflict = "error",
    block: int = BLOCK_BYTES,
    level: int = WIDEST_SCAN,
) -> JudgedQueries:
    """Judgements from TREC text; `block` and `level` do not change the result. What C cannot read is read in Python."""
    kept = None if only is None else frozenset(only)
    stream = source.open()
    try:
        made = align.judge_text(stream.readinto, kept, block, level)
    except align.ReadError:
        made = None
    finally:
        stream.close()
    if made is None or made[-1]:
        from rankproof._formats import trec
        from rankproof._formats.rows import ParseOptions

        return judge_qrels(trec.read_marked_qrels(source, ParseOptions(on_conflict=on_conflict)), only)
    return judged_from_native(made, kept, source.name)


def judge_qrels(qrels: Qrels, only: Collection[str] | None = None) -> JudgedQueries:
    """Judgements from memory, by code where documents are judged for subtopics."""
    if qrels.subtopics:
        from rankproof._align.judged_documents import judge_by_code

        return judge_by_code(judge_qrels, qrels, only)
    kept = None if only is None else frozenset(only)
    made = align.judge_dict(qrels.as_dicts(), kept, _PLAIN_DICTS, _FLOATS)
    if made is None:  # an id is of a subclass of str
        grades = {str(query): {str(doc): grade for doc, grade in docs.items()} for query, docs in qrels.items()}
        made = align.judge_dict(grades, kept, _PLAIN_DICTS, _FLOATS)
    assert made is not None, "Qrels hold checked ids and grades"
    return judged_from_native(made, kept, qrels.source).counted(qrels, kept)


def judge_dict(grades: Mapping[str, Mapping[str, int]], name: str, only: Collection[str] | None = None) -> JudgedQueries:
    """Judgements from a dict of dicts."""
    kept = None if only is None else frozenset(only)
    made = align.judge_dict(grades, kept, _PLAIN_DICTS, _FLOATS)
    return judge_qrels(Qrels.from_dict(grades, source=name), only) if made is None else judged_from_native(made, kept, name)


def align_text(
    judged: JudgedQueries,
    source: ByteSource,
    read_options: ReadOptions,
    *,
    block: int = BLOCK_BYTES,
    level: int = WIDEST_SCAN,
    least: int = MIN_SLICE_BYTES,
) -> Hits:
    """Hits of a TREC run; `block`, `level` and `least` (bytes for a thread) do not change the result."""
    reader = _Reader(judged, native_options(read_options), block, level)
    hits = None
    if read_options.threads > 1 and source.path is not None:
        hits = reader.read_in_slices(source.path, slice_boundaries(source.path, read_options.threads, least))
    hits = reader.read_sequentially(source) if hits is None else hits
    if hits is not None:
        return hits
    from rankproof._align.reference import read_run

    return align_run(judged, read_run(source, read_options), read_options)


class _Reader(NamedTuple):
    """Reads a run and aligns it with judgements."""

    judged: JudgedQueries
    options: align.Options
    block: int
    level: int

    def read_sequentially(self, source: ByteSource) -> Hits | None:
        """The hits; None if the text has a NUL byte, so that Python must read it."""
        try:
            # Without a result the rows of a query are not adjacent: the second reading groups them.
            aligned = self._aligned(source.open()) or self._aligned(source.open(), grouped=True)
        except align.ReadError as error:
            if error.args[0] == "nul":
                return None
            raise_native_error(error, source.name)
        assert aligned is not None, "a grouped read always succeeds"
        return hits_from_native(self.judged, aligned)

    def read_in_slices(self, path: str, boundaries: list[int]) -> Hits | None:
        """The hits by several threads; None if the file cannot be split, has an error, or a query is in two slices."""
        parts = align_slices(path, boundaries, self._part) if len(boundaries) > 2 else None
        if parts is None:
            return None
        hits = [hits_from_native(self.judged, part) for part in parts]
        if not have_no_common_query(hits, [part[-1] for part in parts]):
            return None
        merged = merge_hits(hits)
        counts = merged.alignment_counts
        # A file that is read by one thread has no more examples than these.
        few = counts._replace(unjudged_queries=counts.unjudged_queries[:MAX_EXAMPLE_QUERIES], tags=counts.tags[:MAX_TAGS])
        return replace(merged, alignment_counts=few)

    def _part(self, stream: ByteStream, inside: bool) -> align.Aligned | None:
        with suppress(align.ReadError):
            return self._aligned(stream, inside=inside)
        return None

    def _aligned(self, stream: ByteStream, *, inside: bool = False, grouped: bool = False) -> align.Aligned | None:
        try:
            return align.align_text(self.judged.handle, stream.readinto, self.options, self.block, self.level, inside, grouped)
        finally:
            stream.close()


def align_run(judged: JudgedQueries, run: Run, read_options: ReadOptions) -> Hits:
    """Hits of a run in memory."""
    if read_options.order == "rank" and run.docs and (run.ranks is None or NO_RANK in run.ranks):
        raise row_error("rank-missing", source=run.source)
    ranks = None if run.ranks is None else np.ascontiguousarray(run.ranks)
    offsets, scores = np.ascontiguousarray(run.offsets), np.ascontiguousarray(run.scores)
    try:
        aligned = align.align_run(
            judged.handle, native_options(read_options), run.queries, offsets, *_ids(run.docs), scores, ranks
        )
    except align.ReadError:
        # This raises the error for duplicate rows in the words of the Python engine.
        resolve_duplicates(run, read_options)
        raise
    if aligned is None:
        grouped = Run.from_rows(run.rows(), name=run.name, source=run.source, queries=run.queries)
        return align_run(judged, grouped.changed(tags=run.tags), read_options)
    hits = hits_from_native(judged, aligned)
    return replace(hits, alignment_counts=hits.alignment_counts._replace(tags=run.tags[:MAX_TAGS]))


def _ids(docs: tuple[str, ...] | PackedIds) -> tuple[tuple[str, ...] | bytes, IntArray | None]:
    """The documents for the extension: a tuple, or one text with the bounds of each id."""
    return (docs.text, np.ascontiguousarray(docs.bounds)) if isinstance(docs, PackedIds) else (docs, None)


def align_dict(judged: JudgedQueries, scores: Mapping[str, Mapping[str, float]], name: str, read_options: ReadOptions) -> Hits:
    """Hits of a run in a dict of dicts."""
    aligned = None
    if read_options.order == "score":
        aligned = align.align_dict(judged.handle, scores, native_options(read_options), _PLAIN_DICTS, _FLOATS)
    return (
        align_run(judged, Run.from_dict(scores, name=name, source=name), read_options)
        if aligned is None
        else hits_from_native(judged, aligned)
    )
