"""Measures of gain: DCG and nDCG, and those of trec_eval that compare gains with the ideal ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray, read_only
from rankproof.measures._base import (
    GAIN,
    NO_LIMIT,
    Advice,
    BinaryMeasure,
    CutoffMeasure,
    GainScheme,
    Measure,
    RandomRanking,
    SummedMeasure,
    discount_gains,
    discounts,
    gains,
)
from rankproof.measures._relevant import Ideal, SumParts, cached_on, ratio, relevant_found, running_sums, sum_by_query


def discounted_gains(hits: Hits, gain: GainScheme, depth: int, denominator: FloatArray) -> SumParts:
    """The discounted gains of each query's first `depth` documents, divided by the query's denominator."""
    top = np.flatnonzero(hits.ranks <= depth)
    ranks, gain_of_hit = hits.ranks[top], gains(hits.grades[top], gain)
    return SumParts(hits, top, gain_of_hit, discounts(ranks), discount_gains(gain_of_hit, ranks), denominator)


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscountedGain(SummedMeasure, CutoffMeasure):
    """The sum of the gains, each divided by log2(rank + 1)."""

    gain: Annotated[GainScheme, GAIN] = "linear"
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

    gain: Annotated[GainScheme, GAIN] = "linear"
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
    aliases = ("ndcg_cut", "ndcg_burges")
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


@dataclass(frozen=True, kw_only=True, repr=False)
class GainMeasure(Measure):
    """A measure of gains, which are the grades unless others are given."""

    gain: Annotated[GainScheme, GAIN] = "linear"
    family = "gain"
    kind = "graded"
    suffix: ClassVar[str | None] = "gain"


class GainSteps(NamedTuple):
    """The documents with a gain, by query and rank: those that a run found, or those of the ideal ranking.

    `sums` are the DCG up to each of them, `worth` the plain sum of gains up to each of them.
    """

    query_index: IntArray
    ranks: IntArray
    gain: FloatArray
    sums: FloatArray
    worth: FloatArray
    offsets: IntArray

    @property
    def counts(self) -> IntArray:
        """The number of documents of each query."""
        return np.diff(self.offsets)

    def totals(self, sums: FloatArray) -> FloatArray:
        """The last sum of each query, 0 without documents."""
        return self.up_to(sums, np.arange(len(self.counts)), np.full(len(self.counts), NO_LIMIT))

    def up_to(self, sums: FloatArray, queries: IntArray, ranks: IntArray) -> FloatArray:
        """The sum of each of these queries up to this rank."""
        width = int(self.ranks.max(initial=0)) + 1
        keys = self.query_index * width + self.ranks
        at = np.searchsorted(keys, queries * width + np.minimum(ranks, width - 1), side="right")
        return np.concatenate(([0.0], sums))[np.where(at > self.offsets[queries], at, 0)]


def _steps(query_index: IntArray, ranks: IntArray, gain: FloatArray, queries: int) -> GainSteps:
    counts = np.bincount(query_index, minlength=queries)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    sums, worth = running_sums(discount_gains(gain, ranks), counts), running_sums(gain, counts)
    return GainSteps(query_index, ranks, gain, read_only(sums), read_only(worth), offsets)


@cached_on
def found_steps(hits: Hits, gain: GainScheme) -> GainSteps:
    """The documents with a gain that the run found."""
    worth = gains(hits.grades, gain)
    at = np.flatnonzero(worth > 0)
    return _steps(hits.query_index[at], hits.ranks[at], worth[at], len(hits.queries))


@cached_on
def ideal_steps(judged: JudgedQueries, gain: GainScheme) -> GainSteps:
    """The judged documents with a gain in the best order."""
    ideal = ideal_list(judged, gain, NO_LIMIT)
    at = np.flatnonzero(ideal.gain > 0)
    return _steps(ideal.query_index[at], ideal.ranks[at], ideal.gain[at], len(judged.queries))


class NormalisedGainOfCost(GainMeasure):
    """Gains, each discounted by what was missed so far, divided by all gains that could be found."""

    name = "G"
    title = "Normalised gain"
    formula = "Σ(i) gain(i) / log2(2 + cost(i) - found(i)) / Σ(judged d) gain(d)"
    definition = (
        "Sum over documents of gain / log2(2 + cost - found), divided by the gains of all judged documents. found is the"
        " sum of gains up to this document and with it, cost the sum of max(1, gain) over as many ranks of the ideal ranking."
    )
    source = "trec_eval G"
    parity = "trec_eval"
    advice = Advice(
        "ordering",
        "a document should be worth less the more was missed before it, rather than by its rank alone.",
        "readers should know the measure: it is used by trec_eval only. Use nDCG.",
    )

    def values(self, hits: Hits) -> FloatArray:
        actual, ideal = found_steps(hits, self.gain), ideal_steps(hits.judged, self.gain)
        above_one = running_sums(np.maximum(ideal.gain - 1.0, 0.0), ideal.counts)
        cost = actual.ranks + ideal.up_to(above_one, actual.query_index, actual.ranks)
        terms = actual.gain / np.log2(2.0 + cost - actual.worth)
        return ratio(sum_by_query(actual.query_index, terms, len(hits.queries)), ideal.totals(ideal.worth))


G = NormalisedGainOfCost()


class BinaryGain(SummedMeasure, BinaryMeasure):
    """Relevant documents, each discounted by the non-relevant ones above it."""

    name = "binG"
    title = "Binary normalised gain"
    family = "gain"
    formula = "1/R Σ(relevant d) 1 / log2(2 + n(d))"
    definition = (
        "Mean over relevant documents of 1 / log2(2 + n): n documents above it are not relevant, and one that is not retrieved"
        " adds 0."
    )
    source = "trec_eval binG"
    parity = "trec_eval"
    advice = Advice(
        "ordering",
        "relevant documents should not lower the worth of each other, as ranks do in nDCG.",
        "readers should know the measure: it is used by trec_eval only. Use AP.",
    )

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        terms = 1.0 / np.log2(2.0 + relevant.ranks - relevant.nth)
        return SumParts(hits, relevant.at, np.ones(len(terms)), terms, terms, relevant.total)


binG = BinaryGain()  # noqa: N816


class GainAtRelevant(GainMeasure):
    """nDCG at the rank of each document with a gain, averaged."""

    name = "ndcg_rel"
    title = "nDCG averaged over relevant documents"
    formula = "mean of nDCG@rank(d) over the judged d with a gain"
    definition = (
        "Mean over judged documents with a gain: nDCG@k if it is at rank k, and the DCG of the whole ranking divided by the full"
        " ideal DCG if it is not retrieved."
    )
    source = "trec_eval ndcg_rel"
    parity = "trec_eval"
    advice = Advice(
        "ordering",
        "you want nDCG without a choice of the cutoff.",
        "readers should know the measure: it is used by trec_eval only. Use nDCG@10.",
    )

    def values(self, hits: Hits) -> FloatArray:
        actual, ideal = found_steps(hits, self.gain), ideal_steps(hits.judged, self.gain)
        terms = actual.sums / ideal.up_to(ideal.sums, actual.query_index, actual.ranks)
        missed = (ideal.counts - actual.counts) * actual.totals(actual.sums)
        sums = sum_by_query(actual.query_index, terms, len(hits.queries)) + ratio(missed, ideal.totals(ideal.sums))
        return ratio(sums, ideal.counts)


ndcg_rel = GainAtRelevant()


@dataclass(frozen=True, kw_only=True, repr=False)
class GainAtLevels(GainMeasure, BinaryMeasure):
    """nDCG at the ranks at which the ideal ranking goes to a lower gain, averaged."""

    name = "Rndcg"
    title = "nDCG at the levels of gain"
    formula = "mean of nDCG@k over the ranks k at which a level of gain ends"
    definition = (
        "Mean of nDCG@k over the ranks k at which a level of gain ends in the ideal ranking, and over the end of the ranking if"
        " it is at least two documents longer than that; 0 for a query without relevant documents."
    )
    source = "trec_eval Rndcg"
    parity = "trec_eval"
    advice = Advice(
        "ordering",
        "you want Rprec for grades: the cutoffs follow the number of documents of each grade.",
        "readers should know the measure, or rankings have different lengths: those are averaged over different ranks.",
    )

    def values(self, hits: Hits) -> FloatArray:
        actual, ideal = found_steps(hits, self.gain), ideal_steps(hits.judged, self.gain)
        last = np.flatnonzero(np.append((np.diff(ideal.gain) != 0) | (np.diff(ideal.query_index) != 0), len(ideal.gain) > 0))
        queries, ranks = ideal.query_index[last], ideal.ranks[last]
        points = actual.up_to(actual.sums, queries, ranks) / ideal.sums[last]
        longer = hits.retrieved > ideal.counts + 1
        ends = np.where(longer, ratio(actual.totals(actual.sums), ideal.totals(ideal.sums)), 0.0)
        sums = sum_by_query(queries, points, len(hits.queries)) + ends
        counted = np.bincount(queries, minlength=len(hits.queries)) + longer
        return np.where(hits.judged.relevant(self.least) > 0, ratio(sums, counted), 0.0)


Rndcg = GainAtLevels()


@dataclass(frozen=True, kw_only=True, repr=False)
class IdealDiscountedGain(Measure):
    """The DCG of the best ranking of the judged documents."""

    gain: Annotated[GainScheme, GAIN] = "linear"
    name = "IDCG"
    title = "Ideal discounted cumulative gain"
    family = "gain"
    formula = "Σ(i) gain(i) / log2(i + 1) of the ideal ranking"
    definition = "The DCG of all judged documents in the best order, including queries missing from the run."
    source = "Järvelin and Kekäläinen 2002; trec_eval ideal_dcg"
    parity = "trec_eval"
    aliases = ("ideal_dcg",)
    advice = Advice(
        "checking", "you want to know what nDCG divides by.", "you want to measure quality: it depends on the judgements alone."
    )
    range = (0.0, math.inf)
    kind = "count"
    higher_is_better: ClassVar[bool | None] = None
    suffix: ClassVar[str | None] = "gain"

    def values(self, hits: Hits) -> FloatArray:
        return ideal_dcg(hits.judged, self.gain, NO_LIMIT)


IDCG = IdealDiscountedGain()
