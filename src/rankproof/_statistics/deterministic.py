"""Random words by counter and exact sums: the same bits on every machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray, IntArray

RandomWords = NDArray[np.uint64]
StreamUse = Literal["flips", "resamples", "labels", "orders"]

GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1
_STREAM_OF_USE: dict[StreamUse, int] = {"flips": 1, "resamples": 2, "labels": 3, "orders": 4}


def stream_key(seed: int, use: StreamUse) -> int:
    """The key of the stream of a seed; each use has its own."""
    return _mixed(_mixed((seed + GOLDEN) & _MASK) + _STREAM_OF_USE[use] * GOLDEN & _MASK)


def random_words(key: int, first: int, count: int) -> RandomWords:
    """The words from index `first` on (SplitMix64)."""
    start = np.full(1, (key + (first + 1) * GOLDEN) & _MASK, np.uint64)
    state = np.arange(count, dtype=np.uint64) * np.uint64(GOLDEN) + start
    state = (state ^ (state >> np.uint64(30))) * np.uint64(_FIRST)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(_SECOND)
    mixed: RandomWords = state ^ (state >> np.uint64(31))
    return mixed


def _mixed(state: int) -> int:
    state = (state ^ (state >> 30)) * _FIRST & _MASK
    state = (state ^ (state >> 27)) * _SECOND & _MASK
    return state ^ (state >> 31)


_VALUE_BITS = 48
_SUM_BITS = 58
_HALF_BITS = 25


@dataclass(frozen=True, eq=False, slots=True)
class ExactSum:
    """Values as integers, a row for each query and a column for each system; a value is its number times the unit."""

    numbers: IntArray
    unit: float

    @property
    def rounding_slack(self) -> int:
        """The largest difference, in units, of two sums that would be equal without rounding."""
        return 2 * len(self.numbers)


def to_exact_sum(values: FloatArray, against: FloatArray | None = None) -> ExactSum:
    """The values, or their differences from `against` (a column), rounded to a unit for which no sum overflows."""
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    unit = math.ldexp(1.0, math.frexp(largest)[1] - min(_VALUE_BITS, _SUM_BITS - len(values).bit_length()))
    differences = values if against is None else values - against
    return ExactSum(np.rint(differences / unit).astype(np.int64), unit)


def products(rows: FloatArray, numbers: IntArray) -> IntArray:
    """The exact matrix product of rows of small integers with the numbers, in two halves whose sums fit a double."""
    upper = numbers >> _HALF_BITS
    lower = numbers - (upper << _HALF_BITS)
    found = rows @ np.concatenate([upper, lower], axis=1).astype(np.float64)
    width = numbers.shape[1]
    sums: IntArray = (found[:, :width].astype(np.int64) << _HALF_BITS) + found[:, width:].astype(np.int64)
    return sums
