"""Reciprocal rank: how soon the first relevant document comes."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import CutBinary
from .found import found


class ReciprocalRank(CutBinary):
    """1 over the rank of the first relevant document."""

    name = "RR"
    title = "Reciprocal rank (mean: MRR)"
    definition = "1 / rank of the first relevant document, 0 if there is none (in the top k)."
    source = "trec_eval recip_rank"

    def values(self, hits: Hits) -> FloatArray:
        those = found(hits, self.least)
        first = (those.nth == 1) & (those.ranks <= self.depth)
        values = np.zeros(len(hits.queries))
        values[those.owners[first]] = 1.0 / those.ranks[first]
        return values


RR = ReciprocalRank()
