"""Student's t and the normal distribution against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from rankproof._statistics.distributions import (
    binomial_two_sided,
    chi_square_above,
    gamma_ratio,
    normal_below,
    normal_quantile,
    student_above,
    student_quantile,
    student_two_sided,
)

FREEDOMS = [1, 2, 3, 4, 9, 13, 29, 49, 124, 199, 200, 201, 224, 1000, 6979, 10**6]
NUMBERS = [*np.linspace(-9, 9, 73).tolist(), 1e-3, math.sqrt(12), math.sqrt(3), 20.0, 40.0]


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_student_equals_scipy_to_the_twelfth_digit(freedom: int) -> None:
    for t in NUMBERS:
        want = 2 * stats.t.sf(abs(t), freedom)
        assert student_two_sided(t, freedom) == pytest.approx(want, abs=1e-13, rel=0 if want > 1e-3 else 5e-11)
        assert student_above(t, freedom) == pytest.approx(stats.t.sf(t, freedom), abs=1e-13)


def test_student_of_one_degree_is_the_cauchy_distribution() -> None:
    for t in (1e-9, 0.5, 1.0, 7.0, 1e6):
        assert student_two_sided(t, 1) == pytest.approx(1 - 2 * math.atan(t) / math.pi, abs=1e-15)


def test_p_of_student_is_1_at_0_and_0_at_infinity() -> None:
    assert student_two_sided(1e200, 10) == 0.0
    assert student_two_sided(math.inf, 10) == 0.0
    assert student_two_sided(0.0, 10) == 1.0
    assert student_above(-math.inf, 10) == 1.0


def test_a_larger_t_is_never_more_likely() -> None:
    for freedom in FREEDOMS:
        found = [student_two_sided(t, freedom) for t in np.linspace(0, 8, 400).tolist()]
        assert found == sorted(found, reverse=True)


def test_the_normal_distribution_equals_that_of_scipy() -> None:
    for z in np.linspace(-8, 8, 65).tolist():
        assert normal_below(z) == pytest.approx(stats.norm.cdf(z), rel=1e-13)
    for share in (1e-9, 0.001, 0.025, 0.5, 0.8, 0.975, 1 - 1e-9):
        assert normal_quantile(share) == pytest.approx(stats.norm.ppf(share), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("freedom", [1, 2, 4, 9, 18, 100])
def test_quantiles_of_student_equal_those_of_scipy(freedom: int) -> None:
    for share in (0.6, 0.9, 0.975, 0.9995):
        assert student_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-11)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 10, 31, 100, 999])
def test_chi_square_equals_scipy_on_both_sides_of_its_mean(freedom: int) -> None:
    for share in (0.01, 0.3, 0.9, 0.999, 1.0, 1.001, 1.2, 2.0, 3.0, 5.0):
        square = share * (freedom + 2)
        want = stats.chi2.sf(square, freedom)
        assert chi_square_above(square, freedom) == pytest.approx(want, rel=1e-11, abs=1e-14)
    assert chi_square_above(0.0, freedom) == chi_square_above(-1.0, freedom) == 1.0


def test_a_split_of_wins_and_losses_equals_that_of_scipy() -> None:
    for wins, losses in ((0, 0), (1, 0), (1, 1), (5, 0), (3, 7), (50, 50), (40, 61), (300, 1)):
        want = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        assert binomial_two_sided(wins, losses) == binomial_two_sided(losses, wins) == pytest.approx(want, rel=1e-12)


def test_the_ratio_of_gammas_is_the_same_where_its_series_begins() -> None:
    for a in (0.5, 1.0, 99.0, 100.0, 100.5, 101.0, 1e3, 1e6):
        assert gamma_ratio(a) == pytest.approx(float(special.poch(a, 0.5)), rel=1e-12)
        assert gamma_ratio(a) * gamma_ratio(a + 0.5) == pytest.approx(a, rel=1e-13)
