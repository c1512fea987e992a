"""NumQ NumRel NumRet NumRelRet."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof.measures._base import BinaryMeasure, Measure, SummedMeasure
from rankproof.measures._relevant import SumParts, equal_parts, relevant_counts, relevant_found


class CountMeasure(Measure):
    """A number of things; its summary is the sum."""

    range = (0.0, math.inf)
    kind = "count"
    summary = "sum"
    higher_is_better: ClassVar[bool | None] = None

    def summarise(self, values: FloatArray) -> float:
        return math.fsum(values.tolist())


class NumberOfQueries(CountMeasure):
    """1 for every query that is evaluated."""

    name = "NumQ"
    title = "Number of queries"
    definition = "1 for each query; the sum is the number of queries evaluated."
    source = "trec_eval num_q"

    def values(self, hits: Hits) -> FloatArray:
        return np.ones(len(hits.queries))


NumQ = NumberOfQueries()


class NumberRelevant(CountMeasure, BinaryMeasure):
    """Relevant documents in the qrels, also of a query that the run lacks."""

    name = "NumRel"
    title = "Number relevant"
    definition = "How many documents the qrels call relevant, also for a query that the run lacks."
    source = "trec_eval num_rel"

    def values(self, hits: Hits) -> FloatArray:
        return relevant_counts(hits.judged, self.least).astype(np.float64)


NumRel = NumberRelevant()


class NumberRelevantRetrieved(SummedMeasure, CountMeasure, BinaryMeasure):
    """Relevant documents retrieved."""

    name = "NumRelRet"
    title = "Number relevant retrieved"
    definition = "How many relevant documents were retrieved."
    source = "trec_eval num_rel_ret"
    higher_is_better = True
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        return equal_parts(hits, relevant_found(hits, self.least).at, np.ones(len(hits.queries)))


NumRelRet = NumberRelevantRetrieved()


class NumberRetrieved(CountMeasure):
    """Documents retrieved; with a rel it is NumRelRet."""

    name = "NumRet"
    title = "Number retrieved"
    definition = "How many documents were retrieved."
    source = "trec_eval num_ret"

    def values(self, hits: Hits) -> FloatArray:
        return hits.retrieved.astype(np.float64)

    def __call__(self, **parameters: Any) -> Measure:
        return NumRelRet(**parameters) if parameters else self


NumRet = NumberRetrieved()
