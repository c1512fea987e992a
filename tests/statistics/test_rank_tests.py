"""Wilcoxon's signed-rank test, the sign test, and Friedman's and Nemenyi's tests against their definitions and scipy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankproof._data.arrays import FloatArray
from rankproof._statistics.classical_tests import (
    MAX_EXACT_RANKS,
    friedman_test,
    nemenyi_p,
    normal_signed_rank_p,
    ranks_within_rows,
    sign_test_p,
    signed_rank_p,
    signed_ranks,
)
from support.examples import examples

TENTHS = st.lists(st.integers(-5, 5).map(lambda tenth: tenth / 10), min_size=1, max_size=11).map(np.array)


def test_wilcoxon_by_hand() -> None:
    # Sizes .1, .2, .2, .4 have the ranks 1, 2.5, 2.5, 4; the negative one has 1. Two of 16 flips have a sum of at most 1.
    ranks = signed_ranks(np.array([0.2, -0.1, 0.0, 0.4, 0.2]))
    assert ranks.doubled.tolist() == [2, 5, 5, 8]
    assert ranks.rank_sum == 8.0
    assert signed_rank_p(ranks) == 2 * 2 / 16


@given(TENTHS)
@examples(60)
def test_wilcoxon_with_ties_is_the_share_of_all_sign_flips(apart: FloatArray) -> None:
    sizes = np.abs(apart[apart != 0])
    signs = np.array(list(product((-1, 1), repeat=len(sizes))))
    ranks = stats.rankdata(sizes.round(9))
    observed = abs(float((ranks * np.sign(apart[apart != 0])).sum()))
    share = float(np.mean(np.abs(signs @ ranks) >= observed - 1e-9)) if len(sizes) else 1.0
    assert signed_rank_p(signed_ranks(apart)) == pytest.approx(share, abs=1e-12)


@given(TENTHS)
@examples(40)
def test_no_order_sign_or_unit_of_the_differences_changes_a_p(apart: FloatArray) -> None:
    for changed in (apart[::-1], -apart, 7 * apart):
        assert signed_rank_p(signed_ranks(changed)) == signed_rank_p(signed_ranks(apart))
        assert sign_test_p(changed) == sign_test_p(apart)


def test_sizes_that_differ_by_rounding_are_tied() -> None:
    assert signed_ranks(np.array([0.3, 0.1 + 0.2, 1.0])).doubled.tolist() == [3, 3, 6]


@pytest.mark.parametrize("n", [6, 25, 50, MAX_EXACT_RANKS])
def test_wilcoxon_without_ties_equals_that_of_scipy(n: int) -> None:
    apart = np.random.default_rng(n).normal(0.1, 1, n)
    assert signed_rank_p(signed_ranks(apart)) == pytest.approx(stats.wilcoxon(apart, method="exact").pvalue, rel=1e-9)


def test_many_differences_have_the_normal_approximation_with_ties_of_scipy() -> None:
    apart = np.random.default_rng(7).integers(-6, 8, 500) / 10
    found = signed_rank_p(signed_ranks(apart))
    assert found == normal_signed_rank_p(signed_ranks(apart))
    assert found == pytest.approx(stats.wilcoxon(apart, method="asymptotic").pvalue, rel=1e-9)


def test_exact_and_normal_p_meet_where_the_test_changes_its_method() -> None:
    apart = np.random.default_rng(8).normal(0.14, 1, MAX_EXACT_RANKS)
    ranks = signed_ranks(apart)
    assert signed_rank_p(ranks) == pytest.approx(normal_signed_rank_p(ranks), rel=0.02)


def test_the_sign_test_by_hand() -> None:
    # Five wins, one loss, two ties: 2 (1 + 6) / 64.
    assert sign_test_p(np.array([1, 1, 1, 1, 1, -1, 0, 0.0])) == 14 / 64
    assert sign_test_p(np.zeros(5)) == 1.0


@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (5, 5), (10, 3), (300, 250), (4000, 3500)])
def test_the_sign_test_is_that_of_scipy(wins: int, losses: int) -> None:
    apart = np.repeat([1.0, -1.0], [wins, losses])
    assert sign_test_p(apart) == pytest.approx(stats.binomtest(wins, wins + losses).pvalue, rel=1e-11)


@pytest.mark.parametrize(("n", "systems"), [(10, 3), (40, 5), (200, 10)])
def test_friedman_with_ties_equals_that_of_scipy(n: int, systems: int) -> None:
    values = np.random.default_rng(n).random((n, systems)).round(1)
    found, want = friedman_test(values), stats.friedmanchisquare(*values.T)
    assert found.square == pytest.approx(want.statistic, rel=1e-11)
    assert found.p == pytest.approx(want.pvalue, rel=1e-10)


def test_friedman_and_nemenyi_by_hand() -> None:
    # The third system is first on every query, the first and the second share the other ranks: mean ranks 1.5, 1.5, 3.
    values = np.array([[0.1, 0.2, 0.9], [0.2, 0.1, 0.8]] * 5)
    found = friedman_test(values)
    assert found.mean_ranks.tolist() == [1.5, 1.5, 3.0]
    assert found.square == pytest.approx(12 * 10 / (3 * 4) * (0.25 + 0.25 + 1))
    assert nemenyi_p(found, 0, 1) == 1.0
    want = stats.studentized_range.sf(1.5 / np.sqrt(3 * 4 / (6 * 10)) * np.sqrt(2), 3, np.inf)
    assert nemenyi_p(found, 0, 2) == pytest.approx(want, abs=1e-10)


def test_systems_with_the_same_values_have_no_friedman_statistic() -> None:
    found = friedman_test(np.repeat(np.random.default_rng(0).random((12, 1)), 3, axis=1))
    assert (found.square, found.p) == (0.0, 1.0)


def test_ranks_within_rows_have_ties_at_their_mean() -> None:
    assert ranks_within_rows(np.array([[0.3, 0.1 + 0.2, 0.1], [1, 2, 3]])).tolist() == [[2.5, 2.5, 1.0], [1.0, 2.0, 3.0]]
