"""Expected value of a random ranking."""

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

UNKNOWN_CORPUS_SIZE = "the size of the corpus is not known, so nothing is said of chance: pass --documents N"


@dataclass(frozen=True, slots=True)
class RandomRanking:
    """What a random ranking is drawn from: N documents of which R are relevant; `places` are the ranks that count."""

    documents: int
    relevant: int
    places: int


def precision(ranking: RandomRanking, cutoff: int) -> float:
    """places · R / N found, over the cutoff: a hypergeometric mean."""
    return ranking.places * ranking.relevant / ranking.documents / cutoff


def recall(ranking: RandomRanking) -> float:
    """Each relevant document stands in one of the places with chance places / N."""
    return ranking.places / ranking.documents if ranking.relevant else 0.0


def success(ranking: RandomRanking) -> float:
    """1 - C(N - R, places) / C(N, places): not all of the places are filled from the others."""
    few, many = sorted((ranking.places, ranking.relevant))
    steps = np.arange(few, dtype=np.float64)
    return float(1.0 - np.prod(np.maximum(ranking.documents - many - steps, 0.0) / (ranking.documents - steps)))


@lru_cache(maxsize=4096)
def reciprocal_rank(ranking: RandomRanking) -> float:
    """Sum over the ranks r of 1 / r times the chance C(N - r, R - 1) / C(N, R) that the first relevant one stands there."""
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
    """The mean gain of a document at every rank that counts, over the ideal's, which is the same for every order."""
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
    """Whether the measure's expected value has a closed form here."""
    return measure.name in BINARY_FORMULAS or measure.name == "nDCG"


def expected_value(measure: Measure, grades: Sequence[int], documents: int, *, depth: int | None = None) -> float | None:
    """The expected value for a query with these grades; None for a measure without a closed form; `depth` cuts the ranking."""
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
    """What a random ranking of the whole corpus gives, for each query that the mean runs over."""

    values: FloatArray

    @property
    def value(self) -> float:
        """The expected mean."""
        return math.fsum(self.values.tolist()) / max(len(self.values), 1)

    def p_at_most(self, hits: int) -> float:
        """How likely it is to have so many successes or fewer, the values being chances of success (Poisson binomial)."""
        chances = np.ones(1)
        for chance in self.values.tolist():
            chances = np.concatenate([chances * (1 - chance), [0.0]]) + np.concatenate([[0.0], chances * chance])
        return min(1.0, math.fsum(chances[: hits + 1].tolist()))


def chance_notes(inputs: AnalysisInput) -> tuple[str, ...]:
    """Why nothing is said of chance, where nothing is."""
    if inputs.read_options.judged_only:
        return ("unjudged documents were dropped first, so nothing is said of chance",)
    return () if inputs.documents else (UNKNOWN_CORPUS_SIZE,)


def chance_values(inputs: AnalysisInput, measure: Measure, queries: tuple[str, ...]) -> ChanceValues | None:
    """A random ranking's values; None where the corpus size or a closed form is not known."""
    if inputs.documents is None or inputs.read_options.judged_only:
        return None
    depth = inputs.read_options.depth
    found = [expected_value(measure, list(inputs.qrels[query].values()), inputs.documents, depth=depth) for query in queries]
    return None if None in found else ChanceValues(np.array(found, dtype=np.float64))


CHANCE_MEASURE = "Success@10"
BELOW_CHANCE_ALPHA = 0.01
"""A random ranking that does as badly this seldom is no explanation."""
WORSE, BELOW = "WORSE THAN RANDOM", "below chance, by luck or fault"


def p_below_chance(inputs: AnalysisInput) -> Mapping[str, float]:
    """System to how likely a random ranking is to have as few queries with a success in the first ten, or fewer."""
    found = {}
    for system, each in measure_results(inputs, [CHANCE_MEASURE]).items():
        one = each[CHANCE_MEASURE]
        chance = chance_values(inputs, one.measure, one.query_ids)
        if chance is not None:
            found[system] = chance.p_at_most(round(one.value * one.queries))
    return found


def below_chance_verdict(probability: float | None) -> str:
    """What to call a value below chance."""
    return WORSE if probability is not None and probability <= BELOW_CHANCE_ALPHA else BELOW


def describe_below_chance(probability: float | None) -> str:
    """The probability in words, after a semicolon."""
    return (
        "" if probability is None else f"; a random ranking does as badly in {CHANCE_MEASURE} with probability {probability:.2g}"
    )
