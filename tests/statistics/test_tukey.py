"""The studentized range and Tukey's test against scipy, statsmodels' definition and Student's t."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rankproof._statistics.classical_tests import tukey_hsd
from rankproof._statistics.distributions import student_two_sided, studentized_range_above, studentized_range_quantile
from rankproof._statistics.paired import differences, paired_statistics, t_test_p
from support.examples import sampled


@pytest.mark.parametrize("groups", [2, 3, 10])
@pytest.mark.parametrize("freedom", sampled([1, 2, 5, 29, 196, 7000, math.inf], 3))
def test_the_studentized_range_equals_that_of_scipy(groups: int, freedom: float) -> None:
    for q in (0.05, 1.0, 3.3, 8.0):
        want = stats.studentized_range.sf(q, groups, freedom)
        assert studentized_range_above(q, groups, freedom) == pytest.approx(want, abs=1e-10)


@pytest.mark.parametrize("freedom", [1, 2, 4, 30, 1000, 100_000])
def test_the_range_of_two_variates_is_student_s_t(freedom: float) -> None:
    for q in (0.1, 1.0, 3.0, 8.0, 20.0):
        want = student_two_sided(q / math.sqrt(2), freedom)
        assert studentized_range_above(q, 2, freedom) == pytest.approx(want, rel=1e-10)


def test_a_range_of_at_least_0_is_certain_and_a_huge_one_impossible() -> None:
    assert studentized_range_above(0.0, 3, 10) == 1.0
    assert studentized_range_above(1000.0, 3, math.inf) == 0.0


def test_a_wider_range_and_fewer_systems_are_less_likely() -> None:
    found = [studentized_range_above(q, 4, 20) for q in np.linspace(0, 9, 60).tolist()]
    assert found == sorted(found, reverse=True)
    assert studentized_range_above(3.0, 3, 20) < studentized_range_above(3.0, 4, 20)


@pytest.mark.parametrize(("groups", "freedom"), [(2, 8), (5, 245), (10, 1000)])
def test_a_quantile_is_exceeded_with_the_rest_of_the_probability(groups: int, freedom: float) -> None:
    q = studentized_range_quantile(0.95, groups, freedom)
    assert q == pytest.approx(stats.studentized_range.ppf(0.95, groups, freedom), rel=1e-9)
    assert studentized_range_above(q, groups, freedom) == pytest.approx(0.05, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_rounding_is_no_variance_in_any_unit(unit: float) -> None:
    values = (np.random.default_rng(1).random((40, 1)) + np.array([0.1, 0.2, 0.7])) * unit
    assert tukey_hsd(values) is None
    assert tukey_hsd(values + np.random.default_rng(2).normal(0, 1e-3, (40, 3)) * unit) is not None


def test_one_way_is_the_test_of_scipy() -> None:
    values = np.random.default_rng(1).random((20, 4))
    found, want = tukey_hsd(values, by_query=False), stats.tukey_hsd(*values.T)
    assert found is not None
    assert found.p(0, 2) == pytest.approx(want.pvalue[0, 2], abs=1e-10)
    interval = want.confidence_interval(0.95)
    assert found.means[0] - found.means[2] - found.margin(0.95) == pytest.approx(interval.low[0, 2], abs=1e-9)


def test_with_queries_as_blocks_two_systems_have_the_paired_t_test() -> None:
    values = np.random.default_rng(2).random((30, 2))
    found = tukey_hsd(values)
    assert found is not None
    assert found.p(0, 1) == pytest.approx(t_test_p(paired_statistics(differences(values[:, 0], values[:, 1]))), rel=1e-10)


def test_the_difficulty_of_queries_changes_one_way_only() -> None:
    random = np.random.default_rng(3)
    values = random.random((30, 3)) * 0.1 + np.array([0, 0.05, 0.1])
    harder = values + random.random((30, 1))
    blocks, moved = tukey_hsd(values), tukey_hsd(harder)
    assert blocks is not None
    assert moved is not None
    assert moved.p(0, 2) == pytest.approx(blocks.p(0, 2), rel=1e-9)
    one_way = tukey_hsd(harder, by_query=False)
    assert one_way is not None
    assert one_way.p(0, 2) > 100 * moved.p(0, 2)


def test_systems_that_differ_by_the_same_amount_everywhere_have_no_variance() -> None:
    base = np.random.default_rng(4).random((10, 1))
    assert tukey_hsd(base + np.array([0.0, 0.1, 0.3])) is None
