"""Average precision: the precision at each relevant document, over all relevant ones."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from .base import CutBinary, Sum
from .found import found
from .parts import Parts


class AveragePrecision(Sum, CutBinary):
    """Precision at each relevant document found, summed, over all relevant ones."""

    name = "AP"
    title = "Average precision (mean: MAP)"
    definition = (
        "Sum of the precision at the rank of each relevant document (in the top k), over all relevant ones, also with a cutoff."
    )
    source = "trec_eval map, map_cut"

    def parts(self, hits: Hits) -> Parts:
        those = found(hits, self.least)
        top = those.ranks <= self.depth
        nth, ranks = those.nth[top], those.ranks[top]
        return Parts(hits, those.at[top], nth.astype(np.float64), 1.0 / ranks, nth / ranks, those.total)


AP = AveragePrecision()
