"""Expected values of a random ranking, and how likely it is to do as badly as a system."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import measure_results
from rankproof._data.arrays import FloatArray
from rankproof.measures._base import BinaryMeasure, CutoffMeasure, Measure, discount_gains, gains

UNKNOWN_CORPUS_SIZE = "the corpus size is unknown, so there is no comparison with a random ranking: pass --documents N"


@dataclass(frozen=True, slots=True)
class RandomRanking:
    """A random ranking of N documents, R of them relevant; `places` are the ranks that count."""

    documents: int
    relevant: int
    places: int


def precision(ranking: RandomRanking, cutoff: int) -> float:
    """places · R / N over the cutoff, by the hypergeometric mean."""
    return ranking.places * ranking.relevant / ranking.documents / cutoff


def recall(ranking: RandomRanking) -> float:
    """Each relevant document is at one of the places with probability places / N."""
    return ranking.places / ranking.documents if ranking.relevant else 0.0


def success(ranking: RandomRanking) -> float:
    """1 - C(N - R, places) / C(N, places): the probability that at least one place is relevant."""
    few, many = sorted((ranking.places, ranking.relevant))
    steps = np.arange(few, dtype=np.float64)
    return float(1.0 - np.prod(np.maximum(ranking.documents - many - steps, 0.0) / (ranking.documents - steps)))


@lru_cache(maxsize=4096)
def reciprocal_rank(ranking: RandomRanking) -> float:
    """The sum over ranks r of 1 / r times C(N - r, R - 1) / C(N, R), the probability of the first relevant rank."""
    total, relevant = ranking.documents, ranking.relevant
    last = min(ranking.places, total - relevant + 1)
    if not relevant:
        return 0.0
    ranks = np.arange(1, last + 1, dtype=np.float64)
    still = (total - ranks[:-1] - relevant + 1) / (total - ranks[:-1])
    chances = relevant / total * np.concatenate(([1.0], np.cumprod(still)))
    return math.fsum(chances / ranks)


@lru_cache(maxsize=4096)
def average_precision(ranking: RandomRanking) -> float:
    """((1 - c) H + c · places) / N, where c = (R - 1) / (N - 1) and H = 1 + 1/2 + … + 1/places."""
    if not ranking.relevant:
        return 0.0
    other = (ranking.relevant - 1) / (ranking.documents - 1) if ranking.documents > 1 else 0.0
    harmonic = math.fsum(1.0 / np.arange(1, ranking.places + 1))
    return ((1.0 - other) * harmonic + other * ranking.places) / ranking.documents


def normalised_gain(worth: FloatArray, documents: int, places: int, cutoff: int) -> float:
    """The mean gain of a document at every counted rank, divided by the ideal DCG."""
    best = np.sort(worth)[::-1][:cutoff]
    ideal = float(discount_gains(best, np.arange(1, len(best) + 1)).sum())
    return float(worth.sum()) / documents * _discounts(places) / ideal if ideal else 0.0


@lru_cache(maxsize=64)
def _discounts(places: int) -> float:
    return math.fsum(1.0 / np.log2(np.arange(2, places + 2)))


BINARY_FORMULAS: Mapping[str, Callable[[RandomRanking, int], float]] = {
    "P": precision,
    "R": lambda ranking, cutoff: recall(ranking),
    "Success": lambda ranking, cutoff: success(ranking),
    "RR": lambda ranking, cutoff: reciprocal_rank(ranking),
    "AP": lambda ranking, cutoff: average_precision(ranking),
}


def has_chance_formula(measure: Measure) -> bool:
    """Whether the expected value of the measure has a closed form."""
    return measure.name in BINARY_FORMULAS or measure.name == "nDCG"


def expected_value(measure: Measure, grades: Sequence[int], documents: int, *, depth: int | None = None) -> float | None:
    """The expected value for a query with these grades, None without a closed form; `depth` truncates the ranking."""
    if not has_chance_formula(measure) or not isinstance(measure, CutoffMeasure):
        return None
    cutoff = measure.depth
    places = min(cutoff, documents, documents if depth is None else depth)
    if measure.name == "nDCG":
        worth = gains(np.array(grades, dtype=np.int64), measure.parameters()["gain"])
        return normalised_gain(worth, documents, places, cutoff)
    least = measure.least if isinstance(measure, BinaryMeasure) else 1
    return BINARY_FORMULAS[measure.name](RandomRanking(documents, sum(grade >= least for grade in grades), places), cutoff)


@dataclass(frozen=True, eq=False, slots=True)
class ChanceValues:
    """Expected values of a random ranking of the whole corpus, by query."""

    values: FloatArray

    @property
    def value(self) -> float:
        """The expected mean."""
        return math.fsum(self.values.tolist()) / max(len(self.values), 1)

    def p_at_most(self, hits: int) -> float:
        """The probability of at most this many successes, if the values are success probabilities (Poisson binomial)."""
        chances = np.ones(1)
        for chance in self.values.tolist():
            chances = np.concatenate([chances * (1 - chance), [0.0]]) + np.concatenate([[0.0], chances * chance])
        return min(1.0, math.fsum(chances[: hits + 1].tolist()))


def chance_notes(inputs: AnalysisInput) -> tuple[str, ...]:
    """Why there is no comparison with a random ranking, if there is none."""
    if inputs.read_options.judged_only:
        return ("unjudged documents were removed, so there is no comparison with a random ranking",)
    return () if inputs.documents else (UNKNOWN_CORPUS_SIZE,)


def chance_values(inputs: AnalysisInput, measure: Measure, queries: tuple[str, ...]) -> ChanceValues | None:
    """The values of a random ranking; None if the corpus size or a closed form is unknown."""
    if inputs.documents is None or inputs.read_options.judged_only:
        return None
    depth = inputs.read_options.depth
    found = [expected_value(measure, list(inputs.qrels[query].values()), inputs.documents, depth=depth) for query in queries]
    return None if None in found else ChanceValues(np.array(found, dtype=np.float64))


CHANCE_MEASURE = "Success@10"
BELOW_CHANCE_ALPHA = 0.01
"""The significance level for worse than a random ranking."""
WORSE, BELOW = "WORSE THAN RANDOM", "below random, not significant"


def p_below_chance(inputs: AnalysisInput) -> Mapping[str, float]:
    """System to the probability that a random ranking has as few queries with a relevant document in the top 10."""
    found = {}
    for system, each in measure_results(inputs, [CHANCE_MEASURE]).items():
        one = each[CHANCE_MEASURE]
        chance = chance_values(inputs, one.measure, one.query_ids)
        if chance is not None:
            found[system] = chance.p_at_most(round(one.value * one.queries))
    return found


def below_chance_verdict(probability: float | None) -> str:
    """The verdict on a value below that of a random ranking."""
    return WORSE if probability is not None and probability <= BELOW_CHANCE_ALPHA else BELOW


def describe_below_chance(probability: float | None) -> str:
    """The probability as text, after a semicolon."""
    return "" if probability is None else f"; a random ranking is as low in {CHANCE_MEASURE} with probability {probability:.2g}"
