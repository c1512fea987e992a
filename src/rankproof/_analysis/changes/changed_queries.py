"""The queries that changed most between two systems, and the documents that moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankproof._data.ordering import ranked_documents
from rankproof._evaluation.result import MeasureResult
from rankproof._results.experiment_result import ExperimentResult
from rankproof._statistics.paired import differences
from rankproof._statistics.rank_correlation import rank_biased_overlap

DEPTH = 10
"""Documents below this rank are not part of a ranking's top, unless the measure looks deeper."""
_MAX_DEPTH = 100
MoveKind = Literal["entered", "left", "up", "down"]
Rankings = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class DocumentMove:
    """A document whose rank changed; a rank is None if the document was not retrieved, the grade None if it is unjudged."""

    doc: str
    kind: MoveKind
    before: int | None
    after: int | None
    grade: int | None


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A query: its values before and after, their difference (0 within rounding error), and the moves of the top documents.

    Relevant documents come first, then those closest to the top. `depth` is the length of the top. Without judgements the
    values are None and `difference` is the rank-biased overlap minus 1.
    """

    query: str
    before: float | None
    after: float | None
    difference: float
    depth: int
    moves: tuple[DocumentMove, ...]


@dataclass(frozen=True, slots=True)
class QueryChanges:
    """The queries with the largest losses and gains, and how many queries lost, gained and stayed equal in all."""

    losses: tuple[QueryChange, ...]
    gains: tuple[QueryChange, ...]
    lost: int
    gained: int
    equal: int


def changed_queries(results: ExperimentResult, before: str, after: str, measure: str, *, most: int = 10) -> QueryChanges:
    """The largest losses and gains of one system against another, by a measure of rankings or answers."""
    old, new = (_measured(results, name, measure) for name in (before, after))
    mine, theirs = old.per_query, new.per_query
    queries = [query for query in results.queries if query in mine and query in theirs]
    apart = differences(np.array([theirs[query] for query in queries]), np.array([mine[query] for query in queries]))
    sign = -1.0 if new.measure.higher_is_better is False else 1.0
    difference_of = dict(zip(queries, apart.tolist(), strict=True))
    better = {query: sign * value for query, value in difference_of.items()}
    depth = min(max(getattr(new.measure, "cutoff", None) or DEPTH, DEPTH), _MAX_DEPTH)
    rankings = rankings_of(results, before), rankings_of(results, after)

    def changes(chosen: Sequence[str]) -> tuple[QueryChange, ...]:
        return tuple(
            QueryChange(
                query, mine[query], theirs[query], difference_of[query], depth, document_moves(results, query, *rankings, depth)
            )
            for query in chosen
        )

    lost = sorted((query for query in queries if better[query] < 0), key=lambda query: (better[query], query))
    gained = sorted((query for query in queries if better[query] > 0), key=lambda query: (-better[query], query))
    equal = len(queries) - len(lost) - len(gained)
    return QueryChanges(changes(lost[:most]), changes(gained[:most]), len(lost), len(gained), equal)


def reordered_queries(results: ExperimentResult, before: str, after: str, *, most: int = 10) -> QueryChanges:
    """The queries with the least overlap of the two rankings, as losses; for results without judgements."""
    old, new = rankings_of(results, before), rankings_of(results, after)
    queries = [query for query in results.queries if old.get(query) or new.get(query)]
    overlap = {query: rank_biased_overlap(old.get(query, ()), new.get(query, ())) for query in queries}
    other = sorted((query for query in queries if old.get(query) != new.get(query)), key=lambda query: (overlap[query], query))
    changes = tuple(
        QueryChange(query, None, None, overlap[query] - 1.0, DEPTH, document_moves(results, query, old, new, DEPTH))
        for query in other[:most]
    )
    return QueryChanges(changes, (), len(other), 0, len(results.queries) - len(other))


def rankings_of(results: ExperimentResult, system: str) -> Rankings:
    """The measured documents of a system by query, best first; empty if its rankings are not stored."""
    run = results.system_run(system).stored_run
    if run is None:
        return {}
    return {query: tuple(results.measured_docs(query, docs)) for query, docs in ranked_documents(run).items()}


def document_moves(
    results: ExperimentResult, query: str, before: Rankings, after: Rankings, depth: int
) -> tuple[DocumentMove, ...]:
    """The documents that entered or left the top, or moved in it."""
    old, new = ({doc: rank for rank, doc in enumerate(ranking.get(query, ()), start=1)} for ranking in (before, after))
    grades = {doc: grade for doc, grade in results.qrels.get(query, {}).items() if grade >= 0}
    tops = [doc for ranking in (after, before) for doc in ranking.get(query, ())[:depth]]
    moves = [
        DocumentMove(doc, kind, old.get(doc), new.get(doc), grades.get(doc))
        for doc in dict.fromkeys(tops)
        if (kind := _kind(old.get(doc), new.get(doc), depth)) is not None
    ]
    return tuple(sorted(moves, key=lambda move: (-max(move.grade or 0, results.rel - 1), _closest(move))))


def _closest(move: DocumentMove) -> int:
    return min(rank for rank in (move.before, move.after) if rank is not None)


def _kind(before: int | None, after: int | None, depth: int) -> MoveKind | None:
    """How a document of one of the two tops moved; None if its rank is the same."""
    if before == after:
        return None
    if before is None or before > depth:
        return "entered"
    if after is None or after > depth:
        return "left"
    return "up" if after < before else "down"


def _measured(results: ExperimentResult, system: str, measure: str) -> MeasureResult:
    systems = [*results.result.systems, *(results.answers.systems if results.answers else ())]
    return next(
        system_result.measures[measure]
        for system_result in systems
        if system_result.name == system and measure in system_result.measures
    )
