"""Precision, recall, F1, R-precision and success of rankings, and precision, recall and F of sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.measures._base import (
    BETA,
    NO_LIMIT,
    WEIGHTS,
    Advice,
    BinaryCutoffMeasure,
    BinaryMeasure,
    Measure,
    RandomRanking,
    SummedMeasure,
)
from rankproof.measures._relevant import RelevantFound, SumParts, equal_parts, ratio, relevant_found


class Precision(SummedMeasure, BinaryCutoffMeasure):
    """Relevant documents in the top k, divided by k."""

    name = "P"
    title = "Precision"
    family = "precision"
    formula = "1/k Σ(i ≤ k) rel(i)"
    definition = "Relevant documents in the top k, divided by k even if fewer than k were retrieved: rel_ret(k) / k."
    source = "trec_eval P"
    parity = "trec_eval"
    aliases = ("precision",)
    advice = Advice(
        "ordering",
        "a page shows k results and each of them should be relevant.",
        "queries have fewer than k relevant documents: it then cannot reach 1. It ignores the order within the top k."
        " A low P@k with a high R@k says that k is larger than the number of relevant documents, not that the ranking is bad.",
    )
    needs = "P@10"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        denominator = np.full(len(hits.queries), float(self.depth))
        return equal_parts(hits, relevant_found(hits, self.least).at_within(self.depth), denominator)

    def chance(self, ranking: RandomRanking) -> float:
        """A hypergeometric mean: with n documents ranked of N and R relevant, n R / N are found."""
        return ranking.length(self.depth) * ranking.relevant(self.least) / ranking.documents / self.depth


P = Precision()


class Recall(SummedMeasure, BinaryCutoffMeasure):
    """Relevant documents in the top k, divided by all relevant documents."""

    name = "R"
    title = "Recall"
    family = "precision"
    formula = "1/R Σ(i ≤ k) rel(i)"
    definition = "Relevant documents in the top k, divided by the number of relevant documents: rel_ret(k) / R."
    source = "trec_eval recall"
    parity = "trec_eval"
    aliases = ("recall",)
    advice = Advice(
        "finding",
        "candidates are retrieved for a reranker or a language model: documents that are not retrieved cannot be found later.",
        "the order matters, or when many relevant documents are unjudged: they do not count.",
    )
    needs = "R@100"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        return equal_parts(hits, relevant.at_within(self.depth), relevant.total)

    def chance(self, ranking: RandomRanking) -> float:
        """Each relevant document is among the first n of N with probability n / N."""
        return ranking.length(self.depth) / ranking.documents if ranking.relevant(self.least) else 0.0


R = Recall()


class RelativePrecision(SummedMeasure, BinaryCutoffMeasure):
    """Relevant documents in the top k, divided by as many as the top k can hold."""

    name = "relative_P"
    title = "Relative precision"
    family = "precision"
    formula = "Σ(i ≤ k) rel(i) / min(k, R)"
    definition = "P@k divided by the best possible P@k: rel_ret(k) / min(k, R)."
    source = "trec_eval relative_P"
    parity = "trec_eval"
    advice = Advice(
        "ordering",
        "a page shows k results and some queries have fewer than k relevant documents: a perfect page gets 1.",
        "you compare with published P@k: queries with few relevant documents get higher values here.",
    )
    needs = "relative_P@10"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        return equal_parts(hits, relevant.at_within(self.depth), np.minimum(relevant.total, self.depth))


relative_P = RelativePrecision()  # noqa: N816


class F1At(SummedMeasure, BinaryCutoffMeasure):
    """The harmonic mean of P@k and R@k."""

    name = "F1"
    title = "F1"
    family = "precision"
    formula = "2 Σ(i ≤ k) rel(i) / (k + R)"
    definition = "The harmonic mean of P@k and R@k: 2 rel_ret(k) / (k + R) with R relevant documents."
    source = "van Rijsbergen 1979; ranx f1"
    advice = Advice(
        "finding",
        "a list of fixed length is shown as a whole, and false positives and misses both matter.",
        "users read the list from the top, or you need precision and recall separately: report P@k and R@k instead.",
    )
    needs = "F1@10"
    additive = True

    def __call__(self, **parameters: Any) -> Measure:
        """The same measure with these parameters; with parameters of the F1 of answers, that F1."""
        if not parameters:
            return super().__call__()
        from rankproof.measures._answers import AnswerF1

        ours = parameters.keys() <= AnswerF1.parameters().keys()
        return AnswerF1(**parameters) if ours else super().__call__(**parameters)

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        # A float, as k + R exceeds an int64 where k has no limit.
        return equal_parts(hits, relevant.at_within(self.depth), relevant.total + np.float64(self.depth), gain=2.0)


F1 = F1At()


class RPrecision(SummedMeasure, BinaryMeasure):
    """Relevant documents in the top R, divided by R, the number of relevant documents."""

    name = "Rprec"
    title = "R-precision"
    family = "precision"
    formula = "1/R Σ(i ≤ R) rel(i)"
    definition = "Precision at rank R, where R is the number of relevant documents: rel_ret(R) / R."
    source = "trec_eval Rprec"
    parity = "trec_eval"
    aliases = ("r-precision", "r_precision")
    advice = Advice(
        "ordering",
        "queries have very different numbers of relevant documents, so that no single cutoff fits.",
        "users see a page of fixed length, or grades matter.",
    )
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        return equal_parts(hits, relevant.at[relevant.ranks <= relevant.total[relevant.query_index]], relevant.total)


Rprec = RPrecision()


@dataclass(frozen=True, kw_only=True, repr=False)
class PrecisionAtMultiple(BinaryMeasure):
    """Precision at a multiple of R, the number of relevant documents."""

    multiple: Annotated[float | None, Option("multiple of the number of relevant documents", least=0)] = None
    name = "Rprec_mult"
    title = "Precision at a multiple of R"
    family = "precision"
    formula = "P@⌊x R + 0.9⌋"
    definition = "Precision at rank k = floor(x R + 0.9), where R is the number of relevant documents and x the multiple."
    source = "trec_eval Rprec_mult"
    parity = "trec_eval"
    advice = Advice(
        "ordering",
        "you want to see whether a system is better at the top or further down, with queries of different size side by side.",
        "one number is enough: use Rprec, which is the multiple 1.",
    )
    at: ClassVar[str | None] = "multiple"
    suffix: ClassVar[str | None] = "multiple"
    needs = "Rprec_mult@1.5"

    def values(self, hits: Hits) -> FloatArray:
        self.complete()
        relevant = relevant_found(hits, self.least)
        return precision_at_multiple(relevant, self.multiple or 0.0)


def precision_at_multiple(relevant: RelevantFound, multiple: float) -> FloatArray:
    """The precision of each query at the multiple of its number of relevant documents."""
    # trec_eval rounds up from one tenth.
    depths = np.floor(multiple * relevant.total + 0.9)
    within = relevant.ranks <= depths[relevant.query_index]
    return ratio(np.bincount(relevant.query_index[within], minlength=len(relevant.total)), depths)


Rprec_mult = PrecisionAtMultiple()


class SuccessAt(SummedMeasure, BinaryCutoffMeasure):
    """1 if any relevant document is in the top k."""

    name = "Success"
    title = "Success (hit rate)"
    family = "first-relevant"
    formula = "max(i ≤ k) rel(i)"
    definition = "1 if any of the top k documents is relevant, else 0."
    source = "trec_eval success"
    parity = "trec_eval"
    aliases = ("hit_rate", "hit")
    advice = Advice(
        "finding",
        "one good document is enough, above all if each query has one known target. Success@1 looks only at the first document.",
        "there are several relevant documents and more is better. It is often reported as recall, which it equals"
        " only with one target.",
        (
            (1, "The first result is enough: nothing else is read. It decides for voice assistants and small screens."),
            (3, "Among the first three results, often seen without scrolling; that depends on the layout."),
            (5, "Found by a person who reads five results; by rule of thumb, the value to report."),
            (10, "On a first page of ten, if all of it is read. A reranker of ten can bring Success@1 at most up to it."),
        ),
    )
    needs = "Success@5"

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        return equal_parts(hits, relevant.at[(relevant.nth == 1) & (relevant.ranks <= self.depth)], np.ones(len(hits.queries)))

    def chance(self, ranking: RandomRanking) -> float:
        """1 - C(N - R, n) / C(N, n): one minus the probability that none of the R relevant documents is among the first n."""
        few, many = sorted((ranking.length(self.depth), ranking.relevant(self.least)))
        steps = np.arange(few, dtype=np.float64)
        return float(1.0 - np.prod(np.maximum(ranking.documents - many - steps, 0.0) / (ranking.documents - steps)))


Success = SuccessAt()


@dataclass(frozen=True, kw_only=True, repr=False)
class SetPrecision(SummedMeasure, BinaryMeasure):
    """Relevant documents retrieved, divided by documents retrieved."""

    relative: Annotated[bool, Option("divide by the most that can be found")] = False
    name = "SetP"
    title = "Set precision"
    family = "precision"
    formula = "rel_ret / ret"
    definition = (
        "Relevant documents retrieved, divided by all retrieved: rel_ret / ret;"
        " with relative=True by the most that could be found: rel_ret / min(ret, R)."
    )
    source = "trec_eval set_P, set_relative_P"
    parity = "trec_eval"
    aliases = ("set_P", "set_relative_P")
    alias_parameters: ClassVar[Mapping[str, Mapping[str, Any]]] = {"set_relative_P": {"relative": True}}
    advice = Advice(
        "finding",
        "a system returns a set without order: filters, Boolean search, extraction.",
        "the ranking is cut at a depth that you chose: the value then depends on that depth.",
    )
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        return equal_parts(hits, relevant.at, np.minimum(hits.retrieved, relevant.total) if self.relative else hits.retrieved)


SetP = SetPrecision()


class SetRecall(SummedMeasure, BinaryMeasure):
    """Relevant documents retrieved, divided by all relevant documents."""

    name = "SetR"
    title = "Set recall"
    family = "precision"
    formula = "rel_ret / R"
    definition = "Relevant documents retrieved, divided by the number of relevant documents: rel_ret / R."
    source = "trec_eval set_recall"
    parity = "trec_eval"
    aliases = ("set_recall",)
    advice = Advice(
        "finding",
        "a system returns a set without order and nothing may be missed.",
        "rankings have different depths: the longest wins. Use R@k.",
    )
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        return equal_parts(hits, relevant.at, relevant.total)


SetR = SetRecall()


class SetAveragePrecision(BinaryMeasure):
    """Set precision times set recall."""

    name = "SetAP"
    title = "Set average precision"
    family = "precision"
    formula = "SetP SetR"
    definition = "SetP times SetR: rel_ret^2 / (ret R)."
    source = "trec_eval set_map"
    parity = "trec_eval"
    aliases = ("set_map",)
    advice = Advice(
        "finding",
        "a system returns a set without order, and one number should drop with every false positive and every miss.",
        "the documents are ranked (use AP), or readers know SetF.",
    )

    def values(self, hits: Hits) -> FloatArray:
        relevant = relevant_found(hits, self.least)
        retrieved = relevant.count_within(NO_LIMIT).astype(np.float64)
        return ratio(retrieved * retrieved, hits.retrieved * relevant.total.astype(np.float64))


SetAP = SetAveragePrecision()


@dataclass(frozen=True, kw_only=True, repr=False)
class SetFMeasure(BinaryMeasure):
    """The harmonic mean of SetP and SetR; recall has beta times the weight of precision."""

    beta: Annotated[float, BETA] = 1.0
    name = "SetF"
    title = "Set F"
    family = "precision"
    formula = "(beta + 1) SetP SetR / (beta SetP + SetR)"
    definition = "(beta + 1) P R / (beta P + R) with P = SetP and R = SetR; beta is the weight of recall and is not squared."
    source = "van Rijsbergen 1979; trec_eval set_F"
    parity = "trec_eval"
    aliases = ("set_F",)
    advice = Advice(
        "finding",
        "a system returns a set without order, and you know how to weight false positives against misses.",
        "the documents are ranked, or beta would be a guess: give SetP and SetR.",
    )
    suffix: ClassVar[str | None] = "beta"

    def values(self, hits: Hits) -> FloatArray:
        precision, recall = SetPrecision(rel=self.rel).values(hits), SetRecall(rel=self.rel).values(hits)
        return ratio((self.beta + 1.0) * precision * recall, self.beta * precision + recall)


SetF = SetFMeasure()


@dataclass(frozen=True, kw_only=True, repr=False)
class SetUtility(BinaryMeasure):
    """A weighted sum of the counts of relevant and other documents, retrieved and missed."""

    weights: Annotated[tuple[float, ...], WEIGHTS] = (1.0, -1.0, 0.0, 0.0)
    documents: Annotated[int, Option("number of documents in the corpus, for the fourth weight", least=0)] = 0
    name = "Utility"
    title = "Set utility"
    family = "precision"
    formula = "w1 a + w2 b + w3 c + w4 d"
    definition = (
        "w1 a + w2 b + w3 c + w4 d: a relevant and b other documents are retrieved, c relevant and d other documents of the"
        " corpus are not; a query that the run lacks retrieves none."
    )
    source = "trec_eval utility"
    parity = "trec_eval"
    advice = Advice(
        "finding",
        "a system returns a set, and you know what a hit gains and a false alarm costs: filtering, alerts.",
        "queries have very different numbers of relevant documents: a few then dominate the mean.",
    )
    range = (-math.inf, math.inf)
    suffix: ClassVar[str | None] = "weights"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights[3] and not self.documents:
            fix = "write Utility(weights=(1,-1,0,0.01),documents=1000)"
            raise UsageError("the fourth weight of Utility needs the number of documents in the corpus", fix=fix)

    def values(self, hits: Hits) -> FloatArray:
        relevant = relevant_found(hits, self.least)
        hit_counts = np.bincount(relevant.query_index, minlength=len(hits.queries))
        missed = relevant.total - hit_counts
        others = hits.retrieved - hit_counts
        rest = np.maximum(self.documents - hits.retrieved - missed, 0) if self.weights[3] else np.zeros(len(hit_counts))
        return np.asarray(
            sum(weight * count for weight, count in zip(self.weights, (hit_counts, others, missed, rest), strict=True))
        )


Utility = SetUtility()
