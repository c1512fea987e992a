"""RR ERR RBP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray, IntArray
from rankproof.measures._base import BinaryCutoffMeasure, CutoffMeasure, SummedMeasure
from rankproof.measures._relevant import SumParts, relevant_found


class ReciprocalRank(SummedMeasure, BinaryCutoffMeasure):
    """1 over the rank of the first relevant document."""

    name = "RR"
    title = "Reciprocal rank (mean: MRR)"
    definition = "1 / rank of the first relevant document, 0 if there is none (in the top k)."
    source = "trec_eval recip_rank"

    def parts(self, hits: Hits) -> SumParts:
        those = relevant_found(hits, self.least)
        first = (those.nth == 1) & (those.ranks <= self.depth)
        terms = 1.0 / those.ranks[first]
        return SumParts(hits, those.at[first], np.ones(len(terms)), terms, terms, np.ones(len(hits.queries)))


RR = ReciprocalRank()


def _continue_probabilities(satisfied: FloatArray, counts: IntArray) -> FloatArray:
    """The chance that the reader gets to each document: the product of 1 - satisfied over those above it in its query.

    Queries advance together, one document a step, longest first, so that each product is formed in its own order alone.
    """
    chance = np.ones(len(satisfied))
    longest = np.argsort(-counts, kind="stable")
    at = (np.cumsum(counts) - counts)[longest]
    lengths = counts[longest]
    for step in range(1, int(lengths[0]) if len(lengths) else 0):
        at = at[: np.searchsorted(-lengths, -step)] + 1
        chance[at] = chance[at - 1] * (1.0 - satisfied[at - 1])
    return chance


class ExpectedReciprocalRank(SummedMeasure, CutoffMeasure):
    """1 / rank where the reader stops, in expectation."""

    name = "ERR"
    title = "Expected reciprocal rank"
    definition = (
        "Sum over the top k of s / rank * product of 1 - s over the documents above,"
        " with s = (2^grade - 1) / 2^(largest grade in the qrels)."
    )
    source = "Chapelle et al. 2009"
    kind = "graded"
    parity = None

    def parts(self, hits: Hits) -> SumParts:
        good = np.flatnonzero((hits.ranks <= self.depth) & (hits.grades > 0))
        owners, ranks = hits.query_index[good], hits.ranks[good]
        largest = float(max(hits.judged.highest, 0))
        satisfied = np.exp2(hits.grades[good] - largest) - np.exp2(-largest)
        chance = _continue_probabilities(satisfied, np.bincount(owners, minlength=len(hits.queries)))
        return SumParts(hits, good, satisfied, chance / ranks, chance * satisfied / ranks, np.ones(len(hits.queries)))


ERR = ExpectedReciprocalRank()


@dataclass(frozen=True, kw_only=True, repr=False)
class RankBiasedPrecision(SummedMeasure, BinaryCutoffMeasure):
    """Relevant documents, weighted by the chance that the reader gets to them."""

    p: float = 0.8
    name = "RBP"
    title = "Rank-biased precision"
    definition = "(1 - p) * sum over relevant documents (in the top k) of p^(rank - 1), with persistence p."
    source = "Moffat and Zobel 2008, binary"
    parity = None
    additive = True
    suffix: ClassVar[str | None] = "p"

    def parts(self, hits: Hits) -> SumParts:
        at = relevant_found(hits, self.least).places_within(self.depth)
        weights = np.asarray(self.p ** (hits.ranks[at] - 1.0))
        return SumParts(hits, at, np.ones(len(at)), weights, weights, np.ones(len(hits.queries)), scale=1.0 - self.p)


RBP = RankBiasedPrecision()
