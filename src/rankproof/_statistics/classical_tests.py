"""Classical tests: Wilcoxon's signed-rank test, the sign test, Friedman's test with Nemenyi's for each pair, and Tukey's test."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray, repeat_each
from rankproof._statistics.distributions import (
    binomial_two_sided,
    chi_square_above,
    normal_below,
    studentized_range_above,
    studentized_range_quantile,
)

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


_NO_VARIANCE = 1e-24


class Tukey(NamedTuple):
    """Tukey's honestly significant difference: all pairs of systems by one variance of the residuals.

    `means` are those of the systems, `freedom` the degrees of freedom of the variance, and `n` the number of queries.
    """

    means: FloatArray
    variance: float
    freedom: int
    n: int

    @property
    def error(self) -> float:
        """The standard error of a mean."""
        return math.sqrt(self.variance / self.n)

    def p(self, first: int, second: int) -> float:
        """Two-sided p of two systems, corrected for all pairs."""
        distance = abs(float(self.means[first] - self.means[second]))
        return studentized_range_above(distance / self.error, len(self.means), self.freedom)

    def margin(self, level: float) -> float:
        """Half the width of the simultaneous intervals of all differences."""
        return studentized_range_quantile(level, len(self.means), self.freedom) * self.error


def tukey_hsd(values: FloatArray, *, by_query: bool = True) -> Tukey | None:
    """The test of a row for each query and a column for each system; None if there is no residual variance.

    `by_query` removes the mean of each query before the variance is computed: two-way analysis of variance without replication,
    as in a paired test. Without it the systems are taken for independent samples: one-way, as scipy's `tukey_hsd` computes it.
    """
    n, systems = values.shape
    means = np.array([math.fsum(column.tolist()) / n for column in values.T])
    residuals = values - means
    if by_query:
        residuals = residuals - residuals.mean(axis=1, keepdims=True)
    freedom = (n - 1) * (systems - 1) if by_query else systems * (n - 1)
    variance = math.fsum(np.square(residuals).ravel().tolist()) / freedom
    scale = float(np.abs(values).max(initial=0.0)) ** 2
    return Tukey(means, variance, freedom, n) if variance > _NO_VARIANCE * scale else None
