"""Normalisations of scores to a common scale, per query and ranking.

A new one is one function here. Min-max and z-score do not depend on a common factor, so scores are first divided by a power of
two, which is exact and prevents overflow. Sums are exact (`math.fsum`), so that every machine gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._registry import RecordTable

Normalise = Callable[[FloatArray], FloatArray]
"""From the scores of one ranking of a query, at least one, to normalised scores."""


@dataclass(frozen=True, slots=True)
class Normalisation:
    """A normalisation of the scores of one ranking."""

    name: str
    summary: str
    normalise: Normalise


NORMALISATIONS: RecordTable[Normalisation] = RecordTable("normalisation", "rankproof.normalisations", __name__)


def normalisation(name: str, summary: str) -> Callable[[Normalise], Normalise]:
    """Registers a function of scores as a normalisation."""

    def register(normalise: Normalise) -> Normalise:
        NORMALISATIONS.add(Normalisation(name, summary, normalise), normalise.__module__)
        return normalise

    return register


@normalisation("min-max", "lowest 0, highest 1; all 1 where all are equal")
def min_max(scores: FloatArray) -> FloatArray:
    """Scores from 0 (lowest) to 1 (highest); 1 where all are equal."""
    scaled = _scaled(scores)
    low, high = float(scaled.min()), float(scaled.max())
    if low == high:
        return np.ones_like(scores)
    return (scaled - low) / (high - low)


@normalisation("z-score", "distance from the mean in standard deviations; all 0 where all are equal")
def z_score(scores: FloatArray) -> FloatArray:
    """The distance from the mean in population standard deviations; 0 where all are equal."""
    scaled = _scaled(scores)
    if float(scaled.min()) == float(scaled.max()):
        return np.zeros_like(scores)
    centred = scaled - math.fsum(scaled.tolist()) / len(scaled)
    centred = _scaled(centred)
    return centred / math.sqrt(math.fsum((centred * centred).tolist()) / len(centred))


@normalisation("none", "unchanged scores")
def unchanged(scores: FloatArray) -> FloatArray:
    """The unchanged scores."""
    return scores


def _scaled(scores: FloatArray) -> FloatArray:
    """The scores times a power of two, with the largest magnitude between a quarter and a half."""
    _, exponent = math.frexp(float(np.abs(scores).max()))
    return np.ldexp(scores, -exponent - 1)
