"""Average precision and its variants: geometric mean, inferred, interpolated and eleven-point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof._statistics.means import weighted_mean
from rankproof.measures._base import RECALL, RECALLS, Advice, BinaryCutoffMeasure, BinaryMeasure, RandomRanking, SummedMeasure
from rankproof.measures._relevant import RelevantFound, SumParts, nonrelevant_above, ratio, relevant_found


class AveragePrecision(SummedMeasure, BinaryCutoffMeasure):
    """The sum of the precision at each relevant document found, divided by all relevant documents."""

    name = "AP"
    title = "Average precision (mean: MAP)"
    family = "average-precision"
    formula = "1/R Σ(i ≤ k) rel(i) P@i"
    definition = (
        "Sum of the precision at the rank of each relevant document (in the top k), divided by all relevant ones, also with a"
        " cutoff."
    )
    source = "trec_eval map, map_cut"
    parity = "trec_eval"
    aliases = ("map", "average_precision", "map_cut")
    advice = Advice(
        "ordering",
        "all relevant documents matter and grades do not: collections with deep judgements.",
        "grades differ, or users stop after a few documents. AP@k cannot reach 1 if more than k documents are relevant.",
    )

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        top = relevant.ranks <= self.depth
        nth, ranks = relevant.nth[top], relevant.ranks[top]
        return SumParts(hits, relevant.at[top], nth.astype(np.float64), 1.0 / ranks, nth / ranks, relevant.total)

    def chance(self, ranking: RandomRanking) -> float:
        """((1 - c) H + c n) / N with n ranks, c = (R - 1) / (N - 1) and H = 1 + 1/2 + … + 1/n."""
        return _expected_average_precision(ranking.documents, ranking.relevant(self.least), ranking.length(self.depth))


@lru_cache(maxsize=4096)
def _expected_average_precision(documents: int, relevant: int, length: int) -> float:
    if not relevant:
        return 0.0
    other = (relevant - 1) / (documents - 1) if documents > 1 else 0.0
    harmonic = math.fsum(1.0 / np.arange(1, length + 1))
    return ((1.0 - other) * harmonic + other * length) / documents


AP = AveragePrecision()


# MIN_GEO_MEAN of trec_eval.
_FLOOR = 1e-5


class GeometricMeasure(BinaryMeasure):
    """A measure whose summary is the geometric mean, with a floor of 0.00001 for each value."""

    summary = "geometric"

    def summarise(self, values: FloatArray, weights: FloatArray | None = None) -> float:
        return math.exp(weighted_mean(np.log(np.maximum(values, _FLOOR)), weights)) if len(values) else 0.0


class GeometricMeanAP(GeometricMeasure):
    """The geometric mean of average precision."""

    name = "GMAP"
    title = "Geometric mean average precision"
    family = "average-precision"
    formula = "exp(mean(ln(max(AP, 0.00001))))"
    definition = "The geometric mean of AP over queries, with a floor of 0.00001: exp(mean(ln(max(AP, 0.00001))))."
    source = "Robertson 2006; trec_eval gm_map"
    parity = "trec_eval"
    aliases = ("gm_map",)
    advice = Advice(
        "ordering",
        "the worst queries matter most: one query near 0 lowers it strongly.",
        "many queries retrieve nothing relevant: the value then depends mostly on the floor of 0.00001."
        " rankproof compare leaves it out, because it compares arithmetic means only.",
    )

    def values(self, hits: Hits) -> FloatArray:
        return AveragePrecision(rel=self.rel).values(hits)


GMAP = GeometricMeanAP()


class SmoothedLogitAP(BinaryMeasure):
    """The log odds of average precision, smoothed by one document for and one against."""

    name = "yaap"
    title = "Yet another average precision"
    family = "average-precision"
    formula = "ln((1 + s) / (1 + R - s)), s = R AP"
    definition = (
        "ln((1 + s) / (1 + R - s)): s is the sum of the precision at each relevant document found, R the number of relevant"
        " documents."
    )
    source = "Robertson 2012; trec_eval yaap"
    parity = "trec_eval"
    advice = Advice(
        "ordering",
        "you average AP over queries of very different difficulty: differences near 0 and near 1 count more.",
        "readers expect a value from 0 to 1: it is below 0 for an AP below about 0.5, also for a query that the run lacks.",
    )
    range = (-math.inf, math.inf)

    def values(self, hits: Hits) -> FloatArray:
        relevant = relevant_found(hits, self.least)
        sums = relevant.sum_by_query(relevant.nth / relevant.ranks)
        return np.asarray(np.log((1.0 + sums) / (1.0 + relevant.total - sums)))


yaap = SmoothedLogitAP()


# INFAP_EPSILON of trec_eval.
_EPSILON = 1e-5


class InferredAP(BinaryMeasure):
    """Average precision estimated from a sample of judgements; a grade below 0 means pooled but not judged."""

    name = "infAP"
    title = "Inferred average precision"
    family = "judgements"
    formula = "1/R Σ(relevant d at rank k) (1/k + m/k (r + e) / (r + n + 2e))"
    definition = (
        "Mean over relevant documents: one at rank k adds 1/k + m/k * (r + e)/(r + n + 2e), one that is not retrieved adds 0. Of"
        " the documents above it, m are in the pool, r are relevant and n are judged non-relevant; e = 0.00001."
    )
    source = "Yilmaz and Aslam 2006; trec_eval infAP"
    parity = "trec_eval"
    advice = Advice(
        "ordering",
        "a random sample of a pool is judged and the rest of the pool is in the qrels with grade -1: it estimates"
        " the AP of the fully judged pool.",
        "the sample is not random, or the qrels lack the rest of the pool: without rows of grade -1 it equals AP.",
    )

    def values(self, hits: Hits) -> FloatArray:
        relevant, above = relevant_found(hits, self.least), nonrelevant_above(hits, self.least)
        relevant_above = relevant.nth - 1
        share = (relevant_above + _EPSILON) / (relevant_above + above.nonrelevant + 2 * _EPSILON)
        return ratio(relevant.sum_by_query((1.0 + above.pooled * share) / relevant.ranks), relevant.total)


infAP = InferredAP()  # noqa: N816


def interpolated_precision(relevant: RelevantFound, recall: float, *, version_9: bool) -> FloatArray:
    """The best precision at this recall or beyond, 0 where it is not reached.

    The number of relevant documents that the recall needs is rounded half up as in trec_eval 10, or from 0.1 up as in version 9.
    """
    exact = recall * relevant.total
    whole = np.floor(exact)
    needed = np.floor(exact + 0.9) if version_9 else whole + (exact - whole >= 0.5)
    reached = relevant.nth >= needed[relevant.query_index]
    best = np.zeros(len(relevant.total))
    np.maximum.at(best, relevant.query_index[reached], relevant.nth[reached] / relevant.ranks[reached])
    return best


@dataclass(frozen=True, kw_only=True, repr=False)
class InterpolatedPrecision(BinaryMeasure):
    """The best precision at this recall or beyond."""

    recall: Annotated[float | None, RECALL] = None
    name = "IPrec"
    title = "Interpolated precision at a recall"
    family = "average-precision"
    formula = "max{P@i: Σ(j ≤ i) rel(j) ≥ round(r R)}"
    definition = "The largest precision at any rank with at least round(recall * R) of the R relevant documents so far."
    source = "trec_eval iprec_at_recall, version 10"
    parity = "trec_eval"
    aliases = ("iprec_at_recall",)
    advice = Advice(
        "ordering",
        "you draw a precision-recall curve.",
        "you need one number that reflects how users read: nobody stops at a recall level.",
    )
    at: ClassVar[str | None] = "recall"
    suffix: ClassVar[str | None] = "recall"
    needs = "IPrec@0.1"

    def values(self, hits: Hits) -> FloatArray:
        self.complete()
        return interpolated_precision(relevant_found(hits, self.least), self.recall or 0.0, version_9=hits.trec_eval_9)


IPrec = InterpolatedPrecision()


_ELEVEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, kw_only=True, repr=False)
class ElevenPointAverage(BinaryMeasure):
    """The mean of IPrec over recall levels."""

    recalls: Annotated[tuple[float, ...], RECALLS] = _ELEVEN
    name = "11pt"
    title = "Eleven-point average precision"
    family = "average-precision"
    formula = "1/11 Σ(r = 0, 0.1, …, 1) IPrec@r"
    definition = "The mean of IPrec@r over the recall levels r = 0, 0.1, ..., 1; the parameter recalls sets other levels."
    source = "trec_eval 11pt_avg, version 10"
    parity = "trec_eval"
    aliases = ("11pt_avg",)
    advice = Advice(
        "ordering",
        "you compare with papers that report it.",
        "you can choose the measure: AP gives nearly the same result without interpolation.",
    )
    suffix: ClassVar[str | None] = "recalls"

    def values(self, hits: Hits) -> FloatArray:
        relevant = relevant_found(hits, self.least)
        values = (interpolated_precision(relevant, recall, version_9=hits.trec_eval_9) for recall in self.recalls)
        return np.asarray(sum(values) / len(self.recalls))


ElevenPoint = ElevenPointAverage()
