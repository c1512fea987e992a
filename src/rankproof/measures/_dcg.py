"""DCG and nDCG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, read_only
from rankproof.measures._base import (
    Advice,
    CutoffMeasure,
    GainScheme,
    RandomRanking,
    SummedMeasure,
    discount_gains,
    discounts,
    gains,
)
from rankproof.measures._relevant import Ideal, SumParts, cached_on


def discounted_gains(hits: Hits, gain: GainScheme, depth: int, denominator: FloatArray) -> SumParts:
    """The discounted gains of each query's first `depth` documents, divided by the query's denominator."""
    top = np.flatnonzero(hits.ranks <= depth)
    ranks, gain_of_hit = hits.ranks[top], gains(hits.grades[top], gain)
    return SumParts(hits, top, gain_of_hit, discounts(ranks), discount_gains(gain_of_hit, ranks), denominator)


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscountedGain(SummedMeasure, CutoffMeasure):
    """The sum of the gains, each divided by log2(rank + 1)."""

    gain: GainScheme = "linear"
    name = "DCG"
    title = "Discounted cumulative gain"
    family = "gain"
    formula = "Σ(i ≤ k) gain(i) / log2(i + 1)"
    definition = (
        "Sum over the top k of gain / log2(rank + 1);"
        " gain is the grade ('linear'), 2^grade - 1 ('exp') or a map from grade to gain ({1:3,2:9})."
    )
    source = "Järvelin and Kekäläinen 2002; trec_eval dcg; 'exp': Burges 2005"
    parity = "trec_eval"
    aliases = ("dcg_burges",)
    alias_parameters: ClassVar[Mapping[str, Mapping[str, Any]]] = {"dcg_burges": {"gain": "exp"}}
    advice = Advice(
        "ordering",
        "you look at one query, or all queries have about the same number of relevant documents.",
        "values are averaged over queries: a query with many relevant documents outweighs the others. Use nDCG.",
    )
    range = (0.0, float("inf"))
    kind = "graded"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        return discounted_gains(hits, self.gain, self.depth, np.ones(len(hits.queries)))


DCG = DiscountedGain()


def ideal_list(judged: JudgedQueries, gain: GainScheme, depth: int) -> Ideal:
    """Each query's judged documents in the best order, which is by grade unless gains are given."""
    owners, ranks, at = judged.top(depth)
    if not isinstance(gain, str):
        at = np.lexsort((-gains(judged.grades, gain), judged.query_index))[at]
    ideal_gains = gains(judged.grades[at], gain)
    return Ideal(judged, owners, ranks, at, ideal_gains, discount_gains(ideal_gains, ranks))


@cached_on
def ideal_dcg(judged: JudgedQueries, gain: GainScheme, depth: int) -> FloatArray:
    """The DCG of each query's ideal ranking."""
    return read_only(ideal_list(judged, gain, depth).sums())


@dataclass(frozen=True, kw_only=True, repr=False)
class NormalisedGain(SummedMeasure, CutoffMeasure):
    """DCG divided by the DCG of the ideal ranking."""

    gain: GainScheme = "linear"
    name = "nDCG"
    title = "Normalised discounted cumulative gain"
    family = "gain"
    formula = "DCG@k / IDCG@k"
    definition = (
        "DCG@k divided by the DCG@k of all judged documents in the best order;"
        " gain is the grade ('linear'), 2^grade - 1 ('exp') or a map from grade to gain ({1:3,2:9})."
    )
    source = "Järvelin and Kekäläinen 2002; trec_eval ndcg, ndcg_cut; 'exp': Burges 2005"
    parity = "trec_eval"
    aliases = (
        "ndcg_cut",
        "ndcg_burges",
    )
    alias_parameters: ClassVar[Mapping[str, Mapping[str, Any]]] = {"ndcg_burges": {"gain": "exp"}}
    advice = Advice(
        "ordering",
        "documents have grades and the best should come first: the usual main measure for ranked results.",
        "it only matters whether something was found, or few documents are judged: unjudged documents count as not relevant.",
    )
    kind = "graded"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        return discounted_gains(hits, self.gain, self.depth, ideal_dcg(hits.judged, self.gain, self.depth))

    def ideal(self, judged: JudgedQueries) -> Ideal:
        return ideal_list(judged, self.gain, self.depth)

    def chance(self, ranking: RandomRanking) -> float:
        """The mean gain of a document at every rank that counts, divided by the ideal DCG, which no order changes."""
        worth = gains(np.array(ranking.grades, dtype=np.int64), self.gain)
        best = np.sort(worth)[::-1][: self.depth]
        ideal = float(discount_gains(best, np.arange(1, len(best) + 1)).sum())
        return float(worth.sum()) / ranking.documents * _sum_of_discounts(ranking.length(self.depth)) / ideal if ideal else 0.0


@lru_cache(maxsize=64)
def _sum_of_discounts(length: int) -> float:
    return math.fsum(1.0 / np.log2(np.arange(2, length + 2)))


nDCG = NormalisedGain()  # noqa: N816
