"""Whether a segment differs from the rest beyond chance: a permutation test of the labels.

If the segment had nothing to do with the values, any other choice of as many queries would do as well: the labels are dealt out
anew many times, and p is how often the difference is at least as large.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.arrays import FloatArray, IntArray

_CELLS = 1 << 21
_SLACK = 1e-12


def label_p(values: FloatArray, sizes: Sequence[int], *, samples: int, seed: int) -> FloatArray:
    """Two-sided p of the difference between each segment and the rest, for each column: (1 + hits) / (1 + samples).

    Rows are queries, those of the first segment first, then those of the second, and so on: `sizes` says how many each has.
    """
    n = len(values)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
    seen = np.abs(_apart(_sums(values[None], starts), values, sizes))[0]
    hits = np.zeros(seen.shape, np.int64)
    generator = np.random.default_rng(seed)
    block = max(1, _CELLS // values.size)
    for first in range(0, samples, block):
        dealt = generator.permuted(np.tile(np.arange(n), (min(block, samples - first), 1)), axis=1)
        apart = np.abs(_apart(_sums(values[dealt], starts), values, sizes))
        hits += (apart >= seen - _SLACK).sum(axis=0)
    return np.asarray((1 + hits) / (1 + samples))


def _sums(dealt: FloatArray, starts: IntArray) -> FloatArray:
    return np.asarray(np.add.reduceat(dealt, starts, axis=1))


def _apart(sums: FloatArray, values: FloatArray, sizes: Sequence[int]) -> FloatArray:
    """The mean of each segment less the mean of the rest; 0 where there is no rest."""
    inside = np.array(sizes, dtype=np.float64)[None, :, None]
    outside = len(values) - inside
    rest = np.divide(values.sum(axis=0) - sums, outside, out=np.zeros_like(sums), where=outside > 0)
    return np.where(outside > 0, sums / inside - rest, 0.0)
