"""Measures of diversity: rankings that should cover the subtopics of a query."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.measures._base import NO_LIMIT, Advice, BinaryCutoffMeasure, BinaryMeasure, SummedMeasure, discounts
from rankproof.measures._relevant import SumParts, sum_by_query
from rankproof.measures._subtopics import RelevantSubtopics, SubtopicsFound, ideal_gains, relevant_subtopics, subtopics_found

_MOST_PERFECT = 1_000_000


@dataclass(frozen=True, kw_only=True, repr=False)
class SubtopicMeasure(SummedMeasure, BinaryMeasure):
    """A measure of the relevant pairs of a document and a subtopic."""

    family = "diversity"
    needs_subtopics = True
    best_by_grade = False

    @property
    def depth(self) -> int:
        """The last rank that counts."""
        return NO_LIMIT

    @abstractmethod
    def gain(self, pairs: SubtopicsFound, relevant: RelevantSubtopics) -> FloatArray:
        """What each pair adds before it is discounted; 0 for one that does not count."""

    def discount(self, ranks: IntArray) -> FloatArray:
        """The discount of each rank."""
        return np.ones(len(ranks))

    @abstractmethod
    def denominator(self, judged: JudgedQueries, counts: IntArray) -> FloatArray:
        """What the sum of each query is divided by; `counts` are its subtopics with a relevant document."""

    def parts(self, hits: Hits) -> SumParts:
        pairs, relevant = subtopics_found(hits, self.least), relevant_subtopics(hits.judged, self.least)
        summed = sum_by_query(pairs.at, self.gain(pairs, relevant), len(hits.ranks))
        at = np.flatnonzero((summed > 0) & (hits.ranks <= self.depth))
        gain, discount = summed[at], self.discount(hits.ranks[at])
        return SumParts(hits, at, gain, discount, gain * discount, self.denominator(hits.judged, relevant.counts))


@dataclass(frozen=True, kw_only=True, repr=False)
class NoveltyMeasure(SubtopicMeasure):
    """A measure that counts a subtopic less each time that it is found."""

    @property
    def redundancy(self) -> float:
        """What a subtopic that was found loses of its gain."""
        return 0.5

    def gain(self, pairs: SubtopicsFound, relevant: RelevantSubtopics) -> FloatArray:
        return np.asarray((1.0 - self.redundancy) ** (pairs.nth - 1.0))

    def perfect(self, counts: IntArray) -> FloatArray:
        """The sum for documents that each cover every subtopic, up to the cutoff."""
        if self.depth > _MOST_PERFECT:
            raise UsageError(f"cutoff {self.depth} of {self.name} is above {_MOST_PERFECT}", fix=f"write {self.needs}")
        ranks = np.arange(1, self.depth + 1)
        weights = (1.0 - self.redundancy) ** (ranks - 1.0) * self.discount(ranks)
        return np.asarray(counts * weights.sum())

    def greedy(self, judged: JudgedQueries) -> FloatArray:
        """The sum for the ideal ranking."""
        gains = ideal_gains(judged, self.least, self.redundancy, self.depth)
        terms = gains * self.discount(np.arange(1, gains.shape[1] + 1))
        # Added rank by rank, so that no sum depends on how many ranks other queries have.
        return np.cumsum(terms, axis=1)[:, -1] if terms.size else np.zeros(len(gains))


_ALPHA = Annotated[float, Option("what a subtopic loses of its gain each time that it is found", least=0, most=1)]
_GAIN = "g is the sum of {0}^n over the subtopics that the document covers, where n documents above it cover the same subtopic."
ALPHA_GAIN, _HALF_GAIN = _GAIN.format("(1 - alpha)"), _GAIN.format("(1/2)")
COVERED_SUBTOPIC = " A document covers a subtopic if its grade for it is at least rel."
GREEDY_IDEAL = (
    " The ideal ranking is greedy: at each rank the document with the largest gain, of those with equal gain the one with the"
    " larger id."
)


@dataclass(frozen=True, kw_only=True, repr=False)
class AlphaGain(BinaryCutoffMeasure, NoveltyMeasure):
    """Discounted gain of new subtopics, divided by that of documents that cover them all."""

    alpha: _ALPHA = 0.5
    name = "alpha_DCG"
    title = "Alpha-DCG"
    formula = "Σ(i ≤ k) g(i) / log2(i + 1) / its maximum, g(i) = Σ(subtopics s of i) (1 - alpha)^n(s)"
    definition = (
        "Sum over the top k of g / log2(rank + 1), divided by this sum for k documents that cover every subtopic; "
        + ALPHA_GAIN
        + COVERED_SUBTOPIC
    )
    source = "Clarke et al. 2008; ndeval alpha-DCG"
    aliases = ("alpha-DCG",)
    advice = Advice(
        "ordering",
        "queries are ambiguous or have several aspects, and documents should not repeat each other.",
        "few documents cover several subtopics: even the best ranking is then far below 1. Use alpha_nDCG.",
    )
    needs: ClassVar[str | None] = "alpha_DCG@10"

    @property
    def redundancy(self) -> float:
        return self.alpha

    def discount(self, ranks: IntArray) -> FloatArray:
        return discounts(ranks)

    def denominator(self, judged: JudgedQueries, counts: IntArray) -> FloatArray:
        return self.perfect(counts)


alpha_DCG = AlphaGain()  # noqa: N816


class NormalisedAlphaGain(AlphaGain):
    """Alpha-DCG divided by that of the ideal ranking."""

    name = "alpha_nDCG"
    title = "Alpha-nDCG"
    formula = "alpha_DCG@k / alpha_DCG@k of the ideal ranking"
    definition = (
        "Sum over the top k of g / log2(rank + 1), divided by this sum for the ideal ranking; "
        + ALPHA_GAIN
        + COVERED_SUBTOPIC
        + GREEDY_IDEAL
    )
    source = "Clarke et al. 2008; ndeval alpha-nDCG"
    aliases = ("alpha-nDCG",)
    advice = Advice(
        "ordering",
        "queries are ambiguous or have several aspects: the usual main measure of diversity.",
        "documents are not judged for subtopics, or subtopics differ in importance: each counts the same.",
    )
    needs = None

    def denominator(self, judged: JudgedQueries, counts: IntArray) -> FloatArray:
        return self.greedy(judged)


alpha_nDCG = NormalisedAlphaGain()  # noqa: N816


class IntentAwareERR(BinaryCutoffMeasure, NoveltyMeasure):
    """The expected reciprocal rank at which a user stops, over subtopics."""

    name = "ERR_IA"
    title = "Intent-aware expected reciprocal rank"
    formula = "Σ(i ≤ k) g(i) / i / its maximum, g(i) = Σ(subtopics s of i) (1/2)^n(s)"
    definition = (
        "Sum over the top k of g / rank, divided by this sum for k documents that cover every subtopic; "
        + _HALF_GAIN
        + COVERED_SUBTOPIC
    )
    source = "Chapelle et al. 2009; Clarke et al. 2011; ndeval ERR-IA"
    aliases = ("ERR-IA",)
    advice = Advice(
        "ordering",
        "queries are ambiguous, and each user wants one good document for one meaning.",
        "users want several documents, or a perfect ranking should get 1: use nERR_IA.",
    )
    needs: ClassVar[str | None] = "ERR_IA@10"

    def discount(self, ranks: IntArray) -> FloatArray:
        return 1.0 / ranks

    def denominator(self, judged: JudgedQueries, counts: IntArray) -> FloatArray:
        return self.perfect(counts)


ERR_IA = IntentAwareERR()


class NormalisedIntentAwareERR(IntentAwareERR):
    """ERR-IA divided by that of the ideal ranking."""

    name = "nERR_IA"
    title = "Normalised intent-aware expected reciprocal rank"
    formula = "ERR_IA@k / ERR_IA@k of the ideal ranking"
    definition = (
        "Sum over the top k of g / rank, divided by this sum for the ideal ranking; "
        + _HALF_GAIN
        + COVERED_SUBTOPIC
        + GREEDY_IDEAL
    )
    source = "Chapelle et al. 2009; Clarke et al. 2011; ndeval nERR-IA"
    aliases = ("nERR-IA",)
    advice = Advice(
        "ordering",
        "queries are ambiguous, and each user wants one good document for one meaning.",
        "users want several documents for their meaning: use alpha_nDCG.",
    )
    needs = None

    def denominator(self, judged: JudgedQueries, counts: IntArray) -> FloatArray:
        return self.greedy(judged)


nERR_IA = NormalisedIntentAwareERR()  # noqa: N816


@dataclass(frozen=True, kw_only=True, repr=False)
class NoveltyRBP(NoveltyMeasure):
    """Rank-biased precision of new subtopics."""

    alpha: _ALPHA = 0.5
    beta: Annotated[float, Option("the probability that the user goes on to the next document", least=0, most=0.999999)] = 0.5
    name = "NRBP"
    title = "Novelty- and rank-biased precision"
    formula = "(1 - (1 - alpha) beta) / N Σ(i) g(i) beta^(i - 1), g(i) = Σ(subtopics s of i) (1 - alpha)^n(s)"
    definition = (
        "(1 - (1 - alpha) beta) / N * sum over documents of g beta^(rank - 1), for N subtopics with a relevant document; "
        + ALPHA_GAIN
        + COVERED_SUBTOPIC
    )
    source = "Clarke, Kolla and Vechtomova 2009; ndeval NRBP"
    advice = Advice(
        "ordering",
        "queries are ambiguous or have several aspects, and the persistence beta of users is known.",
        "a perfect ranking should get 1: use nNRBP.",
    )

    @property
    def redundancy(self) -> float:
        return self.alpha

    def discount(self, ranks: IntArray) -> FloatArray:
        return np.asarray(self.beta ** (ranks - 1.0))

    def denominator(self, judged: JudgedQueries, counts: IntArray) -> FloatArray:
        return np.asarray(counts / (1.0 - (1.0 - self.alpha) * self.beta))


NRBP = NoveltyRBP()


class NormalisedNoveltyRBP(NoveltyRBP):
    """NRBP divided by that of the ideal ranking."""

    name = "nNRBP"
    title = "Normalised novelty- and rank-biased precision"
    formula = "NRBP / NRBP of the ideal ranking"
    definition = (
        "Sum over documents of g beta^(rank - 1), divided by this sum for the ideal ranking; "
        + ALPHA_GAIN
        + COVERED_SUBTOPIC
        + GREEDY_IDEAL
    )
    source = "Clarke, Kolla and Vechtomova 2009; ndeval nNRBP"
    advice = Advice(
        "ordering",
        "queries are ambiguous or have several aspects, and the persistence beta of users is known.",
        "users see a page of fixed length: use alpha_nDCG with a cutoff.",
    )

    def denominator(self, judged: JudgedQueries, counts: IntArray) -> FloatArray:
        return self.greedy(judged)


nNRBP = NormalisedNoveltyRBP()  # noqa: N816


class IntentAwareAP(SubtopicMeasure):
    """The mean of average precision over subtopics."""

    name = "AP_IA"
    title = "Intent-aware average precision"
    formula = "1/N Σ(subtopics s) AP for s"
    definition = "The mean of AP over the subtopics with a relevant document." + COVERED_SUBTOPIC
    source = "Agrawal et al. 2009; ndeval MAP-IA"
    aliases = ("AP-IA", "MAP-IA")
    advice = Advice(
        "ordering",
        "each meaning of a query has its own users, who want all documents of that meaning.",
        "documents should not repeat each other: it rewards many documents of one subtopic.",
    )

    def gain(self, pairs: SubtopicsFound, relevant: RelevantSubtopics) -> FloatArray:
        return np.asarray(pairs.nth / relevant.totals[pairs.subtopics])

    def discount(self, ranks: IntArray) -> FloatArray:
        return 1.0 / ranks

    def denominator(self, judged: JudgedQueries, counts: IntArray) -> FloatArray:
        return counts.astype(np.float64)


AP_IA = IntentAwareAP()


class IntentAwarePrecision(BinaryCutoffMeasure, SubtopicMeasure):
    """The mean of precision over subtopics."""

    name = "P_IA"
    title = "Intent-aware precision"
    formula = "1/N Σ(subtopics s) P@k for s"
    definition = "The mean of P@k over the subtopics with a relevant document." + COVERED_SUBTOPIC
    source = "Agrawal et al. 2009; ndeval P-IA"
    aliases = ("P-IA",)
    advice = Advice(
        "ordering",
        "each meaning of a query has its own users, and a page shows k results.",
        "documents should not repeat each other: it rewards many documents of one subtopic.",
    )
    needs = "P_IA@10"

    def gain(self, pairs: SubtopicsFound, relevant: RelevantSubtopics) -> FloatArray:
        return np.ones(len(pairs.at))

    def denominator(self, judged: JudgedQueries, counts: IntArray) -> FloatArray:
        return np.asarray(counts * np.float64(self.depth))


P_IA = IntentAwarePrecision()


class SubtopicRecall(BinaryCutoffMeasure, SubtopicMeasure):
    """Subtopics found in the top k, divided by all subtopics."""

    name = "StRecall"
    title = "Subtopic recall"
    formula = "1/N |subtopics of the top k|"
    definition = (
        "Subtopics that a document of the top k covers, divided by those that any judged document covers." + COVERED_SUBTOPIC
    )
    source = "Zhai, Cohen and Lafferty 2003; ndeval strec"
    aliases = ("strec",)
    advice = Advice("finding", "every aspect of a query should be found at least once.", "the order matters: use alpha_nDCG.")
    needs = "StRecall@10"

    def gain(self, pairs: SubtopicsFound, relevant: RelevantSubtopics) -> FloatArray:
        return np.asarray(pairs.nth == 1, dtype=np.float64)

    def denominator(self, judged: JudgedQueries, counts: IntArray) -> FloatArray:
        return counts.astype(np.float64)


StRecall = SubtopicRecall()
