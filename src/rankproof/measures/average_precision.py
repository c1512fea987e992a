"""Average precision: the precision at each relevant document, over all relevant ones."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import CutBinary
from .found import found, ratio


class AveragePrecision(CutBinary):
    """Precision at each relevant document found, summed, over all relevant ones."""

    name = "AP"
    title = "Average precision (mean: MAP)"
    definition = (
        "Sum of the precision at the rank of each relevant document (in the top k), over all relevant ones, also with a cutoff."
    )
    source = "trec_eval map, map_cut"

    def values(self, hits: Hits) -> FloatArray:
        those = found(hits, self.least)
        precision = np.where(those.ranks <= self.depth, those.nth / those.ranks, 0.0)
        return ratio(those.summed(precision), those.total)


AP = AveragePrecision()
