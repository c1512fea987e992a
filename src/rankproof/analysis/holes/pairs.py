"""Unjudged pairs of query and document, and what each could change if its document had the top grade."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...align.hits import Hits
from ...data.arrays import FloatArray
from ...measures import Measure
from ..arrangements import Arrangement, hits_of, values_of
from .unjudged import Holes, top_grade

DEEPEST = 100


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """Unjudged pairs, and by how much each system's mean changes if a pair's document has the top grade (system x pair)."""

    pairs: tuple[tuple[str, str], ...]
    changes: FloatArray

    @property
    def spread(self) -> FloatArray:
        """The most that each pair can change the difference of two means, or the one mean where there is one."""
        if len(self.changes) == 1:
            return np.asarray(np.abs(self.changes[0]))
        return np.asarray(self.changes.max(axis=0) - self.changes.min(axis=0))


def grade_for(holes: Holes, measure: Measure) -> int:
    """The grade that a pair could have: the highest in use, as the measure sees it."""
    return top_grade(measure, max(hits.judged.highest for hits in holes.hits.values()))


def pairs_of(holes: Holes, measure: Measure) -> Pairs:
    """Every unjudged pair within the cutoff of some system, in the order of queries and ids."""
    depth = min(getattr(measure, "cutoff", None) or DEEPEST, DEEPEST)
    pairs = [
        (query, doc)
        for query, unjudged in holes.unjudged.items()
        for doc in sorted(unjudged & {doc for each in holes.lists.values() if query in each for doc in each[query].docs[:depth]})
    ]
    grade = grade_for(holes, measure)
    changes = [_changes(holes, measure, system, pairs, grade) for system in holes.evidence.systems]
    return Pairs(tuple(pairs), np.array(changes).reshape(len(changes), len(pairs)))


def _changes(holes: Holes, measure: Measure, system: str, pairs: list[tuple[str, str]], grade: int) -> FloatArray:
    """What each pair adds to the system's mean; a query that it lacks is worth 0 however it is judged."""
    hits = holes.hits[system]
    index = {query: at for at, query in enumerate(hits.queries)}
    at = np.array([index[query] for query, _ in pairs], dtype=np.int64)
    given = [given_grade(holes, hits, system, index[query], {doc}, grade) for query, doc in pairs]
    changed: FloatArray = values_of(measure, hits, given) - measure.values(hits)[at]
    return changed / max(int(holes.counted(system).sum()), 1)


def given_grade(holes: Holes, hits: Hits, system: str, query: int, docs: set[str], grade: int) -> Arrangement:
    """The query's hits if these documents had the grade."""
    name = hits.queries[query]
    listing = holes.lists[system].get(name)
    places = [] if listing is None else [rank for rank, doc in enumerate(listing.docs, start=1) if doc in docs]
    ranks, grades = hits_of(hits, query)
    added = np.full(len(places), grade)
    new = np.array(places, dtype=np.int64)
    return Arrangement(query, np.concatenate((ranks, new)), np.concatenate((grades, added)), np.full(len(docs), grade))
