"""Agreement of two orders: Kendall's tau-b, tau-AP, and rank-biased overlap with its bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankproof._data.arrays import BoolArray, FloatArray, IntArray, list_places, repeat_each
from rankproof._statistics.distributions import normal_below
from rankproof._statistics.options import PERSISTENCE

_MAX_EXACT_ITEMS = 100


class Kendall(NamedTuple):
    """Kendall's tau-b with its two-sided p; NaN if one side has all values equal."""

    tau: float
    p: float


def kendall_tau(first: FloatArray, second: FloatArray) -> Kendall:
    """Kendall's tau-b (1945) of two lists of values: (concordant - discordant) / sqrt(pairs not tied in one x in the other).

    p is exact without ties for up to 100 items, else by the normal distribution with the variance of tied values (Kendall 1970).
    """
    n = len(first)
    pairs = n * (n - 1) // 2
    score = first_ties = second_ties = 0
    for at in range(n - 1):
        first_signs, second_signs = np.sign(first[at + 1 :] - first[at]), np.sign(second[at + 1 :] - second[at])
        score += int((first_signs * second_signs).sum())
        first_ties += int(np.count_nonzero(first_signs == 0))
        second_ties += int(np.count_nonzero(second_signs == 0))
    untied = (pairs - first_ties) * (pairs - second_ties)
    if not untied:
        return Kendall(math.nan, math.nan)
    tau = max(-1.0, min(1.0, score / math.sqrt(untied)))
    if not first_ties and not second_ties and n <= _MAX_EXACT_ITEMS:
        return Kendall(tau, _exact_p((pairs - abs(score)) // 2, n))
    deviation = math.sqrt(_score_variance(first, second))
    return Kendall(tau, 2 * normal_below(-abs(score) / deviation))


def _exact_p(discordant: int, n: int) -> float:
    """Twice the share of permutations of n items with at most so many inversions, counted exactly."""
    counts = [1] + [0] * discordant
    for items in range(2, n + 1):
        sums = [0]
        for count in counts:
            sums.append(sums[-1] + count)
        counts = [sums[at + 1] - sums[max(0, at + 1 - items)] for at in range(discordant + 1)]
    return min(1.0, 2 * sum(counts) / math.factorial(n))


def _score_variance(first: FloatArray, second: FloatArray) -> float:
    """The variance of concordant minus discordant pairs, with ties (Kendall 1970, equation 4.3)."""
    n = len(first)
    sizes = [np.unique(values, return_counts=True)[1].astype(np.float64) for values in (first, second)]
    products = [[float(np.sum(_falling(size, power))) for power in (2, 3)] for size in sizes]
    fives = [float(np.sum(size * (size - 1) * (2 * size + 5))) for size in sizes]
    variance = (n * (n - 1) * (2 * n + 5) - sum(fives)) / 18
    variance += products[0][0] * products[1][0] / (2 * n * (n - 1))
    return variance + (products[0][1] * products[1][1] / (9 * n * (n - 1) * (n - 2)) if n > 2 else 0.0)


def _falling(size: FloatArray, power: int) -> FloatArray:
    """size (size - 1), times (size - 2) for the third power."""
    return size * (size - 1) if power == 2 else size * (size - 1) * (size - 2)


def earlier_larger(ranks: IntArray, offsets: IntArray) -> IntArray:
    """For each item of several lists, the number of earlier items of its list with a larger rank.

    The ranks of the list from offsets[i] to offsets[i + 1] are 0 to its length - 1, in any order. The items of a list, ordered by
    rank, are split by the bits of their place, the highest bit first: a place in the upper half has behind it, in this order, the
    places of the lower half that have a larger rank.
    """
    lengths = np.diff(offsets)
    start = repeat_each(offsets[:-1], lengths)
    size = repeat_each(lengths, lengths)
    flat = np.arange(len(ranks))
    place = np.empty(len(ranks), np.int64)
    place[start + ranks] = flat - start
    counts = np.zeros(len(ranks), np.int64)
    for bit in range(int(lengths.max(initial=0)).bit_length() - 1, -1, -1):
        lower = (place >> bit + 1) << bit + 1
        first = start + lower
        is_right = (place >> bit & 1).astype(bool)
        before = np.concatenate(([0], np.cumsum(~is_right)))
        lefts_before = before[flat] - before[first]
        lefts = np.minimum(size - lower, 1 << bit)
        counts[start[is_right] + place[is_right]] += (lefts - lefts_before)[is_right]
        target = np.where(is_right, flat + lefts - lefts_before, first + lefts_before)
        moved = np.empty_like(place)
        moved[target] = place
        place = moved
    return counts


class OrderAgreement(NamedTuple):
    """Kendall's tau and tau-AP of each pair of orders; NaN with fewer than two items."""

    tau: FloatArray
    tau_ap: FloatArray


def order_agreement(ranks: IntArray, offsets: IntArray) -> OrderAgreement:
    """Agreement of orders without ties: `ranks` are those in the true order (from 0), listed in the estimated order.

    tau-AP (Yilmaz, Aslam and Robertson 2008) is 2 / (n - 1) times the sum over the items after the first of the share of items
    above them, in the estimated order, that are also above them in the true order, minus 1.
    """
    lengths, before = np.diff(offsets), earlier_larger(ranks, offsets)
    place = list_places(lengths)
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = 1 - 4 * list_sums(before, offsets) / (lengths * (lengths - 1))
        tau_ap = 1 - 2 * list_sums(before / np.maximum(place, 1), offsets) / (lengths - 1)
    few = lengths < 2
    return OrderAgreement(np.where(few, np.nan, tau), np.where(few, np.nan, tau_ap))


class Overlap(NamedTuple):
    """Rank-biased overlap of each pair of rankings: extrapolated, the least possible one, and how much larger it can be."""

    extrapolated: FloatArray
    least: FloatArray
    residual: FloatArray

    @property
    def most(self) -> FloatArray:
        """The largest possible overlap of the whole rankings; never below the extrapolated one."""
        return np.maximum(self.extrapolated, self.least + self.residual)


def rank_biased_overlaps(
    depths: IntArray, offsets: IntArray, first_lengths: IntArray, second_lengths: IntArray, p: float = PERSISTENCE
) -> Overlap:
    """Rank-biased overlap of many pairs of rankings (Webber, Moffat and Zobel 2010).

    `depths` has the larger rank of each document that both rankings of a pair have, those of pair i from offsets[i] to
    offsets[i + 1]; `first_lengths` and `second_lengths` are the lengths of the rankings. Extrapolated: equation 32. Least:
    equation 11 with the overlap at the end of the longer ranking. Residual: equation 30. Each sum over depths of
    overlap x p^d / d is a sum over documents, with the sums of p^d / d in a table. A pair with an empty ranking has the
    overlap 0, and nothing is known of it.
    """
    short, long, counts = np.minimum(first_lengths, second_lengths), np.maximum(first_lengths, second_lengths), np.diff(offsets)
    table, tail = _harmonic(p, int(long.max(initial=0) + short.max(initial=0))), -math.log1p(-p)
    at_short = list_sums(depths <= repeat_each(short, counts), offsets)
    above = list_sums(table[depths - 1], offsets)
    seen, least = counts * table[long] - above, (counts * tail - above) * (1 - p) / p
    with np.errstate(divide="ignore", invalid="ignore"):
        power_short, power_long = p ** short.astype(np.float64), p ** long.astype(np.float64)
        beyond = at_short * ((power_short - power_long) * p / (1 - p) / short - (table[long] - table[short]))
        extrapolated = (1 - p) / p * (seen + beyond) + ((counts - at_short) / long + at_short / short) * power_long
    end = long + short - counts
    sums = short * (table[end] - table[short]) + long * (table[end] - table[long]) + counts * (tail - table[end])
    residual = power_short + power_long - p ** end.astype(np.float64) - (1 - p) / p * sums
    empty = short == 0
    extrapolated = np.where(_are_equal(depths, offsets, short, long), 1.0, np.where(empty, 0.0, extrapolated))
    return Overlap(extrapolated, np.where(empty, 0.0, least), np.where(empty, 1.0, residual))


def _are_equal(depths: IntArray, offsets: IntArray, short: IntArray, long: IntArray) -> BoolArray:
    """Whether both rankings of a pair are the same, which have the overlap 1 without rounding."""
    counts = np.diff(offsets)
    same_length: BoolArray = (counts == short) & (counts == long) & (counts > 0)
    return same_length & (list_sums(depths, offsets) == long * (long + 1) // 2) if same_length.any() else same_length


def list_sums(values: FloatArray | IntArray | BoolArray, offsets: IntArray) -> FloatArray:
    """The sum of the values of each list, 0 for an empty one."""
    sums = np.add.reduceat(np.append(values, 0.0), offsets[:-1]) if len(offsets) > 1 else np.zeros(0)
    return np.where(np.diff(offsets) > 0, sums, 0.0)


def _harmonic(p: float, depth: int) -> FloatArray:
    """The sums of p^d / d for d from 1 to each depth."""
    depths = np.arange(1, depth + 1)
    return np.concatenate(([0.0], np.cumsum(p**depths / depths)))


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], p: float = PERSISTENCE) -> float:
    """Extrapolated rank-biased overlap of two rankings: 1 for equal, 0 for disjoint ones; an empty one shares nothing."""
    return float(overlap_of_two(first, second, p).extrapolated[0])


def overlap_of_two(first: Sequence[str], second: Sequence[str], p: float = PERSISTENCE) -> Overlap:
    """Rank-biased overlap of two rankings with its bounds."""
    ranks = {doc: rank for rank, doc in enumerate(first, start=1)}
    depths = np.array([max(ranks[doc], rank) for rank, doc in enumerate(second, start=1) if doc in ranks], np.int64)
    return rank_biased_overlaps(depths, np.array([0, len(depths)]), np.array([len(first)]), np.array([len(second)]), p)
