"""Reciprocal rank: how soon the first relevant document comes."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from .base import CutBinary, Sum
from .found import found
from .parts import Parts


class ReciprocalRank(Sum, CutBinary):
    """1 over the rank of the first relevant document."""

    name = "RR"
    title = "Reciprocal rank (mean: MRR)"
    definition = "1 / rank of the first relevant document, 0 if there is none (in the top k)."
    source = "trec_eval recip_rank"

    def parts(self, hits: Hits) -> Parts:
        those = found(hits, self.least)
        first = (those.nth == 1) & (those.ranks <= self.depth)
        terms = 1.0 / those.ranks[first]
        return Parts(hits, those.at[first], np.ones(len(terms)), terms, terms, np.ones(len(hits.queries)))


RR = ReciprocalRank()
