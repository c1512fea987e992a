"""Values of a measure for hypothetical orders and grades of a query's hits, computed by the measure's own code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rankproof._align.hits import AlignmentCounts, Hits, Ties
from rankproof._data.arrays import FloatArray, IntArray, list_numbers, list_places, repeat_each
from rankproof.measures._base import Measure


@dataclass(frozen=True, eq=False, slots=True)
class Rearrangement:
    """A query by its index, with ranks and grades of its hits, and the grades of more judged documents."""

    query: int
    ranks: IntArray
    grades: IntArray
    more: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def rearranged_values(measure: Measure, hits: Hits, rearrangements: Sequence[Rearrangement]) -> FloatArray:
    """The value of each rearrangement, as if each were a query of its own."""
    return measure.values(_rearranged_hits(hits, rearrangements)) if rearrangements else np.zeros(0)


def values_with_document(measure: Measure, hits: Hits, queries: IntArray, ranks: IntArray, grade: int) -> FloatArray:
    """The value of each of these queries if one more document had this grade, at this rank, or at 0 if it was not retrieved."""
    # In parts, as the hits of all of them take much more memory than their values.
    parts = [slice(at, at + _QUERIES_AT_ONCE) for at in range(0, len(queries), _QUERIES_AT_ONCE)]
    values = [_part_with_document(measure, hits, queries[part], ranks[part], grade) for part in parts]
    return np.concatenate([np.zeros(0), *values])


_QUERIES_AT_ONCE = 1 << 15


def _part_with_document(measure: Measure, hits: Hits, queries: IntArray, ranks: IntArray, grade: int) -> FloatArray:
    own, owners = _slices(hits.offsets, queries)
    counted = hits.grades[own] >= 0
    own, owners, retrieved = own[counted], owners[counted], np.flatnonzero(ranks > 0)
    judged, _ = _slices(hits.judged.offsets, queries)
    lengths = np.diff(hits.judged.offsets)[queries]
    # The grades of a query are sorted, so the new one has its place after those that are at least as high.
    places = np.cumsum(lengths) - lengths + hits.judged.count(hits.judged.grades >= grade)[queries]
    return measure.values(
        _hits_of(
            hits,
            queries,
            np.concatenate((owners, retrieved)),
            np.concatenate((hits.ranks[own], ranks[retrieved])),
            np.concatenate((hits.grades[own], np.full(len(retrieved), grade))),
            np.insert(hits.judged.grades[judged], places, grade),
            lengths + 1,
        )
    )


def _slices(offsets: IntArray, queries: IntArray) -> tuple[IntArray, IntArray]:
    """The indexes of the items of these queries, one query after the other, and the place of each one's query."""
    lengths = offsets[queries + 1] - offsets[queries]
    return repeat_each(offsets[queries], lengths) + list_places(lengths), list_numbers(lengths)


def query_hits(hits: Hits, query: int) -> tuple[IntArray, IntArray]:
    """The ranks and grades of one query's hits."""
    mine = slice(int(hits.offsets[query]), int(hits.offsets[query + 1]))
    return hits.ranks[mine], hits.grades[mine]


def judged_query_hits(hits: Hits, query: int) -> tuple[IntArray, IntArray]:
    """The ranks and grades of one query's hits without negative grades, which count as unjudged."""
    ranks, grades = query_hits(hits, query)
    return ranks[grades >= 0], grades[grades >= 0]


def _rearranged_hits(hits: Hits, rearrangements: Sequence[Rearrangement]) -> Hits:
    queries = np.array([rearrangement.query for rearrangement in rearrangements])
    judged, judges = _slices(hits.judged.offsets, queries)
    owners = np.concatenate((judges, list_numbers(np.array([len(rearrangement.more) for rearrangement in rearrangements]))))
    judged_grades = np.concatenate((hits.judged.grades[judged], *(rearrangement.more for rearrangement in rearrangements)))
    return _hits_of(
        hits,
        queries,
        list_numbers(np.array([len(rearrangement.ranks) for rearrangement in rearrangements])),
        np.concatenate([rearrangement.ranks for rearrangement in rearrangements]),
        np.concatenate([rearrangement.grades for rearrangement in rearrangements]),
        judged_grades[np.lexsort((-judged_grades, owners))],
        np.bincount(owners, minlength=len(queries)),
    )


def _hits_of(
    hits: Hits,
    queries: IntArray,
    owners: IntArray,
    ranks: IntArray,
    grades: IntArray,
    judged_grades: IntArray,
    judged_lengths: IntArray,
) -> Hits:
    """Hits of these queries: rank and grade of each retrieved document with its query's place; judged grades by query, sorted."""
    order = np.lexsort((ranks, owners))
    judged = replace(
        hits.judged,
        queries=tuple(hits.judged.queries[query] for query in queries.tolist()),
        offsets=_offsets(judged_lengths),
        grades=judged_grades,
        handle=None,
        documents=None,
    )
    return Hits(
        judged=judged,
        present=hits.present[queries],
        retrieved=hits.retrieved[queries],
        offsets=_offsets(np.bincount(owners, minlength=len(queries))),
        ranks=ranks[order],
        grades=grades[order],
        ties=Ties.none(ranks[order]),
        alignment_counts=AlignmentCounts(),
    )


def _offsets(lengths: IntArray) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths)))
