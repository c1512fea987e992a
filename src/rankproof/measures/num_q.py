"""NumQ: how many queries there are."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .counted import Count


class NumberOfQueries(Count):
    """1 for every query that is evaluated."""

    name = "NumQ"
    title = "Number of queries"
    definition = "1 for each query; the sum is the number of queries evaluated."
    source = "trec_eval num_q"

    def values(self, hits: Hits) -> FloatArray:
        return np.ones(len(hits.queries))


NumQ = NumberOfQueries()
