"""Bpref Judged Unjudged."""

from __future__ import annotations

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray, read_only
from rankproof.measures._base import BinaryMeasure, CutoffMeasure, SummedMeasure
from rankproof.measures._relevant import SumParts, cached_on, equal_parts, nonrelevant_above, relevant_found


@cached_on
def _preference_limits(judged: JudgedQueries, rel: int) -> IntArray:
    """The number of judged documents that are not relevant, at most the number that are, and at least 1 to divide by."""
    others = judged.count((judged.grades >= 0) & (judged.grades < rel))
    return read_only(np.maximum(np.minimum(others, judged.relevant(rel)), 1))


class BinaryPreference(SummedMeasure, BinaryMeasure):
    """The fraction of preferences among judged documents that the ranking keeps."""

    name = "bpref"
    title = "Binary preference"
    definition = (
        "Mean over relevant documents of 1 - min(n, rel) / min(N, rel), with n judged non-relevant ones above it and N in all;"
        " one that is not retrieved adds 0, unjudged ones are ignored."
    )
    source = "Buckley and Voorhees 2004; trec_eval bpref"

    def parts(self, hits: Hits) -> SumParts:
        those = relevant_found(hits, self.least)
        above = np.minimum(nonrelevant_above(hits, self.least).nonrelevant, those.total[those.query_index])
        kept = 1.0 - above / _preference_limits(hits.judged, self.least)[those.query_index]
        return SumParts(hits, those.at, np.ones(len(kept)), kept, kept, those.total)


bpref = BinaryPreference()


def judged_within(hits: Hits, depth: int) -> IntArray:
    """How many of each query's first `depth` documents have a grade of 0 or more."""
    return np.bincount(hits.query_index[_judged_mask(hits, depth)], minlength=len(hits.queries))


def _judged_mask(hits: Hits, depth: int) -> IntArray:
    return np.flatnonzero((hits.ranks <= depth) & (hits.grades >= 0))


class JudgedRate(SummedMeasure, CutoffMeasure):
    """Judged in the top k, over what there is of it."""

    name = "Judged"
    title = "Judged rate"
    definition = "Judged documents in the top k, over min(k, retrieved); a grade below 0 counts as unjudged."
    source = "ir_measures Judged"
    kind = "count"
    parity = None
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        return equal_parts(hits, _judged_mask(hits, self.depth), np.minimum(hits.retrieved, self.depth))


Judged = JudgedRate()


class UnjudgedRate(CutoffMeasure):
    """Unjudged in the top k, over k."""

    name = "Unjudged"
    title = "Unjudged rate"
    definition = (
        "Unjudged documents in the top k, over k, also where fewer than k were retrieved; a grade below 0 counts as unjudged."
    )
    source = "trec_eval unj"
    kind = "count"
    higher_is_better = False
    needs = "Unjudged@10"

    def values(self, hits: Hits) -> FloatArray:
        seen = np.minimum(hits.retrieved, self.depth)
        return np.asarray((seen - judged_within(hits, self.depth)) / float(self.depth))


Unjudged = UnjudgedRate()
