"""Values of a measure for hypothetical orders and grades of a query's hits, computed by the measure's own code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rankproof._align.hits import AlignmentCounts, Hits, JudgedQueries, Ties
from rankproof._data.arrays import FloatArray, IntArray
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
    lengths = np.array([len(rearrangement.ranks) for rearrangement in rearrangements])
    owners = np.repeat(np.arange(len(rearrangements)), lengths)
    ranks = np.concatenate([rearrangement.ranks for rearrangement in rearrangements])
    grades = np.concatenate([rearrangement.grades for rearrangement in rearrangements])
    order = np.lexsort((ranks, owners))
    return Hits(
        judged=_rearranged_judgements(hits.judged, rearrangements),
        present=hits.present[queries],
        retrieved=hits.retrieved[queries],
        offsets=np.concatenate(([0], np.cumsum(lengths))),
        ranks=ranks[order],
        grades=grades[order],
        ties=Ties.none(ranks[order]),
        alignment_counts=AlignmentCounts(),
    )


def _rearranged_judgements(judged: JudgedQueries, rearrangements: Sequence[Rearrangement]) -> JudgedQueries:
    own = [
        judged.grades[judged.offsets[rearrangement.query] : judged.offsets[rearrangement.query + 1]]
        for rearrangement in rearrangements
    ]
    combined = [np.concatenate((grades, rearrangement.more)) for grades, rearrangement in zip(own, rearrangements, strict=True)]
    lengths = np.array([len(grades) for grades in combined])
    owners = np.repeat(np.arange(len(combined)), lengths)
    grades = np.concatenate(combined)
    return replace(
        judged,
        queries=tuple(judged.queries[rearrangement.query] for rearrangement in rearrangements),
        offsets=np.concatenate(([0], np.cumsum(lengths))),
        grades=grades[np.lexsort((-grades, owners))],
        handle=None,
        documents=None,
    )
