"""The sign-flip randomisation test (Fisher 1935; Smucker, Allan and Carterette 2007) for every pair of systems at once.

Under the null hypothesis the two values of a query might as well have been the other way round: its difference may change sign.
Flips are linear, so one vector of signs serves all pairs: the sums of the systems are flipped, and a pair's is their difference.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Literal

import numpy as np

from ...data.arrays import FloatArray, IntArray
from .whole import Whole, products, whole
from .words import key_of, words

Kernel = Literal["native", "numpy"]
EXACT = 14
_WORD = 64
_BLOCK = {"native": 1 << 13, "numpy": 1 << 10}
_CELLS = 1 << 22


@cache
def best_kernel() -> Kernel:
    """The native flips where they were built, else numpy; both give the same bits."""
    return "native" if find_spec("rankproof.analysis._flips") is not None else "numpy"


def randomisation_p(values: FloatArray, samples: int, seed: int, kernel: Kernel | None = None) -> FloatArray:
    """Two-sided p for each pair of columns, by the absolute mean difference.

    Exact over all 2^n flips where n <= 14; else (1 + hits) / (1 + samples), so that it is valid and never 0. A flip whose sum
    equals the one seen but for rounding is a hit.
    """
    numbers = whole(values, values[:, :1])
    if len(values) <= EXACT:
        return _hits(numbers, all_sums(numbers)) / float(2 ** len(values))
    kernel, hits = kernel or best_kernel(), np.zeros((values.shape[1],) * 2, np.int64)
    block = min(_BLOCK[kernel], max(1, _CELLS // len(values)) if kernel == "numpy" else samples)
    for first in range(0, samples, block):
        hits += _hits(numbers, signed_sums(numbers.numbers, seed, first, min(block, samples - first), kernel))
    return (1 + hits) / (1 + samples)


def signed_sums(numbers: IntArray, seed: int, first: int, count: int, kernel: Kernel) -> IntArray:
    """The sum of each column under the flips from number `first` on, a row each; bit q of a flip's words keeps query q's sign."""
    key = key_of(seed, "flips")
    if kernel == "native":
        from .. import _flips

        found = _flips.sums(np.ascontiguousarray(numbers), numbers.shape[1], key, first, count)
        return np.frombuffer(found, np.int64).reshape(count, -1)
    per_flip = -(-len(numbers) // _WORD)
    bits = words(key, first * per_flip, count * per_flip).astype("<u8").view(np.uint8).reshape(count, -1)
    return _signed(np.unpackbits(bits, axis=1, count=len(numbers), bitorder="little").astype(np.float64), numbers)


def all_sums(numbers: Whole) -> IntArray:
    """The sums under every one of the 2^n flips."""
    queries = np.arange(len(numbers.numbers))
    kept = (np.arange(2 ** len(queries))[:, None] >> queries) & 1
    return _signed(kept.astype(np.float64), numbers.numbers)


def _signed(kept: FloatArray, numbers: IntArray) -> IntArray:
    """What is kept less what is flipped."""
    sums: IntArray = 2 * products(kept, numbers) - numbers.sum(axis=0)
    return sums


def _hits(numbers: Whole, sums: IntArray) -> IntArray:
    """For each pair of columns, how many flips differ at least as much as what was seen."""
    seen = numbers.numbers.sum(axis=0)
    hits = np.zeros((len(seen),) * 2, np.int64)
    columns = np.ascontiguousarray(sums.T)
    for one in range(len(seen)):
        for other in range(one):
            least = abs(int(seen[one] - seen[other])) - numbers.slack
            hits[one, other] = hits[other, one] = np.count_nonzero(np.abs(columns[one] - columns[other]) >= least)
        hits[one, one] = len(sums)
    return hits
