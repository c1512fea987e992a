"""Precision: how much of the top is relevant."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from .base import CutBinary, Sum
from .found import found
from .parts import Parts, alike


class Precision(Sum, CutBinary):
    """Relevant in the top k, over k."""

    name = "P"
    title = "Precision"
    definition = "Relevant documents in the top k, over k, also where fewer than k were retrieved: rel_ret(k) / k."
    source = "trec_eval P"
    needs = "P@10"
    additive = True

    def parts(self, hits: Hits) -> Parts:
        whole = np.full(len(hits.queries), float(self.depth))
        return alike(hits, found(hits, self.least).first(self.depth), whole)


P = Precision()
