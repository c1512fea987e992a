"""DCG, nDCG."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, read_only
from rankproof.measures._base import CutoffMeasure, GainScheme, SummedMeasure, discount_gains, discounts, gains
from rankproof.measures._relevant import Ideal, SumParts, cached_on


def discounted_gains(hits: Hits, gain: GainScheme, depth: int, denominator: FloatArray) -> SumParts:
    """The discounted gains of each query's first `depth` documents, over its whole."""
    top = np.flatnonzero(hits.ranks <= depth)
    ranks, worth = hits.ranks[top], gains(hits.grades[top], gain)
    return SumParts(hits, top, worth, discounts(ranks), discount_gains(worth, ranks), denominator)


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscountedGain(SummedMeasure, CutoffMeasure):
    """Gains over log2(rank + 1), summed."""

    gain: GainScheme = "linear"
    name = "DCG"
    title = "Discounted cumulative gain"
    definition = (
        "Sum over the top k of gain / log2(rank + 1); gain is the grade ('linear'), 2^grade - 1 ('exp') or by hand ({1:3,2:9})."
    )
    source = "Järvelin and Kekäläinen 2002; trec_eval dcg; 'exp': Burges 2005"
    range = (0.0, float("inf"))
    kind = "graded"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        return discounted_gains(hits, self.gain, self.depth, np.ones(len(hits.queries)))


DCG = DiscountedGain()


def ideal_list(judged: JudgedQueries, gain: GainScheme, depth: int) -> Ideal:
    """Each query's judged documents in the best order, which is by grade unless gains are set by hand."""
    owners, ranks, at = judged.top(depth)
    if not isinstance(gain, str):
        at = np.lexsort((-gains(judged.grades, gain), judged.query_index))[at]
    worth = gains(judged.grades[at], gain)
    return Ideal(judged, owners, ranks, at, worth, discount_gains(worth, ranks))


@cached_on
def ideal_dcg(judged: JudgedQueries, gain: GainScheme, depth: int) -> FloatArray:
    """The DCG of each query's ideal list."""
    return read_only(ideal_list(judged, gain, depth).sums())


@dataclass(frozen=True, kw_only=True, repr=False)
class NormalisedGain(SummedMeasure, CutoffMeasure):
    """DCG over the DCG of the ideal ranking."""

    gain: GainScheme = "linear"
    name = "nDCG"
    title = "Normalised discounted cumulative gain"
    definition = (
        "DCG@k over the DCG@k of all judged documents in the best order;"
        " gain is the grade ('linear'), 2^grade - 1 ('exp') or by hand ({1:3,2:9})."
    )
    source = "Järvelin and Kekäläinen 2002; trec_eval ndcg, ndcg_cut; 'exp': Burges 2005"
    kind = "graded"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        return discounted_gains(hits, self.gain, self.depth, ideal_dcg(hits.judged, self.gain, self.depth))

    def ideal(self, judged: JudgedQueries) -> Ideal:
        return ideal_list(judged, self.gain, self.depth)


nDCG = NormalisedGain()
