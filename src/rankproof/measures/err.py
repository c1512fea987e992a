"""ERR: the expected reciprocal rank at which a reader who may stop at any good document stops."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray, IntArray
from .base import Cut, Sum
from .parts import Parts


def _still_reading(satisfied: FloatArray, counts: IntArray) -> FloatArray:
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


class ExpectedReciprocalRank(Sum, Cut):
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

    def parts(self, hits: Hits) -> Parts:
        good = np.flatnonzero((hits.ranks <= self.depth) & (hits.grades > 0))
        owners, ranks = hits.owners[good], hits.ranks[good]
        largest = float(max(hits.judged.highest, 0))
        satisfied = np.exp2(hits.grades[good] - largest) - np.exp2(-largest)
        chance = _still_reading(satisfied, np.bincount(owners, minlength=len(hits.queries)))
        return Parts(hits, good, satisfied, chance / ranks, chance * satisfied / ranks, np.ones(len(hits.queries)))


ERR = ExpectedReciprocalRank()
