"""Alignment by the native reader: the same functions and the same bits as reference.py, many times faster."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ..data.arrays import IntArray
from ..data.order import settled
from ..data.packed_ids import PackedIds
from ..data.qrels import Qrels
from ..data.reading import Reading
from ..data.refusals import refusal
from ..data.run import NO_RANK, Run
from ..data.source import ByteStream, Source
from ..formats import trec
from . import _native, slices
from .answers import hits_of, judged_of, options_of
from .arrow import align_arrow as align_arrow
from .hits import Hits, Judged
from .reference import FEW_TAGS
from .told import raise_told

BLOCK_BYTES: Final = 1 << 18
WIDEST_SCAN: Final = 3
_PLAIN_DICTS: Final = (dict, defaultdict, Counter)
_FLOATS: Final = (np.float64,)


def judge_text(
    source: Source, only: Collection[str] | None = None, *, block: int = BLOCK_BYTES, level: int = WIDEST_SCAN
) -> Judged:
    """Judgements from TREC text; `block` and `level` change how it is read, never what is found."""
    kept = None if only is None else frozenset(only)
    stream = source.open()
    try:
        made = _native.judge_text(stream.readinto, kept, block, level)
    except _native.Refused as error:
        raise_told(error, source.name)
    finally:
        stream.close()
    judged = judged_of(made, kept, source.name)
    return replace(judged, marks=Qrels(trec.qrels_rows(source)).made_by(kept)) if made[-1] else judged


def judge_qrels(qrels: Qrels, only: Collection[str] | None = None) -> Judged:
    """Judgements from memory."""
    kept = None if only is None else frozenset(only)
    grades = {str(query): {str(doc): grade for doc, grade in docs.items()} for query, docs in qrels.items()}
    made = _native.judge_dict(grades, kept, _PLAIN_DICTS, _FLOATS)
    assert made is not None, "Qrels hold checked ids and grades"
    return replace(judged_of(made, kept, qrels.source), repeats=qrels.repeats, marks=qrels.made_by(kept))


def judge_dict(grades: Mapping[str, Mapping[str, int]], name: str, only: Collection[str] | None = None) -> Judged:
    """Judgements from a dict of dicts."""
    kept = None if only is None else frozenset(only)
    made = _native.judge_dict(grades, kept, _PLAIN_DICTS, _FLOATS)
    return judge_qrels(Qrels.from_dict(grades, source=name), only) if made is None else judged_of(made, kept, name)


def align_text(
    judged: Judged,
    source: Source,
    reading: Reading,
    *,
    block: int = BLOCK_BYTES,
    level: int = WIDEST_SCAN,
    least: int = slices.LEAST_BYTES,
) -> Hits:
    """Hits of a TREC run; `block`, `level` and `least` (bytes for a thread) change how it is read, never what is found."""
    reader = _Reader(judged, options_of(reading), block, level)
    hits = None
    if reading.threads > 1 and source.path is not None:
        hits = reader.in_slices(source.path, slices.cuts(source.path, reading.threads, least))
    return reader.in_one_go(source) if hits is None else hits


@dataclass(frozen=True, slots=True)
class _Reader:
    """One way of reading a run against one set of judgements."""

    judged: Judged
    options: _native.Options
    block: int
    level: int

    def in_one_go(self, source: Source) -> Hits:
        try:
            found = self._aligned(source.open()) or self._aligned(source.open(), grouped=True)
        except _native.Refused as error:
            raise_told(error, source.name)
        assert found is not None, "groups do not come back"
        return hits_of(self.judged, found)

    def in_slices(self, path: str, marks: list[int]) -> Hits | None:
        """The hits by several threads; None where the file cannot be cut, a fault is in it, or a query is in two slices."""
        parts = slices.aligned_in_slices(path, marks, self._part) if len(marks) > 2 else None
        if parts is None:
            return None
        hits = [hits_of(self.judged, part) for part in parts]
        return slices.merged(hits) if slices.are_apart(hits, [part[-1] for part in parts]) else None

    def _part(self, stream: ByteStream, inside: bool) -> _native.Aligned | None:
        with suppress(_native.Refused):
            return self._aligned(stream, inside=inside)
        return None

    def _aligned(self, stream: ByteStream, *, inside: bool = False, grouped: bool = False) -> _native.Aligned | None:
        try:
            return _native.align_text(self.judged.handle, stream.readinto, self.options, self.block, self.level, inside, grouped)
        finally:
            stream.close()


def align_run(judged: Judged, run: Run, reading: Reading) -> Hits:
    """Hits of a run in memory."""
    if reading.order == "rank" and run.docs and (run.ranks is None or NO_RANK in run.ranks):
        raise refusal("rank-missing", source=run.source)
    ranks = None if run.ranks is None else np.ascontiguousarray(run.ranks)
    offsets, scores = np.ascontiguousarray(run.offsets), np.ascontiguousarray(run.scores)
    try:
        found = _native.align_run(judged.handle, options_of(reading), run.queries, offsets, *_ids(run.docs), scores, ranks)
    except _native.Refused:
        settled(run, reading)
        raise
    if found is None:
        grouped = Run.from_rows(run.rows(), name=run.name, source=run.source, queries=run.queries)
        return align_run(judged, replace(grouped, tags=run.tags), reading)
    hits = hits_of(judged, found)
    return replace(hits, seen=replace(hits.seen, tags=run.tags[:FEW_TAGS]))


def _ids(docs: tuple[str, ...] | PackedIds) -> tuple[tuple[str, ...] | bytes, IntArray | None]:
    """The documents as the reader takes them: as they are, or as one text with the bounds of each id."""
    return (docs.text, np.ascontiguousarray(docs.bounds)) if isinstance(docs, PackedIds) else (docs, None)


def align_dict(judged: Judged, scores: Mapping[str, Mapping[str, float]], name: str, reading: Reading) -> Hits:
    """Hits of a run in a dict of dicts."""
    found = None
    if reading.order == "score":
        found = _native.align_dict(judged.handle, scores, options_of(reading), _PLAIN_DICTS, _FLOATS)
    return align_run(judged, Run.from_dict(scores, name=name, source=name), reading) if found is None else hits_of(judged, found)
