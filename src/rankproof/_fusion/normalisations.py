"""Normalisations: functions that bring the scores of different systems to one scale, per query and ranking.

Adding one is one function here. The two that scale give the same for scores times any factor, so scores are first divided by a
power of two, exactly, and no finite score overflows. Sums are exact (`math.fsum`): the same bits on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._registry import RecordTable

Normalise = Callable[[FloatArray], FloatArray]
"""From the scores of one ranking of one query, at least one, to as many on another scale."""


@dataclass(frozen=True, slots=True)
class Normalisation:
    """Brings the scores of different systems to one scale, per query and ranking."""

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
    """The lowest score becomes 0 and the highest 1; where all are equal, each is 1: it is as high as any."""
    scaled = _scaled(scores)
    low, high = float(scaled.min()), float(scaled.max())
    if low == high:
        return np.ones_like(scores)
    return (scaled - low) / (high - low)


@normalisation("z-score", "distance from the mean in standard deviations; all 0 where all are equal")
def z_score(scores: FloatArray) -> FloatArray:
    """Distance from the mean in standard deviations of the population; where all are equal, each is 0."""
    scaled = _scaled(scores)
    if float(scaled.min()) == float(scaled.max()):
        return np.zeros_like(scores)
    centred = scaled - math.fsum(scaled.tolist()) / len(scaled)
    centred = _scaled(centred)
    return centred / math.sqrt(math.fsum((centred * centred).tolist()) / len(centred))


@normalisation("none", "scores as they are")
def unchanged(scores: FloatArray) -> FloatArray:
    """The scores as they are."""
    return scores


def _scaled(scores: FloatArray) -> FloatArray:
    """The scores times a power of two, such that the largest magnitude lies between a quarter and a half."""
    _, exponent = math.frexp(float(np.abs(scores).max()))
    return np.ldexp(scores, -exponent - 1)
