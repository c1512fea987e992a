"""Draws of the means of systems, and weighted means."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from scipy import stats

from rankproof._data.arrays import FloatArray
from rankproof._statistics.deterministic import VariateStream, log
from rankproof._statistics.means import degrees_of_freedom, draw_means, effective_size, influence, weighted_mean


def sample(n: int, systems: int, seed: int = 0) -> FloatArray:
    random = np.random.default_rng(seed)
    return np.clip(random.random((n, 1)) * 0.7 + random.normal(0, 0.2, (n, systems)), 0, 1)


def test_draws_have_the_moments_of_the_multivariate_t() -> None:
    values = sample(40, 3)
    draws = draw_means(values, draws=200_000)
    np.testing.assert_allclose(draws.mean(axis=0), values.mean(axis=0), atol=5e-4)
    np.testing.assert_allclose(np.cov(draws.T), np.cov(values.T) / 40 * 39 / 37, rtol=0.03)


@pytest.mark.parametrize("n", [2, 3, 4, 12, 400])
def test_differences_of_draws_have_the_distribution_of_the_paired_t_test(n: int) -> None:
    values = sample(n, 2, seed=n)
    draws, apart = draw_means(values, draws=50_000), values[:, 0] - values[:, 1]
    t = (draws[:, 0] - draws[:, 1] - apart.mean()) / stats.sem(apart)
    assert stats.kstest(t, stats.t(n - 1).cdf).pvalue > 0.001


def test_a_further_query_adds_to_the_variance_of_each_system() -> None:
    values = sample(40, 3)
    expected = (np.cov(values.T) + 0.3 / 80 * np.eye(3)) / 40 * 39 / 37
    np.testing.assert_allclose(np.cov(draw_means(values, draws=200_000, further=0.3).T), expected, rtol=0.03)


def test_identical_systems_have_identical_draws_without_a_further_query() -> None:
    values = sample(25, 3)
    draws = draw_means(np.column_stack([values, values[:, 1], values[:, 0]]), draws=1_000)
    assert np.array_equal(draws[:, 3], draws[:, 1])
    assert np.array_equal(draws[:, 4], draws[:, 0])


def test_a_system_that_is_the_mean_of_two_others_stays_so_in_every_draw() -> None:
    values = sample(25, 2)
    draws = draw_means(np.column_stack([values, values.mean(axis=1)]), draws=1_000)
    np.testing.assert_allclose(draws[:, 2], draws[:, :2].mean(axis=1), atol=1e-9)


def test_more_systems_than_queries_are_allowed() -> None:
    values = sample(5, 12)
    draws = draw_means(values, draws=50_000)
    np.testing.assert_allclose(np.median(draws, axis=0), values.mean(axis=0), atol=0.005)


def test_values_without_variance_are_drawn_as_they_are() -> None:
    assert np.array_equal(draw_means(np.full((10, 2), 0.25), draws=100), np.full((100, 2), 0.25))


def test_one_system_has_the_t_distribution() -> None:
    values = sample(6, 1)
    draws = draw_means(values, draws=50_000)[:, 0]
    t = (draws - values.mean()) / float(stats.sem(values[:, 0]))
    assert stats.kstest(t, stats.t(5).cdf).pvalue > 0.001


def test_the_seed_determines_every_bit() -> None:
    values = (np.arange(60.0).reshape(20, 3) * 37 % 11) / 16
    draws = draw_means(values, draws=1_000)
    assert np.array_equal(draws, draw_means(values, draws=1_000))
    assert not np.array_equal(draws, draw_means(values, draws=1_000, seed=1))
    assert hashlib.sha256(draws.astype("<f8").tobytes()).hexdigest()[:16] == "5f43664867cb889a"


def test_equal_weights_change_nothing_but_rounding() -> None:
    values = sample(30, 3)
    weighted = draw_means(values, np.full(30, 2.5), draws=1_000)
    np.testing.assert_allclose(weighted, draw_means(values, draws=1_000), atol=1e-9)


def test_weighted_draws_have_the_weighted_mean_and_its_linearised_variance() -> None:
    values, weights = sample(40, 2), np.random.default_rng(1).exponential(1, 40) + 0.1
    draws = draw_means(values, weights, draws=200_000)
    means = np.average(values, axis=0, weights=weights)
    pulls = weights[:, None] * (values - means) / weights.sum()
    freedom = effective_size(40, weights) - 1
    np.testing.assert_allclose(draws.mean(axis=0), means, atol=1e-3)
    np.testing.assert_allclose(np.cov(draws.T), pulls.T @ pulls * 40 / 39 * freedom / (freedom - 2), rtol=0.03)


def test_the_unit_of_the_weights_does_not_matter() -> None:
    values, weights = sample(15, 2), np.arange(1.0, 16.0)
    np.testing.assert_allclose(draw_means(values, weights, 500), draw_means(values, 1000 * weights, 500), atol=1e-9)


def test_a_weighted_mean_equals_the_mean_over_repeated_queries() -> None:
    values = np.array([0.2, 0.9, 0.4])
    assert weighted_mean(values, np.array([1.0, 2.0, 1.0])) == pytest.approx(np.mean([0.2, 0.9, 0.9, 0.4]), abs=1e-15)


def test_influences_add_up_to_nothing() -> None:
    values, weights = sample(20, 1)[:, 0], np.arange(1.0, 21.0)
    assert influence(values, weighted_mean(values, weights), weights).sum() == pytest.approx(0, abs=1e-12)


def test_the_effective_size_is_that_of_kish() -> None:
    assert effective_size(4) == effective_size(4, np.full(4, 3.0)) == 4
    assert effective_size(3, np.array([2.0, 1.0, 1.0])) == pytest.approx(16 / 6)
    assert degrees_of_freedom(3, np.array([100.0, 1.0, 1.0])) == 1


def test_normal_variates_are_normal() -> None:
    normals = VariateStream(0, "normals").normals(200_000)
    assert stats.kstest(normals, stats.norm.cdf).pvalue > 0.001
    assert abs(float(np.corrcoef(normals[:-1], normals[1:])[0, 1])) < 0.01


@pytest.mark.parametrize("freedom", [1, 2, 2.5, 7, 49, 1e6])
def test_chi_square_variates_have_their_distribution(freedom: float) -> None:
    assert stats.kstest(VariateStream(0, "gammas").chi_squares(50_000, freedom), stats.chi2(freedom).cdf).pvalue > 0.001


def test_the_logarithm_is_accurate_to_the_last_digits() -> None:
    values = np.concatenate([np.linspace(1e-6, 3, 10_001), 2.0 ** np.arange(-60.0, 60)])
    np.testing.assert_allclose(log(values), np.log(values), rtol=4e-15, atol=2e-16)
    assert log(np.array([math.sqrt(0.5), 0.5, 1.0, 2.0])).tolist() == [math.log(x) for x in (math.sqrt(0.5), 0.5, 1.0, 2.0)]
