"""The expected value of a random ranking of all documents, in closed form.

N documents, R of them relevant, in an order drawn at random; K ranks count. Derivations and sources are in docs/baselines.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...data.arrays import FloatArray
from ...measures import Binary, Cut, Measure
from ...measures.gain import discounted, gains
from ..evidence import Evidence

UNKNOWN_SIZE = "the size of the corpus is not known, so nothing is said of chance: pass --documents N"


@dataclass(frozen=True, slots=True)
class Draw:
    """What a random ranking is drawn from: N documents of which R are relevant; `places` are the ranks that count."""

    documents: int
    relevant: int
    places: int


def precision(draw: Draw, cutoff: int) -> float:
    """places · R / N found, over the cutoff: a hypergeometric mean."""
    return draw.places * draw.relevant / draw.documents / cutoff


def recall(draw: Draw) -> float:
    """Each relevant document stands in one of the places with chance places / N."""
    return draw.places / draw.documents if draw.relevant else 0.0


def success(draw: Draw) -> float:
    """1 - C(N - R, places) / C(N, places): not all of the places are filled from the others."""
    few, many = sorted((draw.places, draw.relevant))
    steps = np.arange(few, dtype=np.float64)
    return float(1.0 - np.prod(np.maximum(draw.documents - many - steps, 0.0) / (draw.documents - steps)))


@lru_cache(maxsize=4096)
def reciprocal_rank(draw: Draw) -> float:
    """Sum over the ranks r of 1 / r times the chance C(N - r, R - 1) / C(N, R) that the first relevant one stands there."""
    total, relevant = draw.documents, draw.relevant
    last = min(draw.places, total - relevant + 1)
    if not relevant:
        return 0.0
    ranks = np.arange(1, last + 1, dtype=np.float64)
    still = (total - ranks[:-1] - relevant + 1) / (total - ranks[:-1])
    chances = relevant / total * np.concatenate(([1.0], np.cumprod(still)))
    return math.fsum(chances / ranks)


@lru_cache(maxsize=4096)
def average_precision(draw: Draw) -> float:
    """((1 - c) H + c · places) / N, where c = (R - 1) / (N - 1) and H = 1 + 1/2 + … + 1/places."""
    if not draw.relevant:
        return 0.0
    other = (draw.relevant - 1) / (draw.documents - 1) if draw.documents > 1 else 0.0
    harmonic = math.fsum(1.0 / np.arange(1, draw.places + 1))
    return ((1.0 - other) * harmonic + other * draw.places) / draw.documents


def normalised_gain(worth: FloatArray, documents: int, places: int, cutoff: int) -> float:
    """The mean gain of a document at every rank that counts, over the ideal's, which is the same for every order."""
    best = np.sort(worth)[::-1][:cutoff]
    ideal = float(discounted(best, np.arange(1, len(best) + 1)).sum())
    return float(worth.sum()) / documents * _discounts(places) / ideal if ideal else 0.0


@lru_cache(maxsize=64)
def _discounts(places: int) -> float:
    return math.fsum(1.0 / np.log2(np.arange(2, places + 2)))


BINARY: Mapping[str, Callable[[Draw, int], float]] = {
    "P": precision,
    "R": lambda draw, cutoff: recall(draw),
    "Success": lambda draw, cutoff: success(draw),
    "RR": lambda draw, cutoff: reciprocal_rank(draw),
    "AP": lambda draw, cutoff: average_precision(draw),
}


def is_known(measure: Measure) -> bool:
    """Whether the measure's expected value has a closed form here."""
    return measure.name in BINARY or measure.name == "nDCG"


def expected(measure: Measure, grades: Sequence[int], documents: int, *, depth: int | None = None) -> float | None:
    """The expected value for a query with these grades; None for a measure without a closed form; `depth` cuts the ranking."""
    if not is_known(measure) or not isinstance(measure, Cut):
        return None
    cutoff = measure.depth
    places = min(cutoff, documents, documents if depth is None else depth)
    if measure.name == "nDCG":
        worth = gains(np.array(grades, dtype=np.int64), measure.parameters()["gain"])
        return normalised_gain(worth, documents, places, cutoff)
    least = measure.least if isinstance(measure, Binary) else 1
    return BINARY[measure.name](Draw(documents, sum(grade >= least for grade in grades), places), cutoff)


@dataclass(frozen=True, eq=False, slots=True)
class Chance:
    """What a random ranking of the whole corpus gives, for each query that the mean runs over."""

    values: FloatArray

    @property
    def value(self) -> float:
        """The expected mean."""
        return math.fsum(self.values.tolist()) / max(len(self.values), 1)

    def of_at_most(self, hits: int) -> float:
        """How likely it is to have so many successes or fewer, the values being chances of success (Poisson binomial)."""
        chances = np.ones(1)
        for chance in self.values.tolist():
            chances = np.concatenate([chances * (1 - chance), [0.0]]) + np.concatenate([[0.0], chances * chance])
        return min(1.0, math.fsum(chances[: hits + 1].tolist()))


def chance_notes(evidence: Evidence) -> tuple[str, ...]:
    """Why nothing is said of chance, where nothing is."""
    if evidence.reading.judged_only:
        return ("unjudged documents were dropped first, so nothing is said of chance",)
    return () if evidence.documents else (UNKNOWN_SIZE,)


def chance_of(evidence: Evidence, measure: Measure, queries: tuple[str, ...]) -> Chance | None:
    """A random ranking's values; None where the corpus size or a closed form is not known."""
    if evidence.documents is None or evidence.reading.judged_only:
        return None
    depth = evidence.reading.depth
    found = [expected(measure, list(evidence.qrels[query].values()), evidence.documents, depth=depth) for query in queries]
    return None if None in found else Chance(np.array(found, dtype=np.float64))
