"""Judged: how much of the top anybody judged."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import IntArray
from .base import Cut, Sum
from .parts import Parts, alike


def judged_within(hits: Hits, depth: int) -> IntArray:
    """How many of each query's first `depth` documents have a grade of 0 or more."""
    return np.bincount(hits.owners[_judged(hits, depth)], minlength=len(hits.queries))


def _judged(hits: Hits, depth: int) -> IntArray:
    return np.flatnonzero((hits.ranks <= depth) & (hits.grades >= 0))


class JudgedRate(Sum, Cut):
    """Judged in the top k, over what there is of it."""

    name = "Judged"
    title = "Judged rate"
    definition = "Judged documents in the top k, over min(k, retrieved); a grade below 0 counts as unjudged."
    source = "ir_measures Judged"
    kind = "count"
    parity = None
    additive = True

    def parts(self, hits: Hits) -> Parts:
        return alike(hits, _judged(hits, self.depth), np.minimum(hits.retrieved, self.depth))


Judged = JudgedRate()
