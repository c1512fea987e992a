"""The rule of a decision in numbers: worked cases, limits, costs and weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import (
    Risks,
    Selection,
    estimates_of_pairs,
    further_query,
    needed_scores,
    pair_estimates,
    risks,
    rival_correlations,
    select,
)
from rankproof._statistics.distributions import normal_below
from rankproof._statistics.options import Looks

HALF = np.full(400, 0.5)


def repeated(values: Sequence[float], n: int) -> FloatArray:
    return np.resize(np.array(values, dtype=np.float64), n)


def ones(count: int, n: int) -> FloatArray:
    return (np.arange(n) < count).astype(np.float64)


def decided(
    *systems: FloatArray, costs: Sequence[float | None] = (), margin: float = 0.02, looks: Looks = "one"
) -> tuple[Risks, Selection]:
    estimates = pair_estimates(np.column_stack(systems))
    found = risks(estimates, margin, looks)
    return found, select(estimates, found, costs or [None] * len(systems))


def test_the_error_of_a_weighted_difference_is_that_of_the_jackknife() -> None:
    values = np.array([[0.9, 0.1], [0.2, 0.4], [0.5, 0.5], [0.8, 0.3], [0.1, 0.6]])
    weights = np.array([5.0, 1.0, 2.0, 1.0, 3.0])
    differences = values[:, 0] - values[:, 1]
    mean = np.average(differences, weights=weights)
    without = [np.average(np.delete(differences, at), weights=np.delete(weights, at)) for at in range(5)]
    jackknife = sum((value - mean) ** 2 for value in without)
    size = weights.sum() ** 2 / (weights**2).sum()
    further = (weights * differences**4).sum() / (weights * differences**2).sum()
    found = pair_estimates(values, weights)
    assert found.differences[0, 1] == pytest.approx(mean)
    assert found.errors[0, 1] ** 2 == pytest.approx(jackknife + max(jackknife / size, further / (size * (size - 1))))


@pytest.mark.parametrize(
    ("systems", "costs", "margin", "expected", "chosen"),
    [
        ((np.ones(30), np.ones(30)), (2, 1), 0.02, (27.99, 27.99), ()),
        ((np.ones(50), np.ones(50)), (2, 1), 0.02, (16.35, 16.35), ()),
        ((np.ones(100), np.ones(100)), (2, 1), 0.02, (2.47, 2.47), (1,)),
        ((ones(20, 2000), np.zeros(2000)), (10, 1), 0.001, (0, 100), (0,)),
        ((ones(20, 2000), np.zeros(2000)), (10, 1), 0.02, (0, 0), (1,)),
        ((ones(20, 400), ones(18, 400)), (), 0.005, (1.07, 50), (0,)),
        ((repeated((0.5, 0.6), 200), repeated((0.6, 0.5), 200)), (), 0.02, (0.27, 0.27), (0, 1)),
        ((repeated((0.5, 0.6), 200), repeated((0.6, 0.5), 200)), (1, 3), 0.02, (0.27, 0.27), (0,)),
        ((repeated((0.5, 0.6), 200), repeated((0.6, 0.5), 200)), (1, 1.05), 0.02, (0.27, 0.27), (0, 1)),
        ((0.5 - repeated((0.04, -0.02), 400), HALF), (1, 6), 0.02, (0, 0), (0,)),
        ((0.5 - repeated((0.04, -0.02), 400), HALF), (1, 1.5), 0.02, (0, 0), (1,)),
        ((0.5 - repeated((0.04, -0.02), 400), HALF), (), 0.02, (0, 0), (1,)),
        ((0.5 + repeated((0.30, -0.24), 100), HALF[:100]), (), 0.02, (3.49, 64.26), (0,)),
        ((0.5 + repeated((0.08, -0.12), 400), HALF), (1, 10), 0.02, (50, 0), (1,)),
        ((np.ones(60), 1 - ones(1, 60)), (2, 1), 0.02, (6.34, 44.42), ()),
        ((np.ones(200), 1 - ones(1, 200)), (2, 1), 0.02, (0.03, 1.77), (1,)),
    ],
)
def test_worked_cases(
    systems: tuple[FloatArray, ...], costs: Sequence[float], margin: float, expected: Sequence[float], chosen: tuple[int, ...]
) -> None:
    found, selection = decided(*systems, costs=costs, margin=margin)
    assert (100 * found.risk).tolist() == pytest.approx(expected, abs=0.005)
    assert found.limit.tolist() == pytest.approx([0.05, 0.05], abs=1e-4)
    assert selection.systems == chosen


def test_many_looks_lower_the_limit() -> None:
    found, selection = decided(0.5 + repeated((0.18, -0.12), 100), HALF[:100], looks="many")
    assert (100 * found.risk).tolist() == pytest.approx([0.07, 74.44], abs=0.005)
    assert found.limit.tolist() == pytest.approx([0.006, 0.006], abs=1e-6)
    assert selection.systems == (0,)


@pytest.mark.parametrize(
    ("race", "expected"),
    [(3, (5, 3.44, 2.81, 2.81, 2.81)), (7, (5, 3.44, 1.66, 1.13, 1.13)), (30, (5, 3.44, 1.66, 0.73, 0.31))],
)
def test_the_limit_falls_with_the_systems_in_the_race_and_the_certainty_of_the_margin(
    race: int, expected: tuple[float, ...]
) -> None:
    needed = needed_scores(np.array([0.5, 1, 1.5, 2, 3]), race)
    assert [100 * normal_below(-score) for score in needed.tolist()] == pytest.approx(expected, abs=0.006)


def test_the_limit_is_lower_against_a_rival_that_varies_less_than_the_others() -> None:
    values = np.random.default_rng(1).normal(0.5, 0.1, (2000, 7))
    equal, steady = (
        rival_correlations(pair_estimates(values), 0.02),
        rival_correlations(pair_estimates(values * [0.2, *[1] * 6]), 9),
    )
    assert equal.tolist() == pytest.approx([0.5] * 7, abs=0.05)
    assert steady[0] == pytest.approx(0.04, abs=0.03)
    usual, low = (needed_scores(np.full((1, 1), 3.0), 7, correlations=each)[0, 0] for each in (0.5, 0.04))
    assert (100 * normal_below(-usual), 100 * normal_below(-low)) == pytest.approx((1.13, 0.78), abs=0.01)


def test_a_further_query_of_yes_and_no_values_differs_by_one() -> None:
    values = np.random.default_rng(1).integers(0, 2, (50, 4)).astype(np.float64)
    assert further_query(values) == 1.0
    assert further_query(np.full((5, 2), 0.5)) == 0.25


@given(st.integers(0, 1000), st.integers(2, 6), st.integers(30, 90))
def test_the_order_of_systems_and_queries_does_not_matter(seed: int, systems: int, n: int) -> None:
    random = np.random.default_rng(seed)
    values = random.random((n, systems))
    rows, columns = random.permutation(n), random.permutation(systems)
    first, second = (risks(pair_estimates(each), 0.02) for each in (values, values[rows][:, columns]))
    assert first.risk[columns].tolist() == pytest.approx(second.risk.tolist(), abs=1e-9)
    assert first.limit[columns].tolist() == pytest.approx(second.limit.tolist(), abs=1e-9)


@given(st.integers(0, 1000), st.integers(2, 5))
def test_equal_weights_are_close_to_none(seed: int, systems: int) -> None:
    values = np.random.default_rng(seed).random((200, systems))
    plain, weighted = (pair_estimates(values, weights).scores(0.02) for weights in (None, np.full(200, 3.0)))
    assert weighted.ravel().tolist() == pytest.approx(plain.ravel().tolist(), rel=0.01, abs=0.01)


@given(st.integers(0, 300), st.integers(2, 6))
def test_a_larger_margin_never_raises_a_risk(seed: int, systems: int) -> None:
    estimates = pair_estimates(np.random.default_rng(seed).random((40, systems)))
    small, large = (np.array([estimates.scores(margin)]) for margin in (0.01, 0.05))
    assert (large >= small).all()


def test_a_system_that_is_measurably_worse_is_chosen_only_at_half_the_cost() -> None:
    worse, better = 0.5 - repeated((0.04, -0.02), 400), HALF
    chosen = {cost: decided(worse, better, costs=(1.0, cost))[1].systems for cost in (1.5, 1.99, 2.0, 6.0)}
    assert chosen == {1.5: (1,), 1.99: (1,), 2.0: (0,), 6.0: (0,)}


def test_an_unknown_cost_leaves_the_choice_to_quality() -> None:
    selection = decided(repeated((0.5, 0.6), 200), repeated((0.6, 0.5), 200), costs=(1.0, None))[1]
    assert (selection.systems, selection.by_cost) == ((0, 1), False)


@pytest.mark.parametrize(("common", "is_known"), [(19, False), (20, True), (30, True)])
def test_a_pair_with_fewer_than_twenty_common_queries_decides_nothing(common: int, is_known: bool) -> None:
    values = np.column_stack([repeated([0.9, 0.7], 60), repeated([0.2, 0.1], 60)])
    present = np.ones((60, 2), dtype=bool)
    present[common:, 1] = False
    estimates = estimates_of_pairs(values, present)
    assert bool(estimates.differences[0, 1]) == is_known
    assert bool(estimates.scores()[0, 1] >= 1) == is_known


def test_a_race_of_three_has_the_correlation_of_two_differences_from_the_third() -> None:
    """With standard deviations 1, 1 and s the differences from the third one have the correlation s² / (1 + s²)."""
    values = np.random.default_rng(2).normal(0.5, 0.1, (4000, 3))
    for deviation in (0.25, 0.5):
        found = rival_correlations(pair_estimates(values * [1, 1, deviation]), 9)
        assert found[2] == pytest.approx(deviation**2 / (1 + deviation**2), abs=0.02)


def test_a_group_of_equal_queries_counts_as_one_query_and_groups_of_one_as_queries_of_equal_weight() -> None:
    values = np.random.default_rng(1).random((40, 3))
    groups = np.repeat(np.arange(40), 5)
    grouped, single = pair_estimates(np.repeat(values, 5, axis=0), None, groups), pair_estimates(values, np.ones(40))
    for name in ("differences", "errors", "freedom", "size"):
        assert np.allclose(getattr(grouped, name), getattr(single, name))
    weights = np.random.default_rng(2).random(40)
    alone, weighted = pair_estimates(values, weights, np.arange(40)), pair_estimates(values, weights)
    assert np.allclose(alone.errors, weighted.errors)
    assert np.allclose(alone.differences, weighted.differences)
