"""Success: whether anything relevant stands in the top."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import CutBinary
from .found import found


class SuccessAt(CutBinary):
    """1 if any relevant document is in the top k."""

    name = "Success"
    title = "Success (hit rate)"
    definition = "1 if any of the top k documents is relevant, else 0."
    source = "trec_eval success"
    needs = "Success@5"

    def values(self, hits: Hits) -> FloatArray:
        return np.asarray(found(hits, self.least).within(self.depth) > 0, dtype=np.float64)


Success = SuccessAt()
