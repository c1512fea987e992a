"""R-precision: precision at the rank where it equals recall."""

from __future__ import annotations

from ..align.hits import Hits
from .base import Binary, Sum
from .found import found
from .parts import Parts, alike


class RPrecision(Sum, Binary):
    """Relevant in the top R, over R, the number of relevant documents."""

    name = "Rprec"
    title = "R-precision"
    definition = "Precision after as many documents as are relevant: rel_ret(rel) / rel."
    source = "trec_eval Rprec"
    additive = True

    def parts(self, hits: Hits) -> Parts:
        those = found(hits, self.least)
        return alike(hits, those.at[those.ranks <= those.total[those.owners]], those.total)


Rprec = RPrecision()
