"""Scores of different systems brought to one scale, per query.

Both are indifferent to scale, so scores are first divided by a power of two, exactly, and no finite score overflows. Sums are
exact (`math.fsum`): the same bits on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from ..data.arrays import FloatArray


def unchanged(scores: FloatArray) -> FloatArray:
    """The scores as they are."""
    return scores


def min_max(scores: FloatArray) -> FloatArray:
    """The lowest score becomes 0 and the highest 1; where all are equal, each is 1: it is as high as any."""
    scaled = _scaled(scores)
    low, high = float(scaled.min()), float(scaled.max())
    if low == high:
        return np.ones_like(scores)
    return (scaled - low) / (high - low)


def z_score(scores: FloatArray) -> FloatArray:
    """Distance from the mean in standard deviations of the population; where all are equal, each is 0."""
    scaled = _scaled(scores)
    if float(scaled.min()) == float(scaled.max()):
        return np.zeros_like(scores)
    centred = scaled - math.fsum(scaled.tolist()) / len(scaled)
    centred = _scaled(centred)
    return centred / math.sqrt(math.fsum((centred * centred).tolist()) / len(centred))


def _scaled(scores: FloatArray) -> FloatArray:
    """The scores times a power of two, such that the largest magnitude lies between a quarter and a half."""
    _, exponent = math.frexp(float(np.abs(scores).max()))
    return np.ldexp(scores, -exponent - 1)
