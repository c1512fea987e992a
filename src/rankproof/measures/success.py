"""Success: whether anything relevant stands in the top."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from .base import CutBinary, Sum
from .found import found
from .parts import Parts, alike


class SuccessAt(Sum, CutBinary):
    """1 if any relevant document is in the top k."""

    name = "Success"
    title = "Success (hit rate)"
    definition = "1 if any of the top k documents is relevant, else 0."
    source = "trec_eval success"
    needs = "Success@5"

    def parts(self, hits: Hits) -> Parts:
        those = found(hits, self.least)
        return alike(hits, those.at[(those.nth == 1) & (those.ranks <= self.depth)], np.ones(len(hits.queries)))


Success = SuccessAt()
