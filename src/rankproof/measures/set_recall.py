"""SetR: recall of all that was retrieved, in no order."""

from __future__ import annotations

from ..align.hits import Hits
from .base import Binary, Sum
from .found import found
from .parts import Parts, alike


class SetRecall(Sum, Binary):
    """Relevant retrieved, over all relevant."""

    name = "SetR"
    title = "Set recall"
    definition = "Relevant documents retrieved, over all relevant ones: rel_ret / rel."
    source = "trec_eval set_recall"
    additive = True

    def parts(self, hits: Hits) -> Parts:
        those = found(hits, self.least)
        return alike(hits, those.at, those.total)


SetR = SetRecall()
