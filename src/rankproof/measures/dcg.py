"""DCG: gain met on the way down, worth less the later it comes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import Cut
from .found import summed
from .gain import Gain, discounted, gains


def dcg(hits: Hits, gain: Gain, depth: int) -> FloatArray:
    """The discounted gain of each query's first `depth` documents."""
    top = np.flatnonzero(hits.ranks <= depth)
    terms = discounted(gains(hits.grades[top], gain), hits.ranks[top])
    return summed(hits.owners[top], terms, len(hits.queries))


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscountedGain(Cut):
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

    def values(self, hits: Hits) -> FloatArray:
        return dcg(hits, self.gain, self.depth)


DCG = DiscountedGain()
