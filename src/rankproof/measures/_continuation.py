"""Measures of a user who goes on to the next document with some probability (C/W/L): SDCG, INST, INSQ, BPM and NERR."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.measures._base import Advice, CutoffMeasure, FamilyName, Measure, P

DEEPEST = 1000
"""The last rank that the user can reach; ranks without a document have gain 0, as in cwl_eval."""
# A table of 256 queries and 1000 ranks takes 2 MB.
_QUERIES_AT_ONCE = 256
WANTED_GAIN = "T is the total gain that the user wants; "
SCALED_GAIN = "g = (grade - min_rel) / (max_rel - min_rel), from 0 to 1; by default min_rel is 0 and max_rel the largest grade."


@dataclass(frozen=True, kw_only=True, repr=False)
class ContinuationMeasure(Measure):
    """The expected gain per document that a user reads, who goes on with some probability after each.

    The weight of rank i is the product of the probabilities to go on at the ranks above it, divided by the sum over all ranks.
    """

    min_rel: Annotated[int, Option("the grade with gain 0", least=0, most=1000)] = 0
    max_rel: Annotated[int | None, Option("the grade with gain 1", least=1, most=1000)] = None
    family: ClassVar[FamilyName | None] = "user-models"
    kind = "graded"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_rel is not None and self.max_rel <= self.min_rel:
            raise UsageError(f"max_rel {self.max_rel} is not above min_rel {self.min_rel}", fix="give the grades of gain 0 and 1")

    @abstractmethod
    def continuation(self, gain: FloatArray, ranks: FloatArray) -> FloatArray:
        """For each query and rank, the probability to go on to the next document; `gain` has the gains at these ranks."""

    def reach(self) -> int:
        """The last rank that the user can reach."""
        return DEEPEST

    def values(self, hits: Hits) -> FloatArray:
        gain, depth = self._gains(hits), self.reach()
        ranks = np.arange(1.0, depth + 1.0)
        parts = [np.zeros(0)]
        for start in range(0, len(hits.queries), _QUERIES_AT_ONCE):
            some = slice(*hits.offsets[[start, min(start + _QUERIES_AT_ONCE, len(hits.queries))]])
            at = np.flatnonzero((hits.ranks[some] <= depth) & (gain[some] > 0)) + some.start
            table = np.zeros((min(_QUERIES_AT_ONCE, len(hits.queries) - start), depth))
            table[hits.query_index[at] - start, hits.ranks[at] - 1] = gain[at]
            parts.append(_expected_gain(table, self.continuation(table, ranks)))
        return np.concatenate(parts)

    def _gains(self, hits: Hits) -> FloatArray:
        """The gain of each hit."""
        most = max(hits.judged.highest, self.min_rel + 1) if self.max_rel is None else self.max_rel
        return np.asarray((np.clip(hits.grades, self.min_rel, most) - self.min_rel) / (most - self.min_rel))


def _expected_gain(gain: FloatArray, continuation: FloatArray) -> FloatArray:
    weights = np.ones_like(gain)
    np.cumprod(continuation[:, :-1], axis=1, out=weights[:, 1:])
    return np.asarray((weights * gain).sum(axis=1) / weights.sum(axis=1))


@dataclass(frozen=True, kw_only=True, repr=False)
class CutContinuationMeasure(CutoffMeasure, ContinuationMeasure):
    """A measure of a user who stops at rank k at the latest."""

    def reach(self) -> int:
        return min(self.depth, DEEPEST)


class ScaledDiscountedGain(CutContinuationMeasure):
    """Discounted gain, divided by that of k perfect documents."""

    name = "SDCG"
    title = "Scaled discounted cumulative gain"
    family = "gain"
    formula = "Σ(i ≤ k) g(i) / log2(i + 1) / Σ(i ≤ k) 1 / log2(i + 1)"
    definition = f"Sum over the top k of g / log2(rank + 1), divided by the sum of 1 / log2(rank + 1) over k ranks; {SCALED_GAIN}"
    source = "Moffat and Zobel 2008; cwl_eval NDCG-k"
    advice = Advice(
        "ordering",
        "a value should not depend on how many relevant documents a query has: 1 means k perfect documents.",
        "queries have fewer than k relevant documents: even the best ranking is then far below 1. Use nDCG.",
    )
    needs = "SDCG@10"

    def continuation(self, gain: FloatArray, ranks: FloatArray) -> FloatArray:
        return np.broadcast_to(np.log2(ranks + 1.0) / np.log2(ranks + 2.0), gain.shape)


SDCG = ScaledDiscountedGain()


@dataclass(frozen=True, kw_only=True, repr=False)
class TargetMeasure(ContinuationMeasure):
    """A measure of a user who wants a total gain of T."""

    T: Annotated[float, Option("the total gain that the user wants", least=0.001, most=1000)] = 1.0


class GoalDirectedINST(TargetMeasure):
    """The expected gain of a user who gets closer to a goal with each relevant document."""

    name = "INST"
    title = "INST"
    formula = "Σ(i) w(i) g(i) / Σ(i) w(i), w(i + 1) = w(i) ((i + T + r - 1) / (i + T + r))^2"
    definition = (
        "Sum over ranks of w(i) g(i), divided by the sum of w(i) up to rank 1000; w(1) = 1,"
        " w(i + 1) = w(i) ((i + T + r - 1) / (i + T + r))^2, where r is T minus the gain up to rank i; "
        + WANTED_GAIN
        + SCALED_GAIN
    )
    source = "Bailey, Moffat, Scholer and Thomas 2015; cwl_eval INST"
    advice = Advice(
        "ordering",
        "users want about T good documents, and go on reading until they have them.",
        "T is not known for your queries: values of different T cannot be compared.",
    )

    def continuation(self, gain: FloatArray, ranks: FloatArray) -> FloatArray:
        wanted = self.T + (self.T - np.cumsum(gain, axis=1))
        return np.asarray(((ranks + wanted - 1.0) / (ranks + wanted)) ** 2)


INST = GoalDirectedINST()


class StaticINSQ(TargetMeasure):
    """The expected gain of a user who goes on less the further down, for a goal of T."""

    name = "INSQ"
    title = "INSQ"
    formula = "Σ(i) w(i) g(i) / Σ(i) w(i), w(i + 1) = w(i) ((i + 2T - 1) / (i + 2T))^2"
    definition = (
        "Sum over ranks of w(i) g(i), divided by the sum of w(i) up to rank 1000; w(1) = 1,"
        f" w(i + 1) = w(i) ((i + 2T - 1) / (i + 2T))^2; {WANTED_GAIN}{SCALED_GAIN}"
    )
    source = "Moffat, Scholer and Thomas 2012; cwl_eval INSQ"
    advice = Advice(
        "ordering",
        "users want about T good documents, but do not stop earlier when they find them.",
        "users stop once they have enough: use INST.",
    )

    def continuation(self, gain: FloatArray, ranks: FloatArray) -> FloatArray:
        return np.broadcast_to(((ranks + 2.0 * self.T - 1.0) / (ranks + 2.0 * self.T)) ** 2, gain.shape)


INSQ = StaticINSQ()


@dataclass(frozen=True, kw_only=True, repr=False)
class BejewelledPlayer(CutContinuationMeasure, TargetMeasure):
    """The mean gain of the documents that a user reads until the goal or the last rank is reached."""

    name = "BPM"
    title = "Bejeweled player model (static)"
    formula = "1/s Σ(i ≤ s) g(i), s = min(k, first rank with Σ(i ≤ s) g(i) ≥ T)"
    definition = (
        "The mean of g over the documents up to the rank at which their sum reaches T, at most k (1000 without a cutoff); "
        + WANTED_GAIN
        + SCALED_GAIN
    )
    source = "Zhang et al. 2017; cwl_eval BPM-Static"
    advice = Advice(
        "ordering",
        "users stop at once when they have enough, or when they have read k documents.",
        "the order of documents above the stopping rank matters: it does not change the value.",
    )

    def continuation(self, gain: FloatArray, ranks: FloatArray) -> FloatArray:
        return np.asarray(np.cumsum(gain, axis=1) < self.T, dtype=np.float64)


BPM = BejewelledPlayer()

_NERR_USE = "you want ERR's user, who stops at a satisfying document, with a value that is an expected gain from 0 to 1."
_NERR_SOURCE = "Azzopardi, Mackenzie and Moffat 2021, eq. {}; cwl_eval NERR-EQ{}"


class NearlyERR8(CutContinuationMeasure):
    """The expected gain of a user who stops at a document with the probability of its gain."""

    name = "NERR8"
    title = "Nearly ERR, equation 8"
    formula = "Σ(i) w(i) g(i) / Σ(i) w(i), w(i + 1) = w(i) (1 - g(i))"
    definition = (
        f"Sum over the top k of w(i) g(i), divided by the sum of w(i); w(1) = 1, w(i + 1) = w(i) (1 - g(i)); {SCALED_GAIN}"
    )
    source = _NERR_SOURCE.format(8, 8)
    advice = Advice("ordering", _NERR_USE, "users read less the further down: use NERR9, NERR10 or NERR11.")
    needs = "NERR8@10"

    def continuation(self, gain: FloatArray, ranks: FloatArray) -> FloatArray:
        return np.asarray(1.0 - gain)


NERR8 = NearlyERR8()


class NearlyERR9(CutContinuationMeasure):
    """The same user, who also goes on less the further down."""

    name = "NERR9"
    title = "Nearly ERR, equation 9"
    formula = "Σ(i) w(i) g(i) / Σ(i) w(i), w(i + 1) = w(i) (1 - g(i)) i / (i + 1)"
    definition = (
        "Sum over the top k of w(i) g(i), divided by the sum of w(i); "
        f"w(1) = 1, w(i + 1) = w(i) (1 - g(i)) i / (i + 1); {SCALED_GAIN}"
    )
    source = _NERR_SOURCE.format(9, 9)
    advice = Advice("ordering", _NERR_USE, "you compare with ERR of papers: its values are others.")
    needs = "NERR9@10"

    def continuation(self, gain: FloatArray, ranks: FloatArray) -> FloatArray:
        return np.asarray(ranks / (ranks + 1.0) * (1.0 - gain))


NERR9 = NearlyERR9()


@dataclass(frozen=True, kw_only=True, repr=False)
class NearlyERR10(ContinuationMeasure):
    """The same user, who also goes on with persistence p."""

    p: Annotated[float, P] = 0.9
    name = "NERR10"
    title = "Nearly ERR, equation 10"
    formula = "Σ(i) w(i) g(i) / Σ(i) w(i), w(i + 1) = w(i) p (1 - g(i))"
    definition = (
        "Sum over ranks of w(i) g(i), divided by the sum of w(i) up to rank 1000; w(1) = 1,"
        f" w(i + 1) = w(i) p (1 - g(i)), with persistence p; {SCALED_GAIN}"
    )
    source = _NERR_SOURCE.format(10, 10)
    advice = Advice("ordering", _NERR_USE, "the persistence p of your users is not known.")
    suffix: ClassVar[str | None] = "p"

    def continuation(self, gain: FloatArray, ranks: FloatArray) -> FloatArray:
        return np.asarray(self.p * (1.0 - gain))


NERR10 = NearlyERR10()


class NearlyERR11(TargetMeasure):
    """The same user, who also goes on as the user of INSQ does."""

    name = "NERR11"
    title = "Nearly ERR, equation 11"
    formula = "Σ(i) w(i) g(i) / Σ(i) w(i), w(i + 1) = w(i) ((i + 2T - 1) / (i + 2T))^2 (1 - g(i))"
    definition = (
        "Sum over ranks of w(i) g(i), divided by the sum of w(i) up to rank 1000; w(1) = 1,"
        f" w(i + 1) = w(i) ((i + 2T - 1) / (i + 2T))^2 (1 - g(i)); {WANTED_GAIN}{SCALED_GAIN}"
    )
    source = _NERR_SOURCE.format(11, 11)
    advice = Advice("ordering", _NERR_USE, "the goal T of your users is not known.")

    def continuation(self, gain: FloatArray, ranks: FloatArray) -> FloatArray:
        return np.asarray(((ranks + 2.0 * self.T - 1.0) / (ranks + 2.0 * self.T)) ** 2 * (1.0 - gain))


NERR11 = NearlyERR11()
