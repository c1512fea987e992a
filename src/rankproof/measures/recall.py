"""Recall: how much of what is relevant stands in the top."""

from __future__ import annotations

from ..align.hits import Hits
from .base import CutBinary, Sum
from .found import found
from .parts import Parts, alike


class Recall(Sum, CutBinary):
    """Relevant in the top k, over all relevant."""

    name = "R"
    title = "Recall"
    definition = "Relevant documents in the top k, over all relevant ones: rel_ret(k) / rel."
    source = "trec_eval recall"
    needs = "R@100"
    additive = True

    def parts(self, hits: Hits) -> Parts:
        those = found(hits, self.least)
        return alike(hits, those.first(self.depth), those.total)


R = Recall()
