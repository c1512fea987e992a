"""Agreement of a ranking with the order of the judgements: Compat and Accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray, IntArray, list_places
from rankproof._registry import Option
from rankproof.measures._base import Advice, BinaryCutoffMeasure, Measure, P
from rankproof.measures._relevant import ratio, relevant_found, sum_by_query


def _ideal_ranks(hits: Hits, at: IntArray) -> IntArray:
    """The rank of each of these hits in the ideal order: by grade, then as the run has them, then what it lacks."""
    judged = hits.judged
    owners, grades = hits.query_index[at], hits.grades[at]
    best_first = judged.query_index * (judged.highest + 1) + judged.highest - np.maximum(judged.grades, 0)
    above = np.searchsorted(best_first, owners * (judged.highest + 1) + judged.highest - grades)
    order = np.lexsort((at, -grades, owners))
    begins = np.flatnonzero(np.diff(owners[order], prepend=-1) | np.diff(grades[order], prepend=-1))
    places = np.empty_like(at)
    places[order] = list_places(np.diff(begins, append=len(order)))
    return above - judged.offsets[owners] + places + 1


@dataclass(frozen=True, kw_only=True, repr=False)
class Compatibility(Measure):
    """Rank-biased overlap of the ranking with the ideal ranking."""

    p: Annotated[float, P] = 0.95
    normalize: Annotated[bool, Option("divide by the value of the ideal ranking")] = True
    name = "Compat"
    title = "Compatibility"
    family = "preferences"
    formula = "Σ(d) p^(d - 1) |A(d) ∩ B(d)| / d / Σ(d) p^(d - 1)"
    definition = (
        "Sum over depths d of p^(d - 1) |A ∩ B| / d, divided by the sum of p^(d - 1): A are the first d documents, B the first d"
        " of the ideal ranking, which has the documents of a grade above 0, highest first, those of one grade in the run's order."
        " The last depth is the length of the longer ranking. normalize=True divides by"
        " what the ideal ranking gets at the same depths."
    )
    source = "Clarke, Vtyurina and Smucker 2021; ir_measures Compat"
    advice = Advice(
        "ordering",
        "judgements are an order of preference, and the top of the ranking should agree with it.",
        "it matters how much better one grade is than another: only their order counts.",
    )
    kind = "graded"

    def values(self, hits: Hits) -> FloatArray:
        good = np.flatnonzero(hits.grades > 0)
        wanted = hits.judged.count(hits.judged.grades > 0)
        depths = np.maximum(hits.retrieved, wanted)
        weights = np.asarray(self.p ** np.arange(float(depths.max(initial=1))))
        summed = _sums(np.asarray(weights / np.arange(1.0, len(weights) + 1.0)))
        from_depth = np.maximum(hits.ranks[good], _ideal_ranks(hits, good))
        owners = hits.query_index[good]
        overlap = sum_by_query(owners, summed[depths[owners]] - summed[from_depth - 1], len(depths))
        totals = _sums(weights)
        best = totals[wanted] + wanted * (summed[depths] - summed[wanted])
        agreement = np.where(hits.present, overlap, 0.0)
        return ratio(agreement, best if self.normalize else totals[depths])


def _sums(terms: FloatArray) -> FloatArray:
    """The sum of the first n terms, for each n from 0."""
    return np.concatenate(([0.0], np.cumsum(terms)))


Compat = Compatibility()


class PairAccuracy(BinaryCutoffMeasure):
    """The share of pairs of a relevant and another document in the right order."""

    name = "Accuracy"
    title = "Accuracy of pairs"
    family = "preferences"
    formula = "pairs with the relevant document first / pairs of a relevant and another document"
    definition = (
        "Pairs of a relevant and another document among those retrieved (the top k) in which the relevant one is first, divided"
        " by all such pairs; 1 if all documents are relevant, 0 if none is. Unjudged documents are not relevant."
    )
    source = "ir_measures Accuracy"
    advice = Advice(
        "ordering",
        "candidates are given and only their order is to be measured, as for a reranker.",
        "documents must also be found: what is not retrieved does not count.",
    )

    def values(self, hits: Hits) -> FloatArray:
        relevant = relevant_found(hits, self.least)
        top = relevant.ranks <= self.depth
        counts = relevant.count_within(self.depth)
        others = np.minimum(hits.retrieved, self.depth) - counts
        above = sum_by_query(relevant.query_index[top], (relevant.ranks - relevant.nth)[top].astype(np.float64), len(counts))
        return np.where(counts > 0, 1.0 - ratio(above, others * counts), 0.0)


Accuracy = PairAccuracy()
