"""Measures of a user who reads from the top: RR, ERR, nERR and RBP, and trec_eval's graded RBP with its residual."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray
from rankproof.errors import UsageError
from rankproof.measures._base import (
    GAIN,
    MAX_GRADE,
    Advice,
    BinaryCutoffMeasure,
    CutoffMeasure,
    GainScheme,
    Measure,
    P,
    RandomRanking,
    SummedMeasure,
    gains,
)
from rankproof.measures._relevant import Ideal, SumParts, cached_on, relevant_found, sum_by_query


class ReciprocalRank(SummedMeasure, BinaryCutoffMeasure):
    """The reciprocal of the rank of the first relevant document."""

    name = "RR"
    title = "Reciprocal rank (mean: MRR)"
    family = "first-relevant"
    formula = "1 / min{i ≤ k: rel(i) = 1}"
    definition = "1 / rank of the first relevant document, 0 if there is none (in the top k)."
    source = "trec_eval recip_rank"
    parity = "trec_eval"
    aliases = ("recip_rank", "reciprocal_rank", "mrr")
    advice = Advice(
        "ordering",
        "users want one good document and then stop: known-item search, questions, navigation.",
        "users want several documents: it only looks at the first relevant one. If the first two documents are"
        " swapped, it can fall from 1 to 1/2. With a cutoff, a document just below it counts as one that was not found.",
    )

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        first = (relevant.nth == 1) & (relevant.ranks <= self.depth)
        terms = 1.0 / relevant.ranks[first]
        return SumParts(hits, relevant.at[first], np.ones(len(terms)), terms, terms, np.ones(len(hits.queries)))

    def chance(self, ranking: RandomRanking) -> float:
        """The sum over ranks r of 1 / r times C(N - r, R - 1) / C(N, R), the probability that the first relevant one is at r."""
        return _expected_reciprocal_rank(ranking.documents, ranking.relevant(self.least), ranking.length(self.depth))


@lru_cache(maxsize=4096)
def _expected_reciprocal_rank(documents: int, relevant: int, length: int) -> float:
    last = min(length, documents - relevant + 1)
    if not relevant:
        return 0.0
    ranks = np.arange(1, last + 1, dtype=np.float64)
    still = (documents - ranks[:-1] - relevant + 1) / (documents - ranks[:-1])
    chances = relevant / documents * np.concatenate(([1.0], np.cumprod(still)))
    return math.fsum(chances / ranks)


RR = ReciprocalRank()


def _continue_probabilities(satisfied: FloatArray, counts: IntArray) -> FloatArray:
    """The probability that the user reads each document: the product of 1 - satisfied over those above it in its query.

    All queries advance together, one document a step, longest first; each product is formed in rank order.
    """
    chance = np.ones(len(satisfied))
    longest = np.argsort(-counts, kind="stable")
    at = (np.cumsum(counts) - counts)[longest]
    lengths = counts[longest]
    for step in range(1, int(lengths[0]) if len(lengths) else 0):
        at = at[: np.searchsorted(-lengths, -step)] + 1
        chance[at] = chance[at - 1] * (1.0 - satisfied[at - 1])
    return chance


def _satisfied(grades: IntArray, largest: float) -> FloatArray:
    """The probability that a document satisfies the user: (2^grade - 1) / 2^largest."""
    return np.asarray(np.exp2(grades - largest) - np.exp2(-largest))


@dataclass(frozen=True, kw_only=True, repr=False)
class ExpectedReciprocalRank(SummedMeasure, CutoffMeasure):
    """The expected reciprocal of the rank at which the user stops."""

    max_grade: Annotated[int | None, MAX_GRADE] = None
    name = "ERR"
    title = "Expected reciprocal rank"
    family = "first-relevant"
    formula = "Σ(i ≤ k) s(i) / i Π(j < i) (1 - s(j)), s = (2^grade - 1) / 2^max_grade"
    definition = (
        "Sum over the top k of (s / rank) * the product of (1 - s) of all documents above;"
        " s = (2^grade - 1) / 2^max_grade. By default, max_grade is the largest grade in the qrels."
    )
    source = "Chapelle et al. 2009; max_grade=4: gdeval"
    advice = Advice(
        "ordering",
        "grades say how likely a user is to be satisfied and stop.",
        "users go on after a perfect document. The formula depends on the highest grade: if it differs between"
        " collections, set max_grade. ERR is not normalised and never reaches 1: with grades 0 and 1, a relevant"
        " document at rank 1 gives 0.5.",
    )
    kind = "graded"

    def parts(self, hits: Hits) -> SumParts:
        good = np.flatnonzero((hits.ranks <= self.depth) & (hits.grades > 0))
        owners, ranks = hits.query_index[good], hits.ranks[good]
        largest = self._largest_grade(hits.judged.highest)
        satisfied = _satisfied(hits.grades[good], largest)
        chance = _continue_probabilities(satisfied, np.bincount(owners, minlength=len(hits.queries)))
        return SumParts(hits, good, satisfied, chance / ranks, chance * satisfied / ranks, np.ones(len(hits.queries)))

    def _largest_grade(self, highest: int) -> float:
        if self.max_grade is not None and highest > self.max_grade:
            raise UsageError(f"{self} and a judgement has grade {highest}", fix=f"give max_grade={highest} or more")
        return float(max(highest, 0) if self.max_grade is None else self.max_grade)


ERR = ExpectedReciprocalRank()


class NormalisedExpectedReciprocalRank(ExpectedReciprocalRank):
    """ERR divided by that of the ideal ranking."""

    name = "nERR"
    title = "Normalised expected reciprocal rank"
    formula = "ERR@k / ERR@k of the ideal ranking"
    definition = (
        "ERR@k divided by the ERR@k of all judged documents in the best order, which is by grade;"
        " max_grade is the same as in ERR."
    )
    source = "Chapelle et al. 2009, normalised as nDCG is"
    advice = Advice(
        "ordering",
        "grades say how likely a user is to be satisfied and stop, and a perfect ranking should get 1.",
        "you compare with published values of ERR: those are not normalised.",
    )

    def parts(self, hits: Hits) -> SumParts:
        return super().parts(hits)._replace(denominator=self.ideal(hits.judged).sums())

    def ideal(self, judged: JudgedQueries) -> Ideal:
        owners, ranks, at = judged.top(self.depth)
        good = judged.grades[at] > 0
        owners, ranks, at = owners[good], ranks[good], at[good]
        satisfied = _satisfied(judged.grades[at], self._largest_grade(judged.highest))
        chance = _continue_probabilities(satisfied, np.bincount(owners, minlength=len(judged.queries)))
        return Ideal(judged, owners, ranks, at, satisfied, chance * satisfied / ranks)


nERR = NormalisedExpectedReciprocalRank()  # noqa: N816


@dataclass(frozen=True, kw_only=True, repr=False)
class RankBiasedPrecision(SummedMeasure, BinaryCutoffMeasure):
    """Relevant documents, weighted by the probability that the user reads them."""

    p: Annotated[float, P] = 0.8
    name = "RBP"
    title = "Rank-biased precision"
    family = "user-models"
    formula = "(1 - p) Σ(i ≤ k) rel(i) p^(i - 1)"
    definition = (
        "(1 - p) * sum over relevant documents (in the top k) of p^(rank - 1), with persistence p."
        " In lower case, rbp is GradedRBP."
    )
    source = "Moffat and Zobel 2008, binary"
    advice = Advice(
        "ordering",
        "the persistence of users is known: with p = 0.8 they go on to the next document with probability 0.8. What"
        " unjudged documents could add, the residual, is RBPResid with the same p.",
        "grades matter (use GradedRBP), or a perfect ranking should get 1: with few relevant documents its maximum is far below"
        " 1.",
    )
    additive = True
    suffix: ClassVar[str | None] = "p"

    def parts(self, hits: Hits) -> SumParts:
        at = relevant_found(hits, self.least).at_within(self.depth)
        weights = np.asarray(self.p ** (hits.ranks[at] - 1.0))
        return SumParts(hits, at, np.ones(len(at)), weights, weights, np.ones(len(hits.queries)), scale=1.0 - self.p)


RBP = RankBiasedPrecision()


def persistence_powers(p: float, ranks: IntArray) -> FloatArray:
    """p^(rank - 1) of each rank, by repeated multiplication as trec_eval forms it."""
    deepest = int(ranks.max(initial=1))
    return np.multiply.accumulate(np.concatenate(([1.0], np.full(deepest - 1, p))))[ranks - 1]


@cached_on
def _largest_gains(judged: JudgedQueries, gain: GainScheme) -> FloatArray:
    """The largest gain of each query, at least 1; gains that are given count whether a document has them or not."""
    highest = np.maximum(judged.grades[judged.offsets[:-1]], 0)
    best = np.maximum.accumulate(gains(np.arange(int(highest.max(initial=0)) + 1), gain))
    largest = max((value for _, value in gain), default=0.0) if not isinstance(gain, str) else 0.0
    return np.maximum(np.maximum(best[highest], largest), 1.0)


@dataclass(frozen=True, kw_only=True, repr=False)
class GradedRankBiasedPrecision(SummedMeasure, Measure):
    """Gains, weighted by the probability that the user reads the document; a query's largest gain counts 1."""

    p: Annotated[float, P] = 0.9
    gain: Annotated[GainScheme, GAIN] = "linear"
    name = "GradedRBP"
    title = "Graded rank-biased precision"
    family = "user-models"
    formula = "(1 - p) Σ(i) g(i) p^(i - 1)"
    definition = (
        "(1 - p) * sum over documents of g p^(rank - 1), with persistence p; g is the gain, divided by the largest gain of the"
        " query where that exceeds 1. Also written rbp, in lower case, as in trec_eval."
    )
    source = "Moffat and Zobel 2008; trec_eval rbp"
    parity = "trec_eval"
    aliases = ("trec_rbp",)
    advice = Advice(
        "ordering",
        "grades matter, the persistence of users is known, and values should be those of trec_eval.",
        "a grade should mean the same in every query: a query whose best grade is 1 counts it as much as another its grade 3.",
    )
    kind = "graded"
    additive = True
    suffix: ClassVar[str | None] = "gain"

    def parts(self, hits: Hits) -> SumParts:
        share = gains(hits.grades, self.gain) / _largest_gains(hits.judged, self.gain)[hits.query_index]
        at = np.flatnonzero(share > 0)
        weights = persistence_powers(self.p, hits.ranks[at])
        terms = share[at] * weights
        return SumParts(hits, at, share[at], weights, terms, np.ones(len(hits.queries)), scale=1.0 - self.p)


