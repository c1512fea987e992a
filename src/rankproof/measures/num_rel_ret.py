"""NumRelRet: how many relevant documents were retrieved."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from .base import Binary, Sum
from .counted import Count
from .found import found
from .parts import Parts, alike


class NumberRelevantRetrieved(Sum, Count, Binary):
    """Relevant documents retrieved."""

    name = "NumRelRet"
    title = "Number relevant retrieved"
    definition = "How many relevant documents were retrieved."
    source = "trec_eval num_rel_ret"
    higher_is_better = True
    additive = True

    def parts(self, hits: Hits) -> Parts:
        return alike(hits, found(hits, self.least).at, np.ones(len(hits.queries)))


NumRelRet = NumberRelevantRetrieved()
