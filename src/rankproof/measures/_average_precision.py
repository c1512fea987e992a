"""AP GMAP infAP IPrec 11pt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof.measures._base import BinaryCutoffMeasure, BinaryMeasure, SummedMeasure
from rankproof.measures._relevant import RelevantFound, SumParts, nonrelevant_above, ratio, relevant_found


class AveragePrecision(SummedMeasure, BinaryCutoffMeasure):
    """Precision at each relevant document found, summed, over all relevant ones."""

    name = "AP"
    title = "Average precision (mean: MAP)"
    definition = (
        "Sum of the precision at the rank of each relevant document (in the top k), over all relevant ones, also with a cutoff."
    )
    source = "trec_eval map, map_cut"

    def parts(self, hits: Hits) -> SumParts:
        those = relevant_found(hits, self.least)
        top = those.ranks <= self.depth
        nth, ranks = those.nth[top], those.ranks[top]
        return SumParts(hits, those.at[top], nth.astype(np.float64), 1.0 / ranks, nth / ranks, those.total)


AP = AveragePrecision()


_FLOOR = 1e-5


class GeometricMeanAP(BinaryMeasure):
    """The geometric mean of average precision."""

    name = "GMAP"
    title = "Geometric mean average precision"
    definition = "The geometric mean of AP over queries, each counted as at least 0.00001: exp(mean(ln(max(AP, 0.00001))))."
    source = "Robertson 2006; trec_eval gm_map"
    summary = "geometric"

    def values(self, hits: Hits) -> FloatArray:
        return AveragePrecision(rel=self.rel).values(hits)

    def summarise(self, values: FloatArray) -> float:
        if not len(values):
            return 0.0
        return math.exp(math.fsum(np.log(np.maximum(values, _FLOOR)).tolist()) / len(values))


GMAP = GeometricMeanAP()


_EPSILON = 1e-5


class InferredAP(BinaryMeasure):
    """Average precision inferred from judged documents; a grade below 0 is in the pool but not judged."""

    name = "infAP"
    title = "Inferred average precision"
    definition = (
        "Mean over relevant documents at rank k of 1/k + m/k * (r + e)/(r + n + 2e), with m in the pool above,"
        " r of them relevant, n judged non-relevant, and e = 0.00001."
    )
    source = "Yilmaz and Aslam 2006; trec_eval infAP"

    def values(self, hits: Hits) -> FloatArray:
        those, above = relevant_found(hits, self.least), nonrelevant_above(hits, self.least)
        relevant = those.nth - 1
        share = (relevant + _EPSILON) / (relevant + above.nonrelevant + 2 * _EPSILON)
        return ratio(those.sum_by_query((1.0 + above.pooled * share) / those.ranks), those.total)


infAP = InferredAP()


def interpolated_precision(those: RelevantFound, recall: float) -> FloatArray:
    """The best precision from the relevant document on that reaches this recall, 0 where it is not reached.

    How many documents that takes is rounded half up, as in trec_eval 10.
    """
    exact = recall * those.total
    whole = np.floor(exact)
    needed = whole + (exact - whole >= 0.5)
    reached = those.nth >= needed[those.query_index]
    best = np.zeros(len(those.total))
    np.maximum.at(best, those.query_index[reached], those.nth[reached] / those.ranks[reached])
    return best


@dataclass(frozen=True, kw_only=True, repr=False)
class InterpolatedPrecision(BinaryMeasure):
    """The best precision at this recall or beyond."""

    recall: float | None = None
    name = "IPrec"
    title = "Interpolated precision at a recall"
    definition = "The largest precision at any rank where at least round(recall * rel) relevant documents were met."
    source = "trec_eval iprec_at_recall, version 10"
    at: ClassVar[str | None] = "recall"
    suffix: ClassVar[str | None] = "recall"
    needs = "IPrec@0.1"

    def values(self, hits: Hits) -> FloatArray:
        self.complete()
        return interpolated_precision(relevant_found(hits, self.least), self.recall or 0.0)


IPrec = InterpolatedPrecision()


_ELEVEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, kw_only=True, repr=False)
class ElevenPointAverage(BinaryMeasure):
    """The mean of IPrec over recall points."""

    recalls: tuple[float, ...] = _ELEVEN
    name = "11pt"
    title = "Eleven-point average precision"
    definition = "The mean of IPrec@r over the recall points r = 0, 0.1, ... 1, or those named."
    source = "trec_eval 11pt_avg, version 10"
    suffix: ClassVar[str | None] = "recalls"

    def values(self, hits: Hits) -> FloatArray:
        those = relevant_found(hits, self.least)
        return np.asarray(sum(interpolated_precision(those, recall) for recall in self.recalls) / len(self.recalls))


ElevenPoint = ElevenPointAverage()
