"""Intervals that know of chance in the training as well as in the choice of queries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rankproof._statistics.intervals import mean_interval
from rankproof._statistics.paired import holm
from rankproof._tokenizer_lab.comparison import ValueMatrix, compute_differences
from rankproof._tokenizer_lab.measured import difference_p, widen_interval


def test_a_single_training_keeps_the_interval_over_queries() -> None:
    assert widen_interval((0.1, 0.3), 0.2, np.array([0.2])) == pytest.approx((0.1, 0.3), abs=1e-15)


def test_without_an_interval_over_queries_there_is_none() -> None:
    assert widen_interval(None, 0.2, np.array([0.1, 0.3])) is None


def test_half_widths_add_in_squares() -> None:
    means = np.array([0.1, 0.2, 0.3])
    side = stats.t.ppf(0.975, 2) * means.std(ddof=1) / math.sqrt(3)
    low, high = widen_interval((0.15, 0.3), 0.2, means) or (0.0, 0.0)
    assert (low, high) == pytest.approx((0.2 - math.hypot(0.05, side), 0.2 + math.hypot(0.1, side)), abs=1e-9)


def test_two_systems_have_welchs_degrees_of_freedom() -> None:
    ours, theirs = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.52, 0.55, 0.5])
    welch = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    middle = float(ours.mean() - theirs.mean())
    assert widen_interval((middle, middle), middle, ours, theirs) == pytest.approx((welch.low, welch.high), abs=1e-9)


@pytest.mark.release
@pytest.mark.parametrize(("repeats", "spread"), [((3, 3), 0.0), ((3, 3), 0.02), ((3, 1), 0.0), ((2, 2), 0.02)])
def test_equal_tokenizers_rarely_differ_significantly(repeats: tuple[int, int], spread: float) -> None:
    """A system of one training has no chance in it here: it is BM25's part."""
    random = np.random.default_rng(5)
    false, draws = 0, 200
    for _ in range(draws):
        sides = [
            random.normal(0.5, 0.1, (1, 60)) + random.normal(0, spread, (count, 1)) + random.normal(0, 0.01, (count, 60))
            for count in repeats
        ]
        false += compute_differences([ValueMatrix("one", "other", sides[0], sides[1])])[0].is_reliable
    assert false / draws < 0.1


def test_p_is_that_of_students_t_without_repeats_and_agrees_with_the_interval() -> None:
    random = np.random.default_rng(3)
    row = random.normal(0.02, 0.1, 60)
    assert difference_p(row) == pytest.approx(stats.ttest_1samp(row, 0).pvalue, abs=1e-9)
    means = np.array([[0.5, 0.52, 0.55], [0.5, 0.49, 0.51]])
    for shift in np.linspace(-0.05, 0.1, 16):
        moved = row - row.mean() + shift
        low, high = widen_interval(mean_interval(moved), float(moved.mean()), *means) or (0.0, 0.0)
        assert (low > 0 or high < 0) == (difference_p(moved, *means) < 0.05)


def test_p_is_corrected_for_the_number_of_pairs() -> None:
    random = np.random.default_rng(1)
    pairs = [
        ValueMatrix("one", "other", random.normal(0.5 + at / 50, 0.1, (1, 60)), random.normal(0.5, 0.1, (1, 60)))
        for at in range(4)
    ]
    found = compute_differences([*pairs, ValueMatrix("one", "other", np.ones((1, 60)), np.ones((1, 60)))])
    raw = [one.p for one in found[:4]]
    assert [one.p_adjusted for one in found[:4]] == pytest.approx(holm(np.array(raw)))
    assert (found[4].p, found[4].p_adjusted, found[4].is_reliable) == (None, None, False)
    assert compute_differences(pairs[:1])[0].p_adjusted == raw[0]
