"""Random words by counter, variates and exact sums: the same bits on every machine."""

from __future__ import annotations

import math
import sys
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray, IntArray

RandomWords = NDArray[np.uint64]
StreamUse = Literal[
    "flips", "resamples", "labels", "orders", "normals", "gammas", "folds", "halves", "grades", "questions", "traffic"
]

# The constants of SplitMix64 (Steele, Lea and Flood 2014).
GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1
_STREAM_OF_USE: dict[StreamUse, int] = {
    "flips": 1,
    "resamples": 2,
    "labels": 3,
    "orders": 4,
    "normals": 5,
    "gammas": 6,
    "folds": 7,
    "halves": 8,
    "grades": 9,
    "questions": 10,
    "traffic": 11,
}


def stream_key(seed: int, use: StreamUse) -> int:
    """The key of the stream of a seed; each use has its own."""
    return _mixed(_mixed((seed + GOLDEN) & _MASK) + _STREAM_OF_USE[use] * GOLDEN & _MASK)


def random_words(key: int, first: int, count: int) -> RandomWords:
    """The words from index `first` on (SplitMix64)."""
    # An array, not a scalar: numpy wraps arrays of unsigned integers silently and warns of scalars.
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


_VARIATES = 1 << 14
# For mantissas from 0.71 to 1.41 the next term is below 2^-60.
_LOG_TERMS = 11


class VariateStream:
    """Variates from the stream of a seed, each call continuing where the last one ended.

    They need no function of a library whose last bit differs between machines: IEEE 754 rounds + - * / and square roots alike.
    """

    def __init__(self, seed: int, use: StreamUse) -> None:
        self._key, self._next = stream_key(seed, use), 0

    def uniforms(self, count: int) -> FloatArray:
        """Uniform variates in [0, 1), with 53 bits."""
        words = random_words(self._key, self._next, count)
        self._next += count
        # The upper 53 bits, because they fit a double exactly.
        return (words >> np.uint64(11)).astype(np.float64) * math.ldexp(1.0, -53)

    def normals(self, count: int) -> FloatArray:
        """Standard normal variates, by the polar method (Marsaglia and Bray 1964)."""
        parts: list[FloatArray] = []
        while sum(map(len, parts)) < count:
            across, up = 2 * self.uniforms(2 * _VARIATES).reshape(2, _VARIATES) - 1
            square = across * across + up * up
            inside = (square > 0) & (square < 1)
            square = square[inside]
            scale = np.sqrt(-2 * log(square) / square)
            parts.append(np.column_stack([across[inside] * scale, up[inside] * scale]).ravel())
        return np.concatenate(parts)[:count]

    def chi_squares(self, count: int, freedom: float) -> FloatArray:
        """Chi-square variates (Marsaglia and Tsang 2000); fewer than two degrees of freedom count as one."""
        if freedom < 2:
            return self.normals(count) ** 2
        shape = freedom / 2 - 1 / 3
        parts: list[FloatArray] = []
        while sum(map(len, parts)) < count:
            normal, uniform = self.normals(_VARIATES), self.uniforms(_VARIATES)
            root = 1 + normal / math.sqrt(9 * shape)
            possible = (root > 0) & (uniform > 0)
            normal, cube = normal[possible], root[possible] * root[possible] * root[possible]
            kept = log(uniform[possible]) < normal * normal / 2 + shape * (1 - cube + log(cube))
            parts.append(2 * shape * cube[kept])
        return np.concatenate(parts)[:count]


def log(values: FloatArray) -> FloatArray:
    """The natural logarithm of positive values, by the series of atanh((m - 1) / (m + 1)) for m from 0.71 to 1.41."""
    mantissa, exponent = np.frexp(values)
    small = mantissa < math.sqrt(0.5)
    mantissa, exponent = np.where(small, 2 * mantissa, mantissa), exponent - small
    ratio = (mantissa - 1) / (mantissa + 1)
    square, series = ratio * ratio, np.zeros_like(ratio)
    for term in range(_LOG_TERMS, -1, -1):
        series = series * square + 1 / (2 * term + 1)
    logarithms: FloatArray = 2 * ratio * series + exponent * 0.6931471805599453
    return logarithms


# A value has at most 48 bits and a sum at most 58, so that sums fit an int64 and their halves in `products` a double.
_VALUE_BITS = 48
_SUM_BITS = 58
_HALF_BITS = 25


class ExactSum(NamedTuple):
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
    # A power of two, so that dividing by it rounds nothing but the digits that are left out.
    bits = min(_VALUE_BITS, _SUM_BITS - len(values).bit_length())
    # A smaller unit would underflow to 0.
    unit = max(math.ldexp(1.0, math.frexp(largest)[1] - bits), sys.float_info.min)
    differences = values if against is None else values - against
    return ExactSum(np.rint(differences / unit).astype(np.int64), unit)


def products(rows: FloatArray, numbers: IntArray) -> IntArray:
    """The exact matrix product of rows of small integers with the numbers, in two halves whose sums fit a double."""
    # BLAS multiplies doubles, not int64; with halves every partial sum is an integer below 2^53, so any order of sums is exact.
    upper = numbers >> _HALF_BITS
    lower = numbers - (upper << _HALF_BITS)
    halves = rows @ np.concatenate([upper, lower], axis=1).astype(np.float64)
    width = numbers.shape[1]
    sums: IntArray = (halves[:, :width].astype(np.int64) << _HALF_BITS) + halves[:, width:].astype(np.int64)
    return sums
