"""Whether a segment differs from the rest beyond chance: a permutation test of the labels.

If the segment had nothing to do with the values, any other choice of as many queries would do as well: the labels are dealt out
anew many times, and p is how often the difference is at least as large.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...data.arrays import FloatArray, IntArray
from .whole import whole
from .words import key_of, words

_CELLS = 1 << 21


def label_p(values: FloatArray, sizes: Sequence[int], *, samples: int, seed: int) -> FloatArray:
    """Two-sided p of the difference between each segment and the rest, for each column: (1 + hits) / (1 + samples).

    Rows are queries, those of the first segment first, then those of the second, and so on: `sizes` says how many each has.
    A deal whose difference equals the one seen but for rounding is a hit.
    """
    numbers = whole(values)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
    fair = _fair_shares(numbers.numbers, sizes)
    # A segment's mean less that of the rest grows with how far its sum is from its fair share of the whole.
    least = np.abs(_sums(numbers.numbers[None], starts) - fair)[0] - numbers.slack - 1
    hits = np.zeros(least.shape, np.int64)
    block = max(1, _CELLS // values.size)
    for first in range(0, samples, block):
        dealt = numbers.numbers[_deals(len(values), seed, first, min(block, samples - first))]
        hits += (np.abs(_sums(dealt, starts) - fair) >= least).sum(axis=0)
    return np.asarray((1 + hits) / (1 + samples))


def _deals(n: int, seed: int, first: int, count: int) -> IntArray:
    """The deals from number `first` on, a row each: places in the order of random words."""
    drawn = words(key_of(seed, "labels"), first * n, count * n).reshape(count, n)
    return np.argsort(drawn, axis=1, kind="stable")


def _fair_shares(numbers: IntArray, sizes: Sequence[int]) -> IntArray:
    """What each segment would sum to, were all queries alike: a row a segment, to the nearest whole number."""
    n = len(numbers)
    totals = [int(total) for total in numbers.sum(axis=0)]
    return np.array([[(2 * size * total + n) // (2 * n) for total in totals] for size in sizes], np.int64)


def _sums(dealt: IntArray, starts: IntArray) -> IntArray:
    return np.asarray(np.add.reduceat(dealt, starts, axis=1))
