"""Random words of 64 bits by number: the same on every machine, whatever part of the stream is asked for first.

SplitMix64 (Steele, Lea and Flood 2014): the i-th word is a mix of key + (i + 1) * GOLDEN.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Use = Literal["flips", "resamples", "labels", "orders"]

GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1
_USES: dict[Use, int] = {"flips": 1, "resamples": 2, "labels": 3, "orders": 4}


def key_of(seed: int, use: Use) -> int:
    """Where the stream of a seed begins; each use has its own."""
    return _mixed(_mixed((seed + GOLDEN) & _MASK) + _USES[use] * GOLDEN & _MASK)


def words(key: int, first: int, count: int) -> Words:
    """The words from number `first` on."""
    start = np.full(1, (key + (first + 1) * GOLDEN) & _MASK, np.uint64)
    state = np.arange(count, dtype=np.uint64) * np.uint64(GOLDEN) + start
    state = (state ^ (state >> np.uint64(30))) * np.uint64(_FIRST)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(_SECOND)
    mixed: Words = state ^ (state >> np.uint64(31))
    return mixed


def _mixed(state: int) -> int:
    state = (state ^ (state >> 30)) * _FIRST & _MASK
    state = (state ^ (state >> 27)) * _SECOND & _MASK
    return state ^ (state >> 31)
