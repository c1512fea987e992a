"""nDCG: gain met on the way down, over the most there was to meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..align.hits import Hits, Judged
from ..data.arrays import FloatArray, frozen
from .base import Cut, Sum
from .dcg import discounted_gains
from .gain import Gain, discounted, gains
from .once import once
from .parts import Ideal, Parts


def ideal_list(judged: Judged, gain: Gain, depth: int) -> Ideal:
    """Each query's judged documents in the best order, which is by grade unless gains are set by hand."""
    owners, ranks, at = judged.top(depth)
    if not isinstance(gain, str):
        at = np.lexsort((-gains(judged.grades, gain), judged.owners))[at]
    worth = gains(judged.grades[at], gain)
    return Ideal(judged, owners, ranks, at, worth, discounted(worth, ranks))


@once
def ideal_dcg(judged: Judged, gain: Gain, depth: int) -> FloatArray:
    """The DCG of each query's ideal list."""
    return frozen(ideal_list(judged, gain, depth).sums())


@dataclass(frozen=True, kw_only=True, repr=False)
class NormalisedGain(Sum, Cut):
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
    additive = True

    def parts(self, hits: Hits) -> Parts:
        return discounted_gains(hits, self.gain, self.depth, ideal_dcg(hits.judged, self.gain, self.depth))

    def ideal(self, judged: Judged) -> Ideal:
        return ideal_list(judged, self.gain, self.depth)


nDCG = NormalisedGain()  # noqa: N816
