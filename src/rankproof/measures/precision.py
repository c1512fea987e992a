"""Precision: how much of the top is relevant."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import CutBinary
from .found import found


class Precision(CutBinary):
    """Relevant in the top k, over k."""

    name = "P"
    title = "Precision"
    definition = "Relevant documents in the top k, over k, also where fewer than k were retrieved: rel_ret(k) / k."
    source = "trec_eval P"
    needs = "P@10"

    def values(self, hits: Hits) -> FloatArray:
        return np.asarray(found(hits, self.least).within(self.depth) / float(self.depth))


P = Precision()
