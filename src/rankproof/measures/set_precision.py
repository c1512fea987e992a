"""SetP: precision of all that was retrieved, in no order."""

from __future__ import annotations

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import NO_LIMIT, Binary
from .found import found, ratio


class SetPrecision(Binary):
    """Relevant retrieved, over retrieved."""

    name = "SetP"
    title = "Set precision"
    definition = "Relevant documents retrieved, over all retrieved: rel_ret / ret."
    source = "trec_eval set_P"

    def values(self, hits: Hits) -> FloatArray:
        return ratio(found(hits, self.least).within(NO_LIMIT), hits.retrieved)


SetP = SetPrecision()
