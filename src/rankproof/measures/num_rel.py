"""NumRel: how many relevant documents there are."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import Binary
from .counted import Count
from .found import relevant_of


class NumberRelevant(Count, Binary):
    """Relevant documents in the qrels, also of a query that the run lacks."""

    name = "NumRel"
    title = "Number relevant"
    definition = "How many documents the qrels call relevant, also for a query that the run lacks."
    source = "trec_eval num_rel"

    def values(self, hits: Hits) -> FloatArray:
        return relevant_of(hits.judged, self.least).astype(np.float64)


NumRel = NumberRelevant()
