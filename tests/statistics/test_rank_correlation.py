"""Kendall's tau, tau-AP and rank-biased overlap against their definitions, scipy and each other."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._statistics.rank_correlation import (
    Overlap,
    earlier_larger,
    kendall_tau,
    order_agreement,
    rank_biased_overlap,
    rank_biased_overlaps,
)
from support.examples import examples

TIED = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=30)
ORDERS = st.lists(st.integers(0, 40).flatmap(lambda n: st.permutations(range(n))), min_size=1, max_size=4)
RANKINGS = st.lists(st.integers(0, 14), unique=True, min_size=1, max_size=9)


def joined(orders: list[list[int]]) -> tuple[IntArray, IntArray]:
    return np.array([rank for order in orders for rank in order], np.int64), np.cumsum([0, *map(len, orders)])


def overlap(one: list[int], other: list[int], p: float) -> Overlap:
    depths = [max(one.index(doc), other.index(doc)) + 1 for doc in one if doc in other]
    lengths = np.array([len(one)]), np.array([len(other)])
    return rank_biased_overlaps(np.array(depths, np.int64), np.array([0, len(depths)]), *lengths, p)


def agreement_sum(one: list[int], other: list[int], p: float, depth: int = 900) -> float:
    """(1 - p) times the sum of p^(d - 1) times the overlap at depth d over d, of two long rankings."""
    total = 0.0
    for d in range(1, depth + 1):
        total += p ** (d - 1) * len({*one[:d]} & {*other[:d]}) / d
    return (1 - p) * total


@given(TIED)
@examples(80)
def test_tau_b_with_ties_equals_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    one, other = np.array(pairs, np.float64).T
    found, want = kendall_tau(one, other), stats.kendalltau(one, other, method="asymptotic")
    if math.isnan(want.statistic):
        assert math.isnan(found.tau)
        assert math.isnan(found.p)
        return
    assert found.tau == pytest.approx(want.statistic, abs=1e-12)
    if len({*one.tolist()}) < len(one) or len({*other.tolist()}) < len(other):
        assert found.p == pytest.approx(want.pvalue, abs=1e-12)


@pytest.mark.parametrize("n", [3, 8, 33, 100])
def test_tau_b_without_ties_has_the_exact_p_of_scipy(n: int) -> None:
    one, other = np.random.default_rng(n).random((2, n))
    found, want = kendall_tau(one, other), stats.kendalltau(one, other, method="exact")
    assert found.tau == pytest.approx(want.statistic, abs=1e-12)
    assert found.p == pytest.approx(want.pvalue, rel=1e-9)


@given(ORDERS)
@examples(60)
def test_earlier_larger_items_are_counted_in_each_list(orders: list[list[int]]) -> None:
    want = [sum(before > rank for before in order[:at]) for order in orders for at, rank in enumerate(order)]
    assert earlier_larger(*joined(orders)).tolist() == want


@given(ORDERS)
@examples(60)
def test_tau_of_orders_is_kendall_s_tau_and_tau_ap_its_definition(orders: list[list[int]]) -> None:
    found = order_agreement(*joined(orders))
    for order, tau, tau_ap in zip(orders, found.tau.tolist(), found.tau_ap.tolist(), strict=True):
        if len(order) < 2:
            assert math.isnan(tau)
            assert math.isnan(tau_ap)
            continue
        true = np.array(order, np.float64)
        assert tau == pytest.approx(kendall_tau(true, np.arange(len(order), dtype=np.float64)).tau, abs=1e-12)
        shares = [sum(above < order[at] for above in order[:at]) / at for at in range(1, len(order))]
        assert tau_ap == pytest.approx(2 * sum(shares) / (len(order) - 1) - 1, abs=1e-12)


def test_tau_ap_by_hand() -> None:
    # The estimate b, a, c of the true order a, b, c: of the item above a none is right, of those above c both are.
    found = order_agreement(np.array([1, 0, 2]), np.array([0, 3]))
    assert found.tau_ap[0] == pytest.approx(2 / 2 * (0 / 1 + 2 / 2) - 1)
    assert found.tau[0] == pytest.approx(1 / 3)


def test_a_swap_at_the_top_costs_more_tau_ap_than_one_at_the_bottom() -> None:
    top, bottom = [1, 0, 2, 3, 4], [0, 1, 2, 4, 3]
    found = order_agreement(*joined([top, bottom]))
    assert found.tau[0] == found.tau[1]
    assert found.tau_ap[0] < found.tau_ap[1]


def test_rank_biased_overlap_by_hand() -> None:
    # a b and b c: overlap 0 at depth 1, 1 at depth 2. Extrapolated: (1 - p) (0 + p / 2) + p^2 / 2 with p = 0.5.
    assert rank_biased_overlap("ab", "bc", 0.5) == pytest.approx(0.5 * (0.5 / 2) + 0.25 / 2)


@given(RANKINGS, RANKINGS, st.sampled_from([0.5, 0.8, 0.9]))
@examples(60)
def test_the_bounds_of_overlap_are_reached_by_the_worst_and_the_best_continuation(
    one: list[int], other: list[int], p: float
) -> None:
    found = overlap(one, other, p)
    apart = agreement_sum(one + list(range(1000, 1900)), other + list(range(2000, 2900)), p)
    assert float(found.least[0]) == pytest.approx(apart, abs=1e-9)
    # The best continuation lists what only the other ranking has, then the same documents.
    rest, others = [doc for doc in other if doc not in one], [doc for doc in one if doc not in other]
    alike = agreement_sum(one + rest + list(range(1000, 1900)), other + others + list(range(1000, 1900)), p)
    assert float(found.most[0]) >= alike - 1e-9
    assert float(found.least[0]) - 1e-12 <= float(found.extrapolated[0]) <= float(found.most[0])


@given(RANKINGS, RANKINGS)
@examples(40)
def test_overlap_is_symmetric_and_1_only_if_one_ranking_starts_with_the_other(one: list[int], other: list[int]) -> None:
    found = overlap(one, other, 0.9)
    assert float(found.extrapolated[0]) == pytest.approx(float(overlap(other, one, 0.9).extrapolated[0]), abs=1e-15)
    starts = one == other[: len(one)] or other == one[: len(other)]
    assert float(found.extrapolated[0]) == pytest.approx(1.0, abs=1e-12) if starts else float(found.extrapolated[0]) < 1 - 1e-9
    assert float(overlap(one, one, 0.9).extrapolated[0]) == 1.0
    if not {*one} & {*other}:
        assert float(found.extrapolated[0]) == 0


def test_many_pairs_have_the_overlap_that_each_has_alone() -> None:
    random = np.random.default_rng(0)
    pairs: list[tuple[list[int], list[int]]] = [
        (random.permutation(60)[:size].tolist(), random.permutation(60)[:length].tolist())
        for size, length in ((5, 5), (9, 30), (40, 8), (1, 1))
    ]
    each = [[max(one.index(doc), other.index(doc)) + 1 for doc in one if doc in other] for one, other in pairs]
    depths, offsets = joined(each)
    whole = rank_biased_overlaps(depths, offsets, *np.array([(len(one), len(other)) for one, other in pairs]).T)
    for at, (one, other) in enumerate(pairs):
        alone: tuple[FloatArray, ...] = overlap(one, other, 0.9)
        assert [float(part[at]) for part in whole] == pytest.approx([float(part[0]) for part in alone], abs=1e-14)


def test_an_empty_ranking_shares_nothing_and_nothing_is_known() -> None:
    found = overlap([], [1, 2], 0.9)
    assert [float(part[0]) for part in (found.extrapolated, found.least, found.most)] == [0, 0, 1]


@given(st.permutations(range(8)))
@examples(20)
def test_reversing_both_orders_changes_no_tau(order: list[int]) -> None:
    one, other = np.arange(8.0), np.array(order, np.float64)
    assert kendall_tau(-one, -other) == kendall_tau(one, other)
    swapped = sum((order[a] - order[b]) * (a - b) < 0 for a, b in combinations(range(8), 2))
    assert kendall_tau(one, other).tau == pytest.approx(1 - 4 * swapped / 56)
