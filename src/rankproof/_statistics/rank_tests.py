"""Tests by ranks and signs: Wilcoxon's signed-rank test, the sign test, and Friedman's test with Nemenyi's for each pair."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._statistics.distributions import binomial_two_sided, chi_square_above, normal_below
from rankproof._statistics.studentized_range import studentized_range_above

MAX_EXACT_RANKS = 200
"""With more differences than this, Wilcoxon's p is from the normal distribution."""
_TIE = 1e-10


class SignedRanks(NamedTuple):
    """The ranks of differences other than 0 by size, ties at their mean rank; doubled, so that they are integers."""

    doubled: IntArray
    rank_sum: float
    """The sum of the ranks of positive differences minus that of negative ones."""


def signed_ranks(apart: FloatArray) -> SignedRanks:
    """The signed ranks of differences; zeros are left out (Wilcoxon 1945), and sizes that differ by rounding are tied."""
    apart = apart[apart != 0]
    order = np.argsort(np.abs(apart), kind="stable")
    sizes = np.abs(apart)[order]
    is_first = np.diff(sizes, prepend=-math.inf) > _TIE * sizes.max(initial=0.0)
    starts = np.flatnonzero(is_first)
    lengths = np.diff(starts, append=len(sizes))
    doubled = np.repeat(2 * starts + lengths + 1, lengths)
    return SignedRanks(doubled, float((doubled * np.sign(apart[order])).sum() / 2))


def signed_rank_p(ranks: SignedRanks) -> float:
    """Two-sided p of Wilcoxon's signed-rank test (1945): the share of sign flips of the ranks with a sum at least as far from 0.

    Exact, also with ties, for at most 200 differences; else by the normal distribution with the variance of tied ranks, without
    a correction for continuity.
    """
    if not len(ranks.doubled):
        return 1.0
    if len(ranks.doubled) <= MAX_EXACT_RANKS:
        return _exact_p(ranks)
    return normal_signed_rank_p(ranks)


def normal_signed_rank_p(ranks: SignedRanks) -> float:
    """Two-sided p of the sum of signed ranks by the normal distribution; its variance is the sum of the squared ranks."""
    deviation = math.sqrt(float(np.square(ranks.doubled).sum())) / 2
    return min(1.0, 2 * normal_below(-abs(ranks.rank_sum) / deviation))


def _exact_p(ranks: SignedRanks) -> float:
    """The share of all sign flips, from the distribution of the sum of the positive ranks, one rank after the other."""
    total = int(ranks.doubled.sum())
    chances = np.zeros(total + 1)
    chances[0], reached = 1.0, 0
    for rank in ranks.doubled.tolist():
        chances[: reached + 1] /= 2
        chances[rank : reached + rank + 1] += chances[: reached + 1].copy()
        reached += rank
    # The smaller of both sums of ranks: at most this many, on either side.
    least = round((total - 2 * abs(ranks.rank_sum)) / 2)
    return min(1.0, 2 * math.fsum(chances[: least + 1].tolist()))


def sign_test_p(apart: FloatArray) -> float:
    """Two-sided p of the sign test (Arbuthnot 1710): wins against losses; ties are left out."""
    return binomial_two_sided(int(np.count_nonzero(apart > 0)), int(np.count_nonzero(apart < 0)))


class Friedman(NamedTuple):
    """Friedman's test: chi-square, its degrees of freedom and p, the mean rank of each system, and the number of queries."""

    square: float
    freedom: int
    p: float
    mean_ranks: FloatArray
    n: int


def friedman_test(values: FloatArray) -> Friedman:
    """Friedman's test (1937) with Conover's correction for ties; a row for each query and a column for each system."""
    n, systems = values.shape
    ranks = ranks_within_rows(values)
    means = ranks.mean(axis=0)
    spread = math.fsum(np.square(ranks).ravel().tolist()) - n * systems * (systems + 1) ** 2 / 4
    if spread <= 0:
        return Friedman(0.0, systems - 1, 1.0, means, n)
    square = (systems - 1) * n**2 * math.fsum(np.square(means - (systems + 1) / 2).tolist()) / spread
    return Friedman(square, systems - 1, chi_square_above(square, systems - 1), means, n)


def nemenyi_p(found: Friedman, one: int, other: int) -> float:
    """p of two systems by Nemenyi's test (1963), corrected for all pairs: the studentized range of the mean ranks."""
    systems = len(found.mean_ranks)
    error = math.sqrt(systems * (systems + 1) / (12 * found.n))
    return studentized_range_above(abs(found.mean_ranks[one] - found.mean_ranks[other]) / error, systems, math.inf)


def ranks_within_rows(values: FloatArray) -> FloatArray:
    """The rank of each value in its row, the lowest first; values that differ by rounding have their mean rank."""
    slack = _TIE * float(np.abs(values).max(initial=0.0))
    ranks = np.empty(values.shape)
    for at in range(values.shape[1]):
        above = values[:, at : at + 1] - values
        ranks[:, at] = (above > slack).sum(axis=1) + ((np.abs(above) <= slack).sum(axis=1) + 1) / 2
    return ranks
