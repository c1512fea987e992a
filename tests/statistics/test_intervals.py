"""Student's t and bootstrap intervals against scipy's, and their laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rankproof._data.arrays import FloatArray
from rankproof._statistics import intervals
from rankproof._statistics.intervals import (
    MIN_DIFFERENT,
    BootstrapMethod,
    Interval,
    bootstrap_interval,
    bounded_mean_interval,
    clip,
    effective_share_interval,
    enough_differ,
    mean_interval,
    resampled_means,
)

SHAPES = {
    "normal": lambda random, n: random.normal(0.02, 0.2, n),
    "skewed": lambda random, n: random.exponential(0.3, n) - 0.2,
    "ranks": lambda random, n: 1 / random.geometric(0.6, n) - 1 / random.geometric(0.4, n),
}


def found(values: FloatArray, level: float = 0.95) -> Interval:
    interval = mean_interval(values, level=level)
    assert interval is not None
    return interval


def resampled(values: FloatArray, method: BootstrapMethod, resamples: int = 2_000, seed: int = 0) -> Interval:
    return bootstrap_interval(values, resampled_means(values[:, None], resamples, seed)[:, 0], method)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_equal_values_in_a_range_have_wilsons_interval_with_students_t(level: float) -> None:
    square = stats.t.ppf((1 + level) / 2, 14) ** 2 / 15
    none = bounded_mean_interval(np.zeros(15), level=level, within=(0.0, 1.0))
    every = bounded_mean_interval(np.full(15, 3.0), level=level, within=(1.0, 3.0))
    assert none == pytest.approx((0.0, square / (1 + square)))
    assert every == pytest.approx((1 + 2 / (1 + square), 3.0))


def test_values_that_differ_one_value_and_values_without_a_range_are_as_in_the_interval_of_the_mean() -> None:
    values = np.array([0.0, 1.0, 1.0])
    assert bounded_mean_interval(values, within=(0.0, 1.0)) == mean_interval(values, within=(0.0, 1.0))
    assert bounded_mean_interval(np.ones(1), within=(0.0, 1.0)) is None
    assert bounded_mean_interval(np.ones(9), within=(0.0, np.inf)) is None


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [20, 60, 300])
def test_intervals_equal_those_of_scipy_up_to_sampling_error(method: BootstrapMethod, shape: str, n: int) -> None:
    apart = SHAPES[shape](np.random.default_rng(n), n)
    theirs = stats.bootstrap(
        (apart,), np.mean, method="BCa" if method == "bca" else "percentile", n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    ours = resampled(apart, method, 20_000)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.06 * float(apart.std()) / np.sqrt(n) * 4)


def test_bca_equals_scipy_to_the_ninth_digit_on_the_same_resamples() -> None:
    apart = SHAPES["skewed"](np.random.default_rng(3), 40)
    means = resampled_means(apart[:, None], 5_000, 0)[:, 0]
    centre = apart.mean()
    bias = stats.norm.ppf((np.sum(means < centre) + np.sum(means <= centre)) / 2 / len(means))
    jackknife = np.array([np.delete(apart, at).mean() for at in range(len(apart))])
    off = jackknife.mean() - jackknife
    bent = (off**3).sum() / (6 * (off**2).sum() ** 1.5)
    shares = [stats.norm.cdf(bias + (bias + z) / (1 - bent * (bias + z))) for z in stats.norm.ppf([0.025, 0.975])]
    assert bootstrap_interval(apart, means, "bca") == pytest.approx(np.quantile(means, shares).tolist(), abs=1e-9)


def test_resampled_means_spread_as_theory_says() -> None:
    values = np.random.default_rng(0).random((80, 3))
    means = resampled_means(values, 20_000, 0)
    np.testing.assert_allclose(means.mean(axis=0), values.mean(axis=0), atol=0.002)
    np.testing.assert_allclose(means.std(axis=0), values.std(axis=0) / np.sqrt(80), rtol=0.03)


def test_columns_share_their_resamples() -> None:
    values = np.random.default_rng(0).random((30, 1))
    means = resampled_means(np.concatenate([values, values + 1.0], axis=1), 200, 0)
    np.testing.assert_allclose(means[:, 1] - means[:, 0], 1.0, atol=1e-12)


def test_the_seed_determines_the_resamples() -> None:
    apart = np.random.default_rng(1).normal(size=50)
    assert resampled(apart, "bca", 500, seed=1) == resampled(apart, "bca", 500, seed=1)
    assert resampled(apart, "bca", 500, seed=1) != resampled(apart, "bca", 500, seed=2)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_swapping_the_systems_negates_the_interval(method: BootstrapMethod) -> None:
    apart = SHAPES["skewed"](np.random.default_rng(3), 50)
    low, high = resampled(apart, method)
    back = resampled(-apart, method)
    assert back == pytest.approx((-high, -low), abs=1e-9)


def test_a_higher_confidence_level_widens_the_interval() -> None:
    apart = np.random.default_rng(1).normal(size=50)
    narrow, wide = found(apart, level=0.9), found(apart, level=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize("n", [1, 2, 9, 50])
def test_values_without_variance_have_no_interval(n: int) -> None:
    assert mean_interval(np.full(n, 0.25)) is None


@pytest.mark.parametrize("n", [2, 3, 10, 50, 1_000])
def test_the_interval_is_that_of_students_t_at_every_n(n: int) -> None:
    values = np.random.default_rng(n).normal(0.3, 0.2, n)
    for level in (0.9, 0.95, 0.99):
        theirs = stats.t.interval(level, n - 1, loc=values.mean(), scale=stats.sem(values))
        assert found(values, level) == pytest.approx(theirs, rel=1e-9)


def test_an_interval_is_cut_to_the_range() -> None:
    assert mean_interval(np.array([0.1, 0.9]), within=(0.0, 1.0)) == (0.0, 1.0)


def test_an_interval_of_five_normal_values_has_its_coverage() -> None:
    random = np.random.default_rng(11)
    intervals = [found(random.normal(0, 1, 5)) for _ in range(1_000)]
    assert 0.93 <= sum(low <= 0 <= high for low, high in intervals) / 1_000 <= 0.97


def test_equal_weights_change_nothing_but_rounding() -> None:
    values = np.random.default_rng(3).random(30)
    assert mean_interval(values, weights=np.full(30, 7.0)) == pytest.approx(mean_interval(values), abs=1e-12)


def test_a_value_with_almost_all_of_the_weight_has_no_interval() -> None:
    values = np.random.default_rng(3).random(30)
    assert mean_interval(values, weights=np.where(np.arange(30) == 0, 1e9, 1.0)) is None


def test_a_weighted_interval_has_its_coverage() -> None:
    """Weights that go with the values: the population's weighted mean is known."""
    random = np.random.default_rng(5)
    weights = random.choice([1.0, 2.0, 4.0], 20_000)
    values = np.clip(0.3 + 0.1 * weights + random.normal(0, 0.2, 20_000), 0, 1)
    truth, held = np.average(values, weights=weights), 0
    for _ in range(1_000):
        drawn = random.integers(0, 20_000, 40)
        low, high = mean_interval(values[drawn], weights=weights[drawn]) or (0.0, 0.0)
        held += bool(low <= truth <= high)
    assert 0.93 <= held / 1_000 <= 0.975


