"""Cohen's kappa by hand and as published, AUC with ties, and their intervals over queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._statistics.agreement import KappaWeights, RatedItem, ScoredItem, auc, fisher_interval, kappa, kappas, same_grade

COHEN = {(0, 0): 88, (0, 1): 14, (0, 2): 18, (1, 0): 10, (1, 1): 40, (1, 2): 10, (2, 0): 2, (2, 1): 6, (2, 2): 12}
"""Two raters of 200 patients, Cohen 1968; kappa is .492 there."""
GRADES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 9)), min_size=2, max_size=60)


def rated(cells: Mapping[tuple[int, int], int], queries: int = 10) -> list[RatedItem]:
    """So many items of each kind, dealt to the queries."""
    each = [key for key, count in cells.items() for _ in range(count)]
    return [RatedItem(f"q{at % queries}", *grades) for at, grades in enumerate(each)]


def test_kappa_of_the_textbook_table_of_two_raters_is_four_tenths() -> None:
    found = kappa(rated({(1, 1): 20, (1, 0): 5, (0, 1): 10, (0, 0): 15}))
    assert found.value == pytest.approx(0.4, abs=1e-12)
    assert found.items == 50


def test_kappa_of_three_grades_is_as_published_and_as_computed_by_hand() -> None:
    observed, rows, columns = 140 / 200, (120, 60, 20), (100, 60, 40)
    expected = sum(row * column for row, column in zip(rows, columns, strict=True)) / 40_000
    found = kappa(rated(COHEN))
    assert found.value == pytest.approx((observed - expected) / (1 - expected), abs=1e-12)
    assert found.value == pytest.approx(0.492, abs=5e-4)


def test_weighted_kappa_counts_a_disagreement_by_the_square_of_its_distance() -> None:
    seen = (14 + 10 + 10 + 6) * 1 + (18 + 2) * 4
    rows, columns = (120, 60, 20), (100, 60, 40)
    chance = sum((i - j) ** 2 * rows[i] * columns[j] / 200 for i in range(3) for j in range(3))
    assert kappa(rated(COHEN), "quadratic").value == pytest.approx(1 - seen / chance, abs=1e-12)


@given(GRADES)
def test_kappa_is_that_of_scikit_learns_formula_and_within_its_bounds(rows: list[tuple[int, int, int]]) -> None:
    items = [RatedItem(f"q{query}", first, second) for first, second, query in rows]
    for weights in get_args(KappaWeights):
        found = kappa(items, weights)
        first, second = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        distance = np.abs(first[:, None] - second[None, :])
        apart = {"none": distance != 0, "linear": distance, "quadratic": distance**2}[weights]
        chance = float(np.mean(apart))
        if not chance:
            assert found.value is None
            continue
        assert found.value == pytest.approx(1 - float(np.mean(np.diagonal(apart))) / chance, abs=1e-9)
        assert found.value is not None
        assert found.value <= 1
        assert found.interval is None or -1 <= found.interval[0] < found.value < found.interval[1] <= 1


def test_full_agreement_is_one_and_a_rater_of_one_grade_has_no_kappa() -> None:
    assert (kappa(rated({(0, 0): 4, (3, 3): 4})).value, kappa(rated({(0, 0): 4, (3, 3): 4})).interval) == (1, None)
    assert kappa(rated({(2, 2): 8})).value is None
    constant = kappa(rated({(0, 2): 7, (3, 2): 4}))
    assert (constant.value, constant.interval) == (0, None)
    assert kappa([]).value is None


@pytest.mark.parametrize("weights", get_args(KappaWeights))
def test_the_influence_of_an_item_is_the_change_of_kappa_when_its_weight_grows(weights: KappaWeights) -> None:
    """With one item a query, the variance is the sum of squares of the derivatives of kappa by the weights of the items."""
    items = rated(COHEN, queries=200)
    shares = np.zeros((3, 3))
    for item in items:
        shares[item.first, item.second] += 1 / 200
    squares, step = 0.0, 1e-6
    for item in items:
        more = shares.copy()
        more[item.first, item.second] += step
        change = (float(kappas(more, (0, 1, 2), weights)) - float(kappas(shares, (0, 1, 2), weights))) / step
        squares += (change / 200) ** 2
    found = kappa(items, weights)
    assert found.value is not None
    assert found.interval is not None
    margin = 1.971956544249395 * np.sqrt(squares * 200 / 199) / (1 - found.value**2)
    assert np.arctanh(found.interval) == pytest.approx(
        [np.arctanh(found.value) - margin, np.arctanh(found.value) + margin], rel=1e-4
    )


def test_an_interval_is_wider_where_the_items_of_a_query_agree_with_each_other() -> None:
    apart = [RatedItem(f"q{at}", at % 2, at % 2 if at % 3 else 1 - at % 2) for at in range(300)]
    alike = [RatedItem(f"q{at // 30}", at % 2, at % 2 if at // 30 % 3 else 1 - at % 2) for at in range(300)]
    for measure in (kappa, same_grade):
        wide = [found.interval for found in (measure(alike), measure(apart))]
        assert wide[0] is not None
        assert wide[1] is not None
        assert wide[0][1] - wide[0][0] > 2 * (wide[1][1] - wide[1][0])


SCORES = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 9)), min_size=2, max_size=40)


@given(SCORES)
def test_auc_is_the_share_of_pairs_in_the_right_order_with_ties_as_half(rows: list[tuple[int, bool, int]]) -> None:
    found = auc([ScoredItem(f"q{query}", float(score), positive) for score, positive, query in rows])
    positive, negative = ([score for score, label, _ in rows if label is which] for which in (True, False))
    if not positive or not negative:
        assert (found.value, found.interval) == (None, None)
        return
    right = sum((one > other) + (one == other) / 2 for one in positive for other in negative)
    assert found.value == pytest.approx(right / (len(positive) * len(negative)), abs=1e-12)
    assert found.value is not None
    assert found.interval is None or 0 <= found.interval[0] <= found.value <= found.interval[1] <= 1


def test_a_score_that_never_varies_has_an_auc_of_one_half_and_the_reversed_score_its_mirror() -> None:
    random = np.random.default_rng(1)
    items = [ScoredItem(f"q{at % 40}", float(random.random()), at % 3 > 0) for at in range(120)]
    forward = auc(items)
    backward = auc([ScoredItem(item.query, -item.score, item.positive) for item in items])
    constant = auc([ScoredItem(item.query, 1.0, item.positive) for item in items])
    assert (constant.value, constant.interval) == (0.5, None)
    assert forward.interval is not None
    assert backward.interval is not None
    assert (backward.value, *backward.interval) == pytest.approx(
        (1 - (forward.value or 0), 1 - forward.interval[1], 1 - forward.interval[0]), abs=1e-12
    )


def test_the_variance_of_the_auc_is_delongs_where_every_query_has_one_item() -> None:
    """The components of DeLong et al. 1988 by their definition."""
    positive, negative = [0.9, 0.8, 0.4, 0.7, 0.35], [0.1, 0.4, 0.2, 0.6]
    items = [ScoredItem(f"p{score}", score, True) for score in positive] + [
        ScoredItem(f"n{score}", score, False) for score in negative
    ]
    win = np.array([[(one > other) + (one == other) / 2 for other in negative] for one in positive])
    value = win.mean()
    squares = ((win.mean(1) - value) ** 2).sum() / 25 + ((win.mean(0) - value) ** 2).sum() / 16
    size, t = value * (1 - value) / (squares * 4 / 3), 3.182446305284263
    middle, half = value + t * t / (2 * size), t * np.sqrt(value * (1 - value) / size + (t / (2 * size)) ** 2)
    found = auc(items)
    assert found.value == pytest.approx(value)
    assert found.interval == pytest.approx(((middle - half) / (1 + t * t / size), min(1, (middle + half) / (1 + t * t / size))))


def test_the_rarer_label_limits_the_interval() -> None:
    many = [ScoredItem(f"q{at}", float(at % 7), at % 2 == 0) for at in range(100)]
    few = [ScoredItem(f"q{at}", float(at % 7), at % 33 != 0) for at in range(100)]
    (low, high), (least, most) = auc(many).interval or (0, 0), auc(few).interval or (0, 0)
    assert most - least > 2 * (high - low)
    mirrored = auc([ScoredItem(item.query, -item.score, not item.positive) for item in few])
    assert mirrored.interval == pytest.approx((least, most))


def test_two_queries_have_an_interval_and_one_has_none() -> None:
    grades = [(0, 0), (0, 1), (1, 1), (1, 1)]
    for queries in (1, 2):
        items = [RatedItem(f"q{at % queries}", *both) for at, both in enumerate(grades)]
        scored = [
            ScoredItem(f"q{at // 2 % queries}", float(at), positive) for at, positive in enumerate((True, False, False, True))
        ]
        found = [one.interval for one in (kappa(items), same_grade(items), auc(scored))]
        assert [interval is not None for interval in found] == [queries == 2] * 3


def test_the_share_of_equal_grades_of_two_queries_has_the_interval_by_hand() -> None:
    found = same_grade([RatedItem("a", 1, 1), RatedItem("a", 0, 1), RatedItem("b", 1, 1), RatedItem("b", 2, 2)])
    # The influences of the queries are (1 - 0.75 - 0.75) / 4 and (1 - 0.75 + 1 - 0.75) / 4, so the variance is 2 / 32.
    size, t = 0.75 * 0.25 / (2 * 2 * 0.125**2), 12.706204736174698
    middle, half = 0.75 + t * t / (2 * size), t * np.sqrt(0.75 * 0.25 / size + (t / (2 * size)) ** 2)
    assert (found.value, found.items) == (0.75, 4)
    assert found.interval == pytest.approx(((middle - half) / (1 + t * t / size), (middle + half) / (1 + t * t / size)))


def test_fishers_interval_is_students_t_of_the_inverse_hyperbolic_tangent() -> None:
    influences = np.array([0.2, -0.1, 0.15, -0.25])
    low, high = fisher_interval(0.5, influences) or (math.nan, math.nan)
    error = math.sqrt((influences**2).sum() * 4 / 3) / 0.75
    margin = 3.182446305284263 * error  # The quantile 0.975 of Student's t with 3 degrees of freedom.
    assert (low, high) == pytest.approx((math.tanh(math.atanh(0.5) - margin), math.tanh(math.atanh(0.5) + margin)))


@pytest.mark.parametrize(
    ("value", "influences"), [(1.0, [0.1, -0.1]), (-1.0, [0.1, -0.1]), (0.5, [0.1]), (0.5, [0.0, 0.0]), (0.5, [])]
)
def test_there_is_no_interval_of_a_perfect_value_or_of_one_query(value: float, influences: list[float]) -> None:
    assert fisher_interval(value, np.array(influences)) is None
