"""Correlations of values with errors: known cases, coverage, and exact intervals of shares."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankproof._analysis.online.noisy_correlation import NoisyPairs, pearson, share_interval, true_correlation, true_slope


def _pairs(count: int, correlation: float, noise: float, seed: int) -> NoisyPairs:
    random = np.random.default_rng(seed)
    x = random.normal(size=count)
    y = correlation * x + math.sqrt(1 - correlation**2) * random.normal(size=count)
    errors = np.full(count, noise)
    return NoisyPairs(x + noise * random.normal(size=count), y + noise * random.normal(size=count), errors, errors)


def test_without_errors_the_correlation_is_that_of_pearson() -> None:
    pairs = _pairs(30, 0.6, 0.0, 1)
    fitted = true_correlation(pairs)
    assert fitted.value == pytest.approx(pearson(pairs.x, pairs.y), abs=2e-3)
    # n log((1 - r r0)² / ((1 - r²)(1 - r0²))) is the likelihood ratio of a correlation r0.
    r = fitted.value
    for end in (fitted.low, fitted.high):
        ratio = math.log((1 - r * end) ** 2 / ((1 - r * r) * (1 - end * end)))
        assert ratio == pytest.approx(math.log1p(2.0484071418**2 / 28), rel=0.02)


def test_errors_are_taken_out_of_the_correlation() -> None:
    pairs = _pairs(200, 0.8, 0.7, 2)
    assert pearson(pairs.x, pairs.y) < 0.65
    fitted = true_correlation(pairs)
    assert fitted.low < 0.8 < fitted.high
    assert fitted.value == pytest.approx(0.8, abs=0.15)


def test_the_slope_is_that_of_the_true_values_in_their_units() -> None:
    pairs = _pairs(80, 0.8, 0.7, 3)
    in_other_units = NoisyPairs(pairs.x, 100 * pairs.y, pairs.x_error, 100 * pairs.y_error)
    fitted = true_slope(in_other_units)
    assert fitted.low < 80 < fitted.high


def test_errors_larger_than_all_differences_leave_the_correlation_open() -> None:
    random = np.random.default_rng(4)
    pairs = NoisyPairs(random.normal(size=6) / 10, random.normal(size=6) / 10, np.ones(6), np.ones(6))
    fitted = true_correlation(pairs)
    assert (fitted.low, fitted.high) == (-1.0, 1.0)


# Clopper and Pearson (1934), as in R's binom.test.
@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [(0, 10, 0.0, 0.3084971), (10, 10, 0.6915029, 1.0), (7, 20, 0.1539092, 0.5921885)],
)
def test_the_interval_of_a_share_is_exact(hits: int, count: int, low: float, high: float) -> None:
    assert share_interval(hits, count) == pytest.approx((low, high), abs=1e-6)
