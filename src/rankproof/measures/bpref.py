"""bpref: how often judged relevant documents stand above judged others."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits, Judged
from ..data.arrays import IntArray, frozen
from .base import Binary, Sum
from .before import before
from .found import found
from .once import once
from .parts import Parts


@once
def _limits(judged: Judged, rel: int) -> IntArray:
    """The number of judged documents that are not relevant, at most the number that are, and at least 1 to divide by."""
    others = judged.count((judged.grades >= 0) & (judged.grades < rel))
    return frozen(np.maximum(np.minimum(others, judged.relevant(rel)), 1))


class BinaryPreference(Sum, Binary):
    """The fraction of preferences among judged documents that the ranking keeps."""

    name = "bpref"
    title = "Binary preference"
    definition = (
        "Mean over relevant documents of 1 - min(n, rel) / min(N, rel), with n judged non-relevant ones above it and N in all;"
        " one that is not retrieved adds 0, unjudged ones are ignored."
    )
    source = "Buckley and Voorhees 2004; trec_eval bpref"

    def parts(self, hits: Hits) -> Parts:
        those = found(hits, self.least)
        above = np.minimum(before(hits, self.least).nonrelevant, those.total[those.owners])
        kept = 1.0 - above / _limits(hits.judged, self.least)[those.owners]
        return Parts(hits, those.at, np.ones(len(kept)), kept, kept, those.total)


bpref = BinaryPreference()
