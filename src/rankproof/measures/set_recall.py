"""SetR: recall of all that was retrieved, in no order."""

from __future__ import annotations

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import NO_LIMIT, Binary
from .found import found, ratio


class SetRecall(Binary):
    """Relevant retrieved, over all relevant."""

    name = "SetR"
    title = "Set recall"
    definition = "Relevant documents retrieved, over all relevant ones: rel_ret / rel."
    source = "trec_eval set_recall"

    def values(self, hits: Hits) -> FloatArray:
        those = found(hits, self.least)
        return ratio(those.within(NO_LIMIT), those.total)


SetR = SetRecall()
