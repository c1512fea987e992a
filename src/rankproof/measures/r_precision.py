"""R-precision: precision at the rank where it equals recall."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import Binary
from .found import found, ratio


class RPrecision(Binary):
    """Relevant in the top R, over R, the number of relevant documents."""

    name = "Rprec"
    title = "R-precision"
    definition = "Precision after as many documents as are relevant: rel_ret(rel) / rel."
    source = "trec_eval Rprec"

    def values(self, hits: Hits) -> FloatArray:
        those = found(hits, self.least)
        early = those.ranks <= those.total[those.owners]
        return ratio(np.bincount(those.owners[early], minlength=len(hits.queries)), those.total)


Rprec = RPrecision()
