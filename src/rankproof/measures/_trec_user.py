"""Rank-biased precision and its residual as trec_eval computes them, and the utility of a set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.measures._base import Advice, BinaryMeasure, GainScheme, Measure, SummedMeasure, gains
from rankproof.measures._relevant import SumParts, cached_on, relevant_found, sum_by_query


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

    p: float = 0.9
    gain: GainScheme = "linear"
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

    p: float = 0.9
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


@dataclass(frozen=True, kw_only=True, repr=False)
class SetUtility(BinaryMeasure):
    """A weighted sum of the counts of relevant and other documents, retrieved and missed."""

    weights: tuple[float, ...] = (1.0, -1.0, 0.0, 0.0)
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
