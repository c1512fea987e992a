"""The relevant documents that a run found, and how many there were to find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..align.hits import Hits, Judged
from ..data.arrays import FloatArray, IntArray, frozen
from .once import once


@dataclass(frozen=True, eq=False, slots=True)
class Found:
    """Relevant documents by query and rank: places among the hits, owners, ranks, and which of its query each is (from 1)."""

    at: IntArray
    owners: IntArray
    ranks: IntArray
    nth: IntArray
    total: IntArray

    def within(self, depth: int) -> IntArray:
        """How many of each query stand at the first `depth` ranks."""
        return np.bincount(self.owners[self.ranks <= depth], minlength=len(self.total))

    def first(self, depth: int) -> IntArray:
        """The places, among the hits, of those at the first `depth` ranks."""
        return self.at[self.ranks <= depth]

    def summed(self, terms: FloatArray) -> FloatArray:
        """Each query's sum of terms, one a found document."""
        return summed(self.owners, terms, len(self.total))


def summed(owners: IntArray, terms: FloatArray, queries: int) -> FloatArray:
    """Each query's sum of its terms, added in their order."""
    return np.bincount(owners, terms, queries).astype(np.float64, copy=False)


@once
def found(hits: Hits, rel: int) -> Found:
    """The documents of grade rel or more that the run found."""
    relevant = np.flatnonzero(hits.grades >= rel)
    owners = hits.owners[relevant]
    counts = np.bincount(owners, minlength=len(hits.queries))
    starts = np.cumsum(counts) - counts
    nth = np.arange(1, len(owners) + 1) - starts[owners]
    return Found(frozen(relevant), frozen(owners), frozen(hits.ranks[relevant]), frozen(nth), relevant_of(hits.judged, rel))


@once
def relevant_of(judged: Judged, rel: int) -> IntArray:
    """How many relevant documents each query has."""
    return frozen(judged.relevant(rel))


def ratio(part: IntArray | FloatArray, whole: IntArray | FloatArray) -> FloatArray:
    """Part over whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole != 0)
