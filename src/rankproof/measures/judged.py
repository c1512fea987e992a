"""Judged: how much of the top anybody judged."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray, IntArray
from .base import Cut
from .found import ratio


def judged_within(hits: Hits, depth: int) -> IntArray:
    """How many of each query's first `depth` documents have a grade of 0 or more."""
    return np.bincount(hits.owners[(hits.ranks <= depth) & (hits.grades >= 0)], minlength=len(hits.queries))


class JudgedRate(Cut):
    """Judged in the top k, over what there is of it."""

    name = "Judged"
    title = "Judged rate"
    definition = "Judged documents in the top k, over min(k, retrieved); a grade below 0 counts as unjudged."
    source = "ir_measures Judged"
    kind = "count"
    parity = None

    def values(self, hits: Hits) -> FloatArray:
        return ratio(judged_within(hits, self.depth), np.minimum(hits.retrieved, self.depth))


Judged = JudgedRate()
