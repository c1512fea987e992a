"""Permutation tests by sign flips and by labels, and the smallest p that they can give."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._statistics.deterministic import ExactSum, products, random_words, stream_key, to_exact_sum
from rankproof._statistics.distributions import normal_below
from rankproof._statistics.paired import Kernel, best_kernel, differences

# All 2^14 = 16,384 flips cost less than the 100,000 that are sampled by default.
MAX_EXACT_QUERIES = 14
MAX_SAMPLED_QUERIES = 20_000
"""With more queries than this, p is from the expansion of the distribution of the sum, which is more accurate than sampling."""
_WORD = 64
_ROUNDING = 1e-12
# A block of sums takes 32 kB per system in C; numpy also holds the signs of all queries, so its blocks are smaller.
_BLOCK = {"native": 1 << 12, "numpy": 1 << 10}
_FLIP_CELLS = 1 << 22


def randomisation_p(
    values: FloatArray, samples: int, seed: int, kernel: Kernel | None = None, wanted: BoolArray | None = None
) -> FloatArray:
    """Two-sided p for each pair of columns, or for the wanted ones alone, by the absolute mean difference.

    `wanted` is symmetric; other pairs have p = 1. Exact over all 2^n sign flips for n <= 14; else (1 + hits) / (1 + samples),
    which is valid and never 0. A flip whose sum is the observed one up to rounding is a hit. For n > 20,000 see `expanded_p`.
    """
    pairs = np.ones((values.shape[1],) * 2, np.bool_) if wanted is None else wanted
    if len(values) > MAX_SAMPLED_QUERIES:
        return _many_queries_p(values, samples, seed, kernel, pairs)
    return np.where(pairs, _flipped_p(values, samples, seed, kernel, pairs), 1.0)


def _flipped_p(values: FloatArray, samples: int, seed: int, kernel: Kernel | None, pairs: BoolArray) -> FloatArray:
    # Only differences of columns count, and they stay the same if one column is subtracted from all.
    numbers = to_exact_sum(values, values[:, :1])
    kernel = kernel or best_kernel()
    if len(values) <= MAX_EXACT_QUERIES:
        return _extreme_counts(numbers, all_signed_sums(numbers), pairs, kernel) / float(2 ** len(values))
    hits = np.zeros((values.shape[1],) * 2, np.int64)
    # numpy holds a row of signs for each flip of a block, the extension a single sum.
    block = min(_BLOCK[kernel], max(1, _FLIP_CELLS // len(values)) if kernel == "numpy" else samples)
    for first in range(0, samples, block):
        sums = signed_sums(numbers.numbers, seed, first, min(block, samples - first), kernel)
        hits += _extreme_counts(numbers, sums, pairs, kernel)
    # The observed values are one of the flips (Davison and Hinkley 1997): without the 1, p could be 0 and the test invalid.
    return (1 + hits) / (1 + samples)


def _many_queries_p(values: FloatArray, samples: int, seed: int, kernel: Kernel | None, pairs: BoolArray) -> FloatArray:
    """p of these pairs by the expansion, or by flips where few queries differ or a few of them dominate the sum."""
    systems = values.shape[1]
    p = np.ones((systems, systems))
    for first in range(systems):
        for second in np.flatnonzero(pairs[first, :first]).tolist():
            apart = differences(values[:, first], values[:, second])
            # The flip of a difference of 0 changes no sum.
            apart = apart[apart != 0]
            if len(apart) <= MAX_SAMPLED_QUERIES or _is_dominated(apart):
                # A column of zeros beside the differences makes the pair a table of two systems, as the flips expect.
                both = np.column_stack([np.zeros(len(apart)), apart])
                p[first, second] = _flipped_p(both, samples, seed, kernel, _BOTH)[0, 1] if len(apart) else 1.0
            else:
                p[first, second] = max(expanded_p(apart), 1 / (1 + samples))
            p[second, first] = p[first, second]
    return p


_DOMINANCE = 1_000
_BOTH = np.ones((2, 2), np.bool_)


def _is_dominated(apart: FloatArray) -> bool:
    """Whether the sum of fourth powers is that of fewer than a thousand equal differences."""
    squares = np.square(apart)
    return bool(squares.sum() ** 2 < _DOMINANCE * np.square(squares).sum())


def expanded_p(apart: FloatArray) -> float:
    """Two-sided p of the sign-flip test by the Edgeworth expansion to the fourth cumulant; the third is 0, by symmetry.

    Differences that are all multiples of a step (P@10, Success@5) give sums two steps apart: the sum is then corrected for
    continuity, and its cumulants by Sheppard's corrections (Kolassa and McCullagh 1990).
    """
    step, squares = _common_step(np.abs(apart)), np.square(apart)
    variance = math.fsum(squares.tolist()) - step**2 / 3
    kurtosis = (2 * step**4 / 15 - 2 * math.fsum(np.square(squares).tolist())) / variance**2
    z = (abs(math.fsum(apart.tolist())) - step) / math.sqrt(variance)
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    above = normal_below(-z) + density * kurtosis / 24 * (z**3 - 3 * z)
    return min(1.0, max(0.0, 2 * above))


_STEP_TOLERANCE, _FINE_STEP, _STEP_VALUES = 1e-9, 1e-3, 1_000


def _common_step(sizes: FloatArray) -> float:
    """The largest number that all sizes are multiples of, up to rounding; 0 where it is so small that it does not matter."""
    largest = float(sizes.max())
    step = 0.0
    for size in np.unique(sizes[:_STEP_VALUES]).tolist():
        while size > _STEP_TOLERANCE * largest:
            step, size = size, step % size
            if size > step - _STEP_TOLERANCE * largest:
                size = 0.0
        if step < _FINE_STEP * largest:
            return 0.0
    multiples = sizes / step
    return step if float(np.abs(multiples - np.rint(multiples)).max()) < 1e-6 else 0.0


def signed_sums(numbers: IntArray, seed: int, first: int, count: int, kernel: Kernel) -> IntArray:
    """The sums of each column, a row each, under the sign flips from `first` on; bit q of a flip keeps the sign of query q."""
    key = stream_key(seed, "flips")
    if kernel == "native":
        from rankproof._native import permutation

        sums = permutation.sums(np.ascontiguousarray(numbers), numbers.shape[1], key, first, count)
        return np.frombuffer(sums, np.int64).reshape(-1, count)
    per_flip = -(-len(numbers) // _WORD)
    # Little-endian on every machine, so that bit q belongs to query q.
    bits = random_words(key, first * per_flip, count * per_flip).astype("<u8").view(np.uint8).reshape(count, -1)
    return _signed(np.unpackbits(bits, axis=1, count=len(numbers), bitorder="little").astype(np.float64), numbers)


def all_signed_sums(numbers: ExactSum) -> IntArray:
    """The sums of each column, a row each, under all 2^n sign flips."""
    queries = np.arange(len(numbers.numbers))
    kept = (np.arange(2 ** len(queries))[:, None] >> queries) & 1
    return _signed(kept.astype(np.float64), numbers.numbers)


def _signed(kept: FloatArray, numbers: IntArray) -> IntArray:
    """The sum of the kept values minus that of the flipped ones, a row for each column."""
    return np.ascontiguousarray((2 * products(kept, numbers) - numbers.sum(axis=0)).T)


def _extreme_counts(numbers: ExactSum, sums: IntArray, pairs: BoolArray, kernel: Kernel) -> IntArray:
    """For each of these pairs of columns, the number of flips with a difference at least as large as the observed one."""
    observed = numbers.numbers.sum(axis=0)
    first, second = np.nonzero(np.tril(pairs, -1))
    least = np.abs(observed[first] - observed[second]) - numbers.rounding_slack
    hits = np.diag(np.full(len(observed), sums.shape[1], np.int64))
    hits[first, second] = hits[second, first] = _count_far(sums, first, second, least, kernel)
    return hits


def _count_far(columns: IntArray, first: IntArray, second: IntArray, least: IntArray, kernel: Kernel) -> IntArray:
    """For each pair of columns, how many of their values are at least so far apart."""
    if kernel == "native":
        from rankproof._native import permutation

        pairs = np.ascontiguousarray(np.stack([first, second, least], axis=1))
        return np.frombuffer(permutation.count_far(columns, columns.shape[1], pairs), np.int64)
    cases = zip(first.tolist(), second.tolist(), least.tolist(), strict=True)
    return np.array([np.count_nonzero(np.abs(columns[a] - columns[b]) >= limit) for a, b, limit in cases], np.int64)


_LABEL_CELLS = 1 << 21


def label_p(values: FloatArray, sizes: Sequence[int], *, samples: int, seed: int) -> FloatArray:
    """Two-sided p of the difference between each segment and the rest, for each column: (1 + hits) / (1 + samples).

    Rows are queries, those of the first segment first, then those of the second, and so on; `sizes` are those of the segments. A
    permutation whose difference equals the observed one up to rounding is a hit.
    """
    numbers = to_exact_sum(values)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
    expected = _expected_sums(numbers.numbers, sizes)
    # The difference of a segment's mean and that of the rest grows with the distance of its sum from its expected sum.
    least = np.abs(_sums(numbers.numbers[None], starts) - expected)[0] - numbers.rounding_slack - 1
    hits = np.zeros(least.shape, np.int64)
    block = max(1, _LABEL_CELLS // values.size)
    for first in range(0, samples, block):
        permuted = numbers.numbers[_label_permutations(len(values), seed, first, min(block, samples - first))]
        hits += (np.abs(_sums(permuted, starts) - expected) >= least).sum(axis=0)
    return np.asarray((1 + hits) / (1 + samples))


def group_label_p(
    values: FloatArray,
    segments: Sequence[BoolArray],
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
    *,
    samples: int,
    seed: int,
) -> FloatArray:
    """Two-sided p of the difference between each segment and the rest, for each column, by permutations of groups of queries.

    Each segment marks its queries. A permutation gives each group the share of another group in the segment; the part of a group
    that is apart from its own mean turns its sign, so that a segment may hold some queries of a group. Without groups the
    weighted queries are permuted.
    """
    places = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    own = np.ones(len(values)) if weights is None else np.asarray(weights)
    sizes, sums = _sums_by_group(own[:, None], places)[:, 0], _sums_by_group(values * own[:, None], places)
    apart = (values - (sums / sizes[:, None])[places]) * own[:, None]
    return np.array([_segment_p(sizes, sums, *_shares(inside, own, places, sizes, apart), samples, seed) for inside in segments])


def _sums_by_group(values: FloatArray, places: IntArray) -> FloatArray:
    return np.column_stack([np.bincount(places, column) for column in values.T]).astype(np.float64)


def _shares(
    inside: BoolArray, own: FloatArray, places: IntArray, sizes: FloatArray, apart: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The share of each group that is in the segment, and how far the sum of these queries is from this share of the group."""
    return _sums_by_group((own * inside)[:, None], places)[:, 0] / sizes, _sums_by_group(apart * inside[:, None], places)


