"""SetP: precision of all that was retrieved, in no order."""

from __future__ import annotations

from ..align.hits import Hits
from .base import Binary, Sum
from .found import found
from .parts import Parts, alike


class SetPrecision(Sum, Binary):
    """Relevant retrieved, over retrieved."""

    name = "SetP"
    title = "Set precision"
    definition = "Relevant documents retrieved, over all retrieved: rel_ret / ret."
    source = "trec_eval set_P"
    additive = True

    def parts(self, hits: Hits) -> Parts:
        return alike(hits, found(hits, self.least).at, hits.retrieved)


SetP = SetPrecision()
