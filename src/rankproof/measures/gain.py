"""What a grade is worth."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..data.arrays import FloatArray, IntArray

NamedGain = Literal["linear", "exp"]
Gain = NamedGain | tuple[tuple[int, float], ...]
NAMED: tuple[NamedGain, ...] = ("linear", "exp")


def gains(grades: IntArray, gain: Gain) -> FloatArray:
    """The gain of each grade: itself, 2^grade - 1, or by hand (a grade not named there is worth itself); below 0 nothing."""
    worth = np.maximum(grades, 0).astype(np.float64)
    if gain == "linear":
        return worth
    if gain == "exp":
        return np.asarray(np.exp2(worth) - 1.0)
    for grade, by_hand in gain:
        worth[grades == grade] = by_hand
    return worth


def discounted(worth: FloatArray, ranks: IntArray) -> FloatArray:
    """Gains divided by log2(rank + 1)."""
    return np.asarray(worth / np.log2(ranks + 1.0))


def discounts(ranks: IntArray) -> FloatArray:
    """What a gain of 1 is worth at each rank."""
    return discounted(np.ones(len(ranks)), ranks)
