"""Recall: how much of what is relevant stands in the top."""

from __future__ import annotations

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import CutBinary
from .found import found, ratio


class Recall(CutBinary):
    """Relevant in the top k, over all relevant."""

    name = "R"
    title = "Recall"
    definition = "Relevant documents in the top k, over all relevant ones: rel_ret(k) / rel."
    source = "trec_eval recall"
    needs = "R@100"

    def values(self, hits: Hits) -> FloatArray:
        those = found(hits, self.least)
        return ratio(those.within(self.depth), those.total)


R = Recall()
