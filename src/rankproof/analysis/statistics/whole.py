"""Values as whole multiples of a small unit: their sums are exact, so no order, thread or library changes a bit of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...data.arrays import FloatArray, IntArray

_BITS = 48
_MOST = 58
_HALF = 25


@dataclass(frozen=True, eq=False, slots=True)
class Whole:
    """A row for each query, a column for each series; a value is its number times the unit."""

    numbers: IntArray
    unit: float

    @property
    def slack(self) -> int:
        """By how much two sums may differ, in units, that would be equal without rounding."""
        return 2 * len(self.numbers)


def whole(values: FloatArray, against: FloatArray | None = None) -> Whole:
    """The values, or what they are above those of `against` (a column), rounded to a unit that leaves room for every sum."""
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    unit = math.ldexp(1.0, math.frexp(largest)[1] - min(_BITS, _MOST - len(values).bit_length()))
    above = values if against is None else values - against
    return Whole(np.rint(above / unit).astype(np.int64), unit)


def products(rows: FloatArray, numbers: IntArray) -> IntArray:
    """The matrix product of small whole rows with the numbers, exactly: in two halves, whose sums a double holds."""
    upper = numbers >> _HALF
    lower = numbers - (upper << _HALF)
    found = rows @ np.concatenate([upper, lower], axis=1).astype(np.float64)
    width = numbers.shape[1]
    sums: IntArray = (found[:, :width].astype(np.int64) << _HALF) + found[:, width:].astype(np.int64)
    return sums
