"""DCG: gain met on the way down, worth less the later it comes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import Cut, Sum
from .gain import Gain, discounted, discounts, gains
from .parts import Parts


def discounted_gains(hits: Hits, gain: Gain, depth: int, whole: FloatArray) -> Parts:
    """The discounted gains of each query's first `depth` documents, over its whole."""
    top = np.flatnonzero(hits.ranks <= depth)
    ranks, worth = hits.ranks[top], gains(hits.grades[top], gain)
    return Parts(hits, top, worth, discounts(ranks), discounted(worth, ranks), whole)


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscountedGain(Sum, Cut):
    """Gains over log2(rank + 1), summed."""

    gain: Gain = "linear"
    name = "DCG"
    title = "Discounted cumulative gain"
    definition = (
        "Sum over the top k of gain / log2(rank + 1); gain is the grade ('linear'), 2^grade - 1 ('exp') or by hand ({1:3,2:9})."
    )
    source = "Järvelin and Kekäläinen 2002; trec_eval dcg; 'exp': Burges 2005"
    range = (0.0, float("inf"))
    kind = "graded"
    additive = True

    def parts(self, hits: Hits) -> Parts:
        return discounted_gains(hits, self.gain, self.depth, np.ones(len(hits.queries)))


DCG = DiscountedGain()
