"""The result of alignment: the ranks and grades of the judged documents in each ranking."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankproof._data.arrays import BoolArray, IntArray, list_numbers
from rankproof._data.row_errors import OnConflict

if TYPE_CHECKING:
    from rankproof._align.judged_documents import JudgedDocuments
    from rankproof._align.preferences import PreferenceGroup
    from rankproof._data.qrels import Qrels

QUERIES_PER_BLOCK = 1 << 16
MAX_EXAMPLE_QUERIES = 5
MAX_TAGS = 16


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """The judgements of every query: grades of query i, highest first, are offsets[i] to offsets[i + 1].

    `repeats` counts exact repeats of a judgement, which are dropped. `highest` is the highest grade of all queries, including
    those not selected. `handle` is the engine's lookup table of documents. `judge_labels` counts the judgements of each machine.
    `converted` counts the grades written as whole floats or booleans, `conflicts` the pairs of which `on_conflict` chose a grade,
    `merged` the documents whose grades for subtopics differ. `documents` says which documents they are, where hits have codes,
    `preferences` which are preferred to which by the judges of each query.
    """

    queries: tuple[str, ...]
    offsets: IntArray
    grades: IntArray
    repeats: int
    highest: int
    source: str
    handle: Any
    judge_labels: Mapping[str, int] = field(default_factory=dict)
    converted: int = 0
    conflicts: int = 0
    on_conflict: OnConflict = "error"
    merged: int = 0
    documents: JudgedDocuments | None = None
    preferences: tuple[tuple[PreferenceGroup, ...], ...] | None = None

    @cached_property
    def query_index(self) -> IntArray:
        """For each grade, the index of its query."""
        return list_numbers(np.diff(self.offsets))

    def top(self, depth: int) -> tuple[IntArray, IntArray, IntArray]:
        """The first `depth` grades of each query: their queries, their ranks from 1, and their indexes in `grades`."""
        counts = np.minimum(np.diff(self.offsets), depth)
        owners = list_numbers(counts)
        ranks = np.arange(1, len(owners) + 1) - (np.cumsum(counts) - counts)[owners]
        return owners, ranks, self.offsets[owners] + ranks - 1

    def count(self, chosen: BoolArray) -> IntArray:
        """The number of chosen grades of each query; a judged query has at least one grade."""
        return np.add.reduceat(chosen, np.asarray(self.offsets[:-1], np.intp), dtype=np.int64)

    def between(self, start: int, end: int) -> JudgedQueries:
        """The judgements of the queries from start to end, for measures; the lookup table remains that of all queries."""
        bounds = self.offsets[start : end + 1]
        grades = self.grades[bounds[0] : bounds[-1]]
        documents = None if self.documents is None else self.documents.between(start, end)
        preferences = None if self.preferences is None else self.preferences[start:end]
        return replace(
            self,
            queries=self.queries[start:end],
            offsets=bounds - bounds[0],
            grades=grades,
            documents=documents,
            preferences=preferences,
        )

    def counted(self, qrels: Qrels, only: Collection[str] | None) -> JudgedQueries:
        """The same judgements with the counts of the qrels that they are from."""
        return replace(
            self,
            repeats=qrels.repeats,
            judge_labels=qrels.judge_counts(only),
            converted=qrels.converted,
            conflicts=qrels.conflicts,
            on_conflict=qrels.on_conflict,
            merged=qrels.merged,
        )

    def relevant(self, rel: int) -> IntArray:
        """The number of documents of each query with a grade of at least rel (and at least 0)."""
        return self.count(self.grades >= max(rel, 0))


class AlignmentCounts(NamedTuple):
    """Counts of what alignment found, for the notes.

    tied: judged documents with the same score as another document.
    contradictions: rows that score higher than a row of better rank.
    backwards, forwards: queries in which better ranks have lower scores, and the others (of three rows or more, not all tied).
    unicode_forms: rows and queries whose id is a judged id in another Unicode form.
    dropped: duplicates that on_duplicate dropped.
    unjudged: queries without judgements; unjudged_queries are the first few of them.
    """

    rows: int = 0
    tied: int = 0
    contradictions: int = 0
    backwards: int = 0
    forwards: int = 0
    unicode_forms: int = 0
    dropped: int = 0
    unjudged: int = 0
    unjudged_queries: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class Ties(NamedTuple):
    """For each hit, the documents of its query with the same score, itself included: the first rank, and how many they are."""

    starts: IntArray
    sizes: IntArray

    @classmethod
    def none(cls, ranks: IntArray) -> Ties:
        """No ties: each hit alone at its rank."""
        return cls(ranks, np.ones_like(ranks))


@dataclass(frozen=True, eq=False)
class Hits:
    """The judged documents that a run retrieved: those of query i, by rank, are offsets[i] to offsets[i + 1].

    `present` says which queries are in the run, `retrieved` how many documents each has. `trec_eval_9` asks measures for the
    values of version 9 where those of version 10 differ. `codes` say which judged documents the hits are, if these have codes.
    `only_judged` says that unjudged documents were removed from the rankings.
    """

    judged: JudgedQueries
    present: BoolArray
    retrieved: IntArray
    offsets: IntArray
    ranks: IntArray
    grades: IntArray
    ties: Ties
    alignment_counts: AlignmentCounts
    trec_eval_9: bool = False
    codes: IntArray | None = None
    only_judged: bool = False

    @property
    def queries(self) -> tuple[str, ...]:
        """The judged queries."""
        return self.judged.queries

    @cached_property
    def query_index(self) -> IntArray:
        """For each hit, the index of its query."""
        return list_numbers(np.diff(self.offsets))

    @property
    def blocks(self) -> tuple[Hits, ...]:
        """The hits of consecutive queries, so that a measure needs memory for few queries at a time."""
        return self._parts if len(self.queries) > QUERIES_PER_BLOCK else (self,)

    @cached_property
    def _parts(self) -> tuple[Hits, ...]:
        starts = range(0, len(self.queries), QUERIES_PER_BLOCK)
        return tuple(self._between(start, start + QUERIES_PER_BLOCK) for start in starts)

    def _between(self, start: int, end: int) -> Hits:
        """The hits of the queries from start to end."""
        bounds = self.offsets[start : end + 1]
        span = slice(bounds[0], bounds[-1])
        return replace(
            self,
            judged=self.judged.between(start, end),
            present=self.present[start:end],
            retrieved=self.retrieved[start:end],
            offsets=bounds - bounds[0],
            ranks=self.ranks[span],
            grades=self.grades[span],
            ties=Ties(*(array[span] for array in self.ties)),
            codes=None if self.codes is None else self.codes[span],
        )

    def cut(self, depth: int) -> Hits:
        """The hits of the first `depth` documents of each ranking, as trec_eval -M."""
        # An integer of Python may exceed what the ranks can be compared with.
        depth = min(depth, np.iinfo(np.int64).max)
        starts, sizes = self.ties
        ties = Ties(starts, np.minimum(sizes, depth - starts + 1))
        return self._keep(self.ranks <= depth, self.ranks, np.minimum(self.retrieved, depth), ties)

    def judged_only(self) -> Hits:
        """The hits of the ranking without unjudged documents, as trec_eval -J; negative grades count as unjudged."""
        kept = self.grades >= 0
        owners = self.query_index[kept]
        counts = np.bincount(owners, minlength=len(self.queries))
        starts = np.cumsum(counts) - counts
        ranks = np.zeros_like(self.ranks)
        ranks[kept] = np.arange(1, len(owners) + 1) - starts[owners]
        return replace(self._keep(kept, ranks, counts, self._judged_ties(kept, ranks)), only_judged=True)

    def _judged_ties(self, kept: BoolArray, ranks: IntArray) -> Ties:
        """The ties among the kept hits, at their new ranks."""
        # One number for each pair of a query and the first rank of a tie.
        _, first, group, sizes = np.unique(
            self.query_index[kept] * (1 + self.ties.starts.max(initial=0)) + self.ties.starts[kept],
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        ties = Ties(np.zeros_like(ranks), np.zeros_like(ranks))
        ties.starts[kept], ties.sizes[kept] = ranks[kept][first][group], sizes[group]
        return ties

    def _keep(self, kept: BoolArray, ranks: IntArray, retrieved: IntArray, ties: Ties) -> Hits:
        counts = np.bincount(self.query_index[kept], minlength=len(self.queries))
        offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        return replace(
            self,
            retrieved=retrieved,
            offsets=offsets,
            ranks=ranks[kept],
            grades=self.grades[kept],
            ties=Ties(*(array[kept] for array in ties)),
            codes=None if self.codes is None else self.codes[kept],
        )


_LARGE_LOOKUP = 1 << 16
"""A lookup table of fewer documents is not worth a copy of the hits."""


def without_lookup(hits: Mapping[str, Hits]) -> Mapping[str, Hits]:
    """The hits of systems by the same judgements, without the lookup table, which only further alignment needs."""
    judged = next((own.judged for own in hits.values()), None)
    if judged is None or len(judged.grades) < _LARGE_LOOKUP:
        return hits
    plain = replace(judged, handle=None)
    return {name: replace(own, judged=plain) for name, own in hits.items()}


def merge_hits(parts: Sequence[Hits]) -> Hits:
    """The hits of a run in several parts, each with other queries."""
    counts = np.sum([np.diff(part.offsets) for part in parts], axis=0)
    offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    ranks, grades, starts, sizes, codes = (np.zeros(offsets[-1], dtype=np.int64) for _ in range(5))
    for part in parts:
        places = np.arange(len(part.ranks)) + (offsets - part.offsets)[part.query_index]
        ranks[places], grades[places] = part.ranks, part.grades
        starts[places], sizes[places] = part.ties
        if part.codes is not None:
            codes[places] = part.codes
    return replace(
        parts[0],
        present=np.any([part.present for part in parts], axis=0),
        retrieved=np.sum([part.retrieved for part in parts], axis=0),
        offsets=offsets,
        ranks=ranks,
        grades=grades,
        ties=Ties(starts, sizes),
        codes=None if parts[0].codes is None else codes,
        alignment_counts=_total_counts([part.alignment_counts for part in parts]),
    )


def _total_counts(parts: Sequence[AlignmentCounts]) -> AlignmentCounts:
    summed: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in _SUMMED_COUNTS}
    joined: dict[str, Any] = {
        name: tuple(dict.fromkeys(text for part in parts for text in getattr(part, name))) for name in _JOINED_COUNTS
    }
    return AlignmentCounts(**summed, **joined)


_JOINED_COUNTS = ("unjudged_queries", "tags")
_SUMMED_COUNTS = tuple(name for name in AlignmentCounts._fields if name not in _JOINED_COUNTS)
