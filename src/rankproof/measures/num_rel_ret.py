"""NumRelRet: how many relevant documents were retrieved."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import NO_LIMIT, Binary
from .counted import Count
from .found import found


class NumberRelevantRetrieved(Count, Binary):
    """Relevant documents retrieved."""

    name = "NumRelRet"
    title = "Number relevant retrieved"
    definition = "How many relevant documents were retrieved."
    source = "trec_eval num_rel_ret"
    higher_is_better = True

    def values(self, hits: Hits) -> FloatArray:
        return found(hits, self.least).within(NO_LIMIT).astype(np.float64)


NumRelRet = NumberRelevantRetrieved()