GradedRBP = GradedRankBiasedPrecision()


@dataclass(frozen=True, kw_only=True, repr=False)
class RankBiasedResidual(Measure):
    """What unjudged documents could add to rank-biased precision."""

    p: Annotated[float, P] = 0.9
    name = "RBPResid"
    title = "Residual of rank-biased precision"
    family = "user-models"
    formula = "p^n + (1 - p) Σ(unjudged i) p^(i - 1)"
    definition = (
        "p^n + (1 - p) * sum over unjudged documents of p^(rank - 1), with persistence p and n documents retrieved;"
        " 0 where all of them are judged."
    )
    source = "Moffat and Zobel 2008; trec_eval rbp_resid"
    parity = "trec_eval"
    aliases = ("rbp_resid",)
    advice = Advice(
        "checking",
        "you want to know how far rank-biased precision could rise if every unjudged document were relevant.",
        "all retrieved documents are judged: trec_eval then gives 0, although the documents below rank n could add p^n.",
    )
    kind = "count"
    higher_is_better = False
    suffix: ClassVar[str | None] = "p"

    def values(self, hits: Hits) -> FloatArray:
        judged = np.flatnonzero(hits.grades >= 0)
        weights = persistence_powers(self.p, hits.ranks[judged])
        known = (1.0 - self.p) * sum_by_query(hits.query_index[judged], weights, len(hits.queries))
        counts = np.bincount(hits.query_index[judged], minlength=len(hits.queries))
        return np.where(hits.retrieved > counts, 1.0 - known, 0.0)


RBPResid = RankBiasedResidual()
