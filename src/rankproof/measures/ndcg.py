"""nDCG: gain met on the way down, over the most there was to meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..align.hits import Hits, Judged
from ..data.arrays import FloatArray, frozen
from .base import Cut
from .dcg import dcg
from .found import ratio, summed
from .gain import Gain, discounted, gains
from .once import once


@once
def ideal_dcg(judged: Judged, gain: Gain, depth: int) -> FloatArray:
    """The DCG of each query's judged documents in the best order, which is by grade unless gains are set by hand."""
    owners, places, at = judged.top(depth)
    if isinstance(gain, str):
        worth = gains(judged.grades[at], gain)
    else:
        every = gains(judged.grades, gain)
        worth = every[np.lexsort((-every, judged.owners))][at]
    return frozen(summed(owners, discounted(worth, places), len(judged.queries)))


@dataclass(frozen=True, kw_only=True, repr=False)
class NormalisedGain(Cut):
    """DCG over the DCG of the ideal ranking."""

    gain: Gain = "linear"
    name = "nDCG"
    title = "Normalised discounted cumulative gain"
    definition = (
        "DCG@k over the DCG@k of all judged documents in the best order;"
        " gain is the grade ('linear'), 2^grade - 1 ('exp') or by hand ({1:3,2:9})."
    )
    source = "Järvelin and Kekäläinen 2002; trec_eval ndcg, ndcg_cut; 'exp': Burges 2005"
    kind = "graded"

    def values(self, hits: Hits) -> FloatArray:
        return ratio(dcg(hits, self.gain, self.depth), ideal_dcg(hits.judged, self.gain, self.depth))


nDCG = NormalisedGain()  # noqa: N816
