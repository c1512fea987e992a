"""Expected values of a random ranking, and how likely it is to do as badly as a system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import measure_results
from rankproof._data.arrays import FloatArray
from rankproof.measures._base import Measure, RandomRanking

UNKNOWN_CORPUS_SIZE = "the corpus size is unknown, so there is no comparison with a random ranking: pass --documents N"


def expected_value(measure: Measure, grades: Sequence[int], documents: int, *, depth: int | None = None) -> float | None:
    """The expected value for a query with these grades; None without a closed form; `depth` truncates the ranking."""
    return measure.chance(RandomRanking(tuple(grades), documents, depth))


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
        # Exact by convolution: the normal approximation is too coarse for tails of few queries.
        chances = np.ones(1)
        for at, chance in enumerate(self.values.tolist(), start=1):
            chances = np.concatenate([chances * (1 - chance), [0.0]]) + np.concatenate([[0.0], chances * chance])
            # Numbers of successes with the chance 0.0 keep it: without them the time would grow with the square of the queries.
            if at % _STEPS_BETWEEN_CUTS == 0:
                chances = chances[: np.flatnonzero(chances)[-1] + 1]
        return min(1.0, math.fsum(chances[: hits + 1].tolist()))


_STEPS_BETWEEN_CUTS = 64


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
    expected = [expected_value(measure, list(inputs.qrels[query].values()), inputs.documents, depth=depth) for query in queries]
    return None if None in expected else ChanceValues(np.array(expected, dtype=np.float64))


CHANCE_MEASURE = "Success@10"
BELOW_CHANCE_ALPHA = 0.01
"""The significance level for worse than a random ranking."""
WORSE, BELOW = "WORSE THAN RANDOM", "below random, not significant"


def p_below_chance(inputs: AnalysisInput) -> Mapping[str, float]:
    """System to the probability that a random ranking has as few queries with a relevant document in the top 10."""
    probabilities = {}
    for system, result in measure_results(inputs, [CHANCE_MEASURE]).items():
        success = result[CHANCE_MEASURE]
        chance = chance_values(inputs, success.measure, success.query_ids)
        if chance is not None:
            probabilities[system] = chance.p_at_most(round(success.value * success.queries))
    return probabilities


def below_chance_verdict(probability: float | None) -> str:
    """The verdict on a value below that of a random ranking."""
    return WORSE if probability is not None and probability <= BELOW_CHANCE_ALPHA else BELOW


def describe_below_chance(probability: float | None) -> str:
    """The probability as text, after a semicolon."""
    return "" if probability is None else f"; a random ranking is as low in {CHANCE_MEASURE} with probability {probability:.2g}"
