"""Unjudged: how much of the top nobody judged."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import Cut
from .judged import judged_within


class UnjudgedRate(Cut):
    """Unjudged in the top k, over k."""

    name = "Unjudged"
    title = "Unjudged rate"
    definition = (
        "Unjudged documents in the top k, over k, also where fewer than k were retrieved; a grade below 0 counts as unjudged."
    )
    source = "trec_eval unj"
    kind = "count"
    higher_is_better = False
    needs = "Unjudged@10"

    def values(self, hits: Hits) -> FloatArray:
        seen = np.minimum(hits.retrieved, self.depth)
        return np.asarray((seen - judged_within(hits, self.depth)) / float(self.depth))


Unjudged = UnjudgedRate()
