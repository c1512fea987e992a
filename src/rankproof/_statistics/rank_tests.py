"""Tests by ranks and signs: Wilcoxon's signed-rank test, the sign test, and Friedman's test with Nemenyi's for each pair."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray, repeat_each
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
    doubled = repeat_each(2 * starts + lengths + 1, lengths)
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
    """Twice the share of sign flips whose positive ranks sum to at most the smaller of both sums, one rank after the other."""
    unit = int(np.gcd.reduce(ranks.doubled))
    least = round(ranks.doubled.sum() / 2 - abs(ranks.rank_sum)) // unit
    chances = np.zeros(least + 1)
    chances[0] = 1.0
    for rank in (ranks.doubled // unit).tolist():
        chances /= 2
        if rank <= least:
            chances[rank:] += chances[: least + 1 - rank].copy()
    return min(1.0, 2 * math.fsum(chances.tolist()))


def sign_test_p(apart: FloatArray) -> float:
    """Two-sided p of the sign test (Arbuthnot 1710): wins against losses; ties are left out."""
    return binomial_two_sided(int(np.count_nonzero(apart > 0)), int(np.count_nonzero(apart < 0)))


class Friedman(NamedTuple):
    """Friedman's test: chi-square, its degrees of freedom and p, the mean rank of each system with its standard error."""

    square: float
    freedom: int
    p: float
    mean_ranks: FloatArray
    error: float


def friedman_test(values: FloatArray) -> Friedman:
    """Friedman's test (1937) with Conover's correction for ties; a row for each query and a column for each system."""
    n, systems = values.shape
    ranks = ranks_within_rows(values)
    means = ranks.mean(axis=0)
    spread = math.fsum(np.square(ranks).ravel().tolist()) - n * systems * (systems + 1) ** 2 / 4
    if spread <= 0:
        return Friedman(0.0, systems - 1, 1.0, means, 0.0)
    square = (systems - 1) * n**2 * math.fsum(np.square(means - (systems + 1) / 2).tolist()) / spread
    return Friedman(square, systems - 1, chi_square_above(square, systems - 1), means, math.sqrt(spread / (systems - 1)) / n)


def nemenyi_p(friedman: Friedman, first: int, second: int) -> float:
    """p of two systems by Nemenyi's test (1963), corrected for all pairs: the studentized range of the mean ranks.

    The standard error is that of the observed ranks; without ties it is sqrt(k (k + 1) / (12 n)) for k systems, as in the paper.
    """
    apart = abs(float(friedman.mean_ranks[first] - friedman.mean_ranks[second]))
    return studentized_range_above(apart / friedman.error, len(friedman.mean_ranks), math.inf) if apart else 1.0


def ranks_within_rows(values: FloatArray) -> FloatArray:
    """The rank of each value in its row, the lowest first; values that differ by rounding have their mean rank."""
    slack = _TIE * float(np.abs(values).max(initial=0.0))
    ranks = np.empty(values.shape)
    for at in range(values.shape[1]):
        above = values[:, at : at + 1] - values
        ranks[:, at] = (above > slack).sum(axis=1) + ((np.abs(above) <= slack).sum(axis=1) + 1) / 2
    return ranks