def _segment_p(sizes: FloatArray, sums: FloatArray, shares: FloatArray, apart: FloatArray, samples: int, seed: int) -> FloatArray:
    """The p of one segment: the share of permutations with at least its difference, the observed one among them."""
    whole, total = sums.sum(axis=0), sizes.sum()

    def differences_of(permuted: FloatArray, signs: FloatArray) -> FloatArray:
        size, inner = (permuted @ sizes)[:, None], permuted @ sums + signs @ apart
        return np.asarray(np.abs(inner / size - (whole - inner) / (total - size)))

    observed = differences_of(shares[None], np.ones((1, len(sizes))))[0]
    least = observed - _ROUNDING * np.maximum(np.abs(sums).max(axis=0) / sizes.min(), observed)
    hits, block = np.zeros(sums.shape[1], np.int64), max(1, _LABEL_CELLS // len(sizes))
    for first in range(0, samples, block):
        count = min(block, samples - first)
        bits = random_words(stream_key(seed, "flips"), first * len(sizes), count * len(sizes)).reshape(count, -1)
        signs = np.where(bits >> np.uint64(_WORD - 1), 1.0, -1.0)
        hits += (differences_of(shares[_label_permutations(len(sizes), seed, first, count)], signs) >= least).sum(axis=0)
    return np.asarray((1 + hits) / (1 + samples))


def _label_permutations(n: int, seed: int, first: int, count: int) -> IntArray:
    """The permutations from `first` on, a row each: the argsort of random words."""
    # Sorting random words needs no state between blocks, so a block can be drawn alone; ties of 64-bit words do not matter.
    drawn = random_words(stream_key(seed, "labels"), first * n, count * n).reshape(count, n)
    return np.argsort(drawn, axis=1, kind="stable")


def _expected_sums(numbers: IntArray, sizes: Sequence[int]) -> IntArray:
    """The expected sum of each segment if all queries were alike, a row each, rounded to an integer."""
    n = len(numbers)
    totals = [int(total) for total in numbers.sum(axis=0)]
    return np.array([[(2 * size * total + n) // (2 * n) for total in totals] for size in sizes], np.int64)


def _sums(permuted: IntArray, starts: IntArray) -> IntArray:
    return np.asarray(np.add.reduceat(permuted, starts, axis=1))


def smallest_p(n: int, samples: int) -> float:
    """The smallest p of the sign-flip test on n queries."""
    # Two flips, all signs kept and all turned, have the largest difference: 2 / 2^n.
    exact = 2.0 ** (1 - n)
    return exact if n <= MAX_EXACT_QUERIES else max(1 / (1 + samples), exact)


def smallest_label_p(n: int, size: int, samples: int) -> float:
    """The smallest p of the label permutation test, for a segment of that size among n queries."""
    return max(1 / (1 + samples), 1 / math.comb(n, size))


def fewest_queries(level: float) -> int:
    """The number of queries that the sign-flip test needs to reach a p of the level."""
    # The n with 2 / 2^n at the level.
    return math.ceil(1 - math.log2(level))


def why_not_significant(least: float, level: float, n: int | None = None) -> str | None:
    """Why no p can reach the level that one of many tests may need, and what would help; None if one can."""
    if least <= level:
        return None
    fix = f"samples: at least {math.ceil(1 / level) - 1:,}"
    if n is not None and n < fewest_queries(level):
        fix = f"queries: at least {fewest_queries(level)}"
    return f"the smallest p of this test is {least:.2g}, and one test may need {level:.2g}; use more {fix}"
