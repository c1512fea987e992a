"""Unjudged pairs of query and document, and what each could change by any grade that its document could have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...align.hits import Hits
from ...data.arrays import FloatArray, IntArray
from ...measures import Binary, Measure
from ..arrangements import Arrangement, judged_hits_of, values_of
from .unjudged import Holes, top_grade

DEEPEST = 100


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """Unjudged pairs, the grades that they could have, and by how much each system's mean changes (grade x system x pair)."""

    pairs: tuple[tuple[str, str], ...]
    grades: tuple[int, ...]
    changes: FloatArray

    @property
    def spreads(self) -> FloatArray:
        """The most that each grade of each pair changes the difference of two means, or the one mean where there is one."""
        if self.changes.shape[1] == 1:
            return np.asarray(np.abs(self.changes[:, 0]))
        return np.asarray(self.changes.max(axis=1) - self.changes.min(axis=1))

    @property
    def spread(self) -> FloatArray:
        """The same by each pair's own strongest grade."""
        return np.asarray(self.spreads.max(axis=0))

    @property
    def strongest(self) -> IntArray:
        """The place of each pair's strongest grade, the lowest of equals."""
        return np.asarray(np.argmax(self.spreads, axis=0))


def grades_for(holes: Holes, measure: Measure) -> tuple[int, ...]:
    """The grades that a pair could have, up to the highest in use, as far as the measure tells them apart."""
    highest = max(hits.judged.highest for hits in holes.hits.values())
    if isinstance(measure, Binary):
        return (0, top_grade(measure, highest))
    return tuple(range(max(highest, 1) + 1))


def pairs_of(holes: Holes, measure: Measure) -> Pairs:
    """Every unjudged pair within the cutoff of some system, in the order of queries and ids."""
    depth = min(getattr(measure, "cutoff", None) or DEEPEST, DEEPEST)
    pairs = [
        (query, doc)
        for query, unjudged in holes.unjudged.items()
        for doc in sorted(unjudged & {doc for each in holes.lists.values() if query in each for doc in each[query].docs[:depth]})
    ]
    grades, systems = grades_for(holes, measure), holes.evidence.systems
    changes = [[_changes(holes, measure, system, pairs, grade) for system in systems] for grade in grades]
    return Pairs(tuple(pairs), grades, np.array(changes).reshape(len(grades), len(systems), len(pairs)))


def _changes(holes: Holes, measure: Measure, system: str, pairs: list[tuple[str, str]], grade: int) -> FloatArray:
    """What each pair adds to the system's mean; a query that it lacks is worth 0 however it is judged."""
    hits = holes.hits[system]
    index = {query: at for at, query in enumerate(hits.queries)}
    at = np.array([index[query] for query, _ in pairs], dtype=np.int64)
    given = [graded(holes, hits, system, index[query], {doc: grade}) for query, doc in pairs]
    changed: FloatArray = values_of(measure, hits, given) - measure.values(hits)[at]
    return changed / max(int(holes.counted(system).sum()), 1)


def graded(holes: Holes, hits: Hits, system: str, query: int, docs: Mapping[str, int]) -> Arrangement:
    """The query's hits if these documents had these grades."""
    listing = holes.lists[system].get(hits.queries[query])
    places = {} if listing is None else {rank: docs[doc] for rank, doc in enumerate(listing.docs, start=1) if doc in docs}
    ranks, grades = judged_hits_of(hits, query)
    new, given = (np.array(list(each), dtype=np.int64) for each in (places, places.values()))
    more = np.array(list(docs.values()), dtype=np.int64)
    return Arrangement(query, np.concatenate((ranks, new)), np.concatenate((grades, given)), more)
