"""NumRet: how many documents were retrieved."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import Measure
from .counted import Count
from .num_rel_ret import NumRelRet


class NumberRetrieved(Count):
    """Documents retrieved; with a rel it is NumRelRet."""

    name = "NumRet"
    title = "Number retrieved"
    definition = "How many documents were retrieved."
    source = "trec_eval num_ret"

    def values(self, hits: Hits) -> FloatArray:
        return hits.retrieved.astype(np.float64)

    def __call__(self, **parameters: Any) -> Measure:
        return NumRelRet(**parameters) if parameters else self


NumRet = NumberRetrieved()
