"""P R F1 Rprec Success SetP SetR SetF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof.measures._base import BinaryCutoffMeasure, BinaryMeasure, Measure, SummedMeasure
from rankproof.measures._relevant import SumParts, equal_parts, ratio, relevant_found


class Precision(SummedMeasure, BinaryCutoffMeasure):
    """Relevant in the top k, over k."""

    name = "P"
    title = "Precision"
    definition = "Relevant documents in the top k, over k, also where fewer than k were retrieved: rel_ret(k) / k."
    source = "trec_eval P"
    needs = "P@10"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        whole = np.full(len(hits.queries), float(self.depth))
        return equal_parts(hits, relevant_found(hits, self.least).places_within(self.depth), whole)


P = Precision()


class Recall(SummedMeasure, BinaryCutoffMeasure):
    """Relevant in the top k, over all relevant."""

    name = "R"
    title = "Recall"
    definition = "Relevant documents in the top k, over all relevant ones: rel_ret(k) / rel."
    source = "trec_eval recall"
    needs = "R@100"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        those = relevant_found(hits, self.least)
        return equal_parts(hits, those.places_within(self.depth), those.total)


R = Recall()


class F1At(SummedMeasure, BinaryCutoffMeasure):
    """The harmonic mean of P@k and R@k."""

    name = "F1"
    title = "F1"
    definition = "The harmonic mean of P@k and R@k: 2 rel_ret(k) / (k + rel)."
    source = "van Rijsbergen 1979; ranx f1"
    parity = None
    needs = "F1@10"
    additive = True

    def __call__(self, **parameters: Any) -> Measure:
        """With parameters of answers it is the F1 of answers."""
        if not parameters:
            return super().__call__()
        from rankproof.measures._answers import AnswerF1

        ours = parameters.keys() <= AnswerF1.parameters().keys()
        return AnswerF1(**parameters) if ours else super().__call__(**parameters)

    def parts(self, hits: Hits) -> SumParts:
        those = relevant_found(hits, self.least)
        return equal_parts(hits, those.places_within(self.depth), those.total + np.float64(self.depth), worth=2.0)


F1 = F1At()


class RPrecision(SummedMeasure, BinaryMeasure):
    """Relevant in the top R, over R, the number of relevant documents."""

    name = "Rprec"
    title = "R-precision"
    definition = "Precision after as many documents as are relevant: rel_ret(rel) / rel."
    source = "trec_eval Rprec"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        those = relevant_found(hits, self.least)
        return equal_parts(hits, those.at[those.ranks <= those.total[those.query_index]], those.total)


Rprec = RPrecision()


class SuccessAt(SummedMeasure, BinaryCutoffMeasure):
    """1 if any relevant document is in the top k."""

    name = "Success"
    title = "Success (hit rate)"
    definition = "1 if any of the top k documents is relevant, else 0."
    source = "trec_eval success"
    needs = "Success@5"

    def parts(self, hits: Hits) -> SumParts:
        those = relevant_found(hits, self.least)
        return equal_parts(hits, those.at[(those.nth == 1) & (those.ranks <= self.depth)], np.ones(len(hits.queries)))


Success = SuccessAt()


class SetPrecision(SummedMeasure, BinaryMeasure):
    """Relevant retrieved, over retrieved."""

    name = "SetP"
    title = "Set precision"
    definition = "Relevant documents retrieved, over all retrieved: rel_ret / ret."
    source = "trec_eval set_P"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        return equal_parts(hits, relevant_found(hits, self.least).at, hits.retrieved)


SetP = SetPrecision()


class SetRecall(SummedMeasure, BinaryMeasure):
    """Relevant retrieved, over all relevant."""

    name = "SetR"
    title = "Set recall"
    definition = "Relevant documents retrieved, over all relevant ones: rel_ret / rel."
    source = "trec_eval set_recall"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        those = relevant_found(hits, self.least)
        return equal_parts(hits, those.at, those.total)


SetR = SetRecall()


@dataclass(frozen=True, kw_only=True, repr=False)
class SetFMeasure(BinaryMeasure):
    """The harmonic mean of SetP and SetR, with recall weighing beta times as much."""

    beta: float = 1.0
    name = "SetF"
    title = "Set F"
    definition = "(beta + 1) P R / (beta P + R) with P = SetP and R = SetR; beta is the weight of recall and is not squared."
    source = "van Rijsbergen 1979; trec_eval set_F"
    suffix: ClassVar[str | None] = "beta"

    def values(self, hits: Hits) -> FloatArray:
        precision, recall = SetPrecision(rel=self.rel).values(hits), SetRecall(rel=self.rel).values(hits)
        return ratio((self.beta + 1.0) * precision * recall, self.beta * precision + recall)


SetF = SetFMeasure()