def test_an_interval_of_a_difference_needs_queries_that_differ() -> None:
    few, enough = np.zeros(200), np.zeros(200)
    few[: MIN_DIFFERENT - 1] = np.linspace(0.1, 1, MIN_DIFFERENT - 1)
    enough[:MIN_DIFFERENT] = np.linspace(0.1, 1, MIN_DIFFERENT)
    assert not enough_differ(few)
    assert enough_differ(enough)
    assert not enough_differ(np.full(200, 0.25))


def test_a_block_of_resamples_has_limited_cells_and_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random((30, 2))
    whole, drawn = resampled_means(values, 100, 3), intervals._sums
    cells: list[int] = []

    def noted(numbers: Any, first: int, count: int, seed: int) -> FloatArray:
        cells.append(count * len(numbers))
        return drawn(numbers, first, count, seed)

    monkeypatch.setattr(intervals, "_CELLS", 7 * 30 + 1)
    monkeypatch.setattr(intervals, "_sums", noted)
    assert (resampled_means(values, 100, 3) == whole).all()
    assert cells == [7 * 30] * 14 + [2 * 30]


@pytest.mark.parametrize("variance", [0.002, 1.5e-24, 0.5e-24])
def test_the_interval_of_a_share_follows_the_scale_of_its_range(variance: float) -> None:
    share = effective_share_interval(0.3, variance, 20.0, (0.0, 1.0), least=50)
    doubled = effective_share_interval(2 * 0.3, 4 * variance, 20.0, (0.0, 2.0), least=50)
    moved = effective_share_interval(2 * 0.3 - 1, 4 * variance, 20.0, (-1.0, 1.0), least=50)
    assert doubled == pytest.approx([2 * end for end in share])
    assert moved == pytest.approx([2 * end - 1 for end in share])


def test_a_clipped_value_is_never_minus_zero() -> None:
    assert [math.copysign(1, clip(value, (-1.0, 1.0))) for value in (-0.0, 0.0)] == [1, 1]
    assert [clip(value, (-1.0, 1.0)) for value in (-2.0, 0.5, 2.0)] == [-1.0, 0.5, 1.0]


def test_differences_of_equal_weight_are_enough_in_the_same_number_as_without_weights() -> None:
    for count in range(MIN_DIFFERENT - 1, MIN_DIFFERENT + 2):
        differences = np.append(np.linspace(0.1, 1, count), [0.0] * 30)
        assert enough_differ(differences) == enough_differ(differences, np.full(count + 30, 0.5)) == (count >= MIN_DIFFERENT)
