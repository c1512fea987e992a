"""Krippendorff's alpha, Fleiss' and Randolph's kappa: laws, published examples, and what they do not define."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._statistics.agreement import (
    Agreement,
    GradeCounts,
    KappaWeights,
    Level,
    RatedItem,
    count_grades,
    fleiss_kappa,
    kappa,
    krippendorff_alpha,
    randolph_kappa,
)

Statistic = Callable[[GradeCounts], Agreement]
STATISTICS: dict[str, Statistic] = {
    **{f"alpha, {level}": partial(krippendorff_alpha, level=level) for level in get_args(Level)},
    "Fleiss": fleiss_kappa,
    "Randolph": lambda items: randolph_kappa(items, 4),
}
KRIPPENDORFF = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
"""Four observers of 12 units with gaps: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example D."""
FLEISS = (
    *((0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1)),
    *((7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7)),
)
"""Fourteen raters of ten items in five categories; Fleiss' kappa is .210 (Wikipedia, Fleiss' kappa, worked example)."""


def ratings(rows: list[list[int]]) -> GradeCounts:
    return count_grades([(f"q{at % 4}", row) for at, row in enumerate(rows)])


SAME_SIZE = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(st.integers(0, 3), min_size=raters, max_size=raters), min_size=2, max_size=30)
)


def test_alpha_of_the_example_with_gaps_is_as_published() -> None:
    raters = [[None if word == "." else int(word) for word in line.split()] for line in KRIPPENDORFF.strip().splitlines()]
    items = count_grades([("q", [grade for grade in unit if grade is not None]) for unit in zip(*raters, strict=True)])
    found = {level: krippendorff_alpha(items, level) for level in get_args(Level)}
    assert {level: round(one.value or 0, 3) for level, one in found.items()} == {
        **{"nominal": 0.743, "ordinal": 0.815},
        **{"interval": 0.849, "ratio": 0.797},
    }
    assert {one.items for one in found.values()} == {11}


def test_fleiss_kappa_of_the_worked_example() -> None:
    items = count_grades([("q", [grade for grade, n in enumerate(row) for _ in range(n)]) for row in FLEISS])
    assert fleiss_kappa(items).value == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize("name", STATISTICS)
@given(rows=SAME_SIZE, seed=st.integers(0, 99))
def test_agreement_is_the_same_for_any_order_of_raters_and_items(name: str, rows: list[list[int]], seed: int) -> None:
    draw = np.random.default_rng(seed)
    pairs = [(f"q{at % 4}", row) for at, row in enumerate(rows)]
    first = STATISTICS[name](count_grades(pairs))
    mixed = [(pairs[at][0], list(draw.permutation(pairs[at][1]))) for at in draw.permutation(len(pairs))]
    second = STATISTICS[name](count_grades(mixed))
    assert second.value == (None if first.value is None else pytest.approx(first.value, abs=1e-9))
    assert (first.interval is None) == (second.interval is None)
    assert second.interval is None or second.interval == pytest.approx(first.interval, abs=1e-6)


@pytest.mark.parametrize("name", STATISTICS)
@given(rows=SAME_SIZE)
def test_agreement_is_one_if_and_only_if_all_grades_are_equal_and_never_more(name: str, rows: list[list[int]]) -> None:
    found = STATISTICS[name](ratings(rows))
    if found.value is not None:
        assert found.value <= 1 + 1e-12
        assert (abs(found.value - 1) < 1e-12) == all(len(set(row)) == 1 for row in rows)
    if found.interval is not None:
        assert found.value is not None
        assert -1 <= found.interval[0] < found.value < found.interval[1] <= 1


@given(rows=SAME_SIZE)
def test_an_item_that_one_rater_rated_changes_no_alpha(rows: list[list[int]]) -> None:
    """Alpha leaves such an item out, although its grade may be one that nobody gave otherwise."""
    for level in get_args(Level):
        assert krippendorff_alpha(ratings([*rows, [7]]), level).value == pytest.approx(
            krippendorff_alpha(ratings(rows), level).value, abs=1e-12, nan_ok=True
        )


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5)), min_size=2, max_size=40))
def test_cohens_kappa_is_symmetric_and_one_on_identical_raters(rows: list[tuple[int, int, int]]) -> None:
    for weights in get_args(KappaWeights):
        one = kappa([RatedItem(f"q{query}", first, second) for first, second, query in rows], weights)
        other = kappa([RatedItem(f"q{query}", second, first) for first, second, query in rows], weights)
        assert one.value == (None if other.value is None else pytest.approx(other.value, abs=1e-12))
        same = kappa([RatedItem(f"q{query}", first, first) for first, _, query in rows], weights)
        assert same.value in (None, 1)


@given(rows=SAME_SIZE)
def test_unweighted_kappas_and_nominal_alpha_do_not_depend_on_which_number_a_grade_is(rows: list[list[int]]) -> None:
    other = {0: 3, 1: 0, 2: 1, 3: 2}
    renamed = [[other[grade] for grade in row] for row in rows]
    for name in ("alpha, nominal", "Fleiss", "Randolph"):
        one, same = STATISTICS[name](ratings(rows)), STATISTICS[name](ratings(renamed))
        assert one.value == (None if same.value is None else pytest.approx(same.value, abs=1e-12))


@given(rows=SAME_SIZE)
def test_ordinal_alpha_depends_on_the_order_of_grades_alone(rows: list[list[int]]) -> None:
    stretched = [[{0: -1, 1: 5, 2: 6, 3: 90}[grade] for grade in row] for row in rows]
    one, same = (krippendorff_alpha(ratings(each), "ordinal") for each in (rows, stretched))
    assert one.value == (None if same.value is None else pytest.approx(same.value, abs=1e-12))


def test_the_jackknife_is_that_of_leaving_out_each_query() -> None:
    draw = np.random.default_rng(7)
    pairs = [(f"q{at % 12}", list(draw.choice(4, 3))) for at in range(60)]
    pairs = [
        (query, [row[0], row[0] if at % 3 else row[1], row[2] if at % 2 else row[0]]) for at, (query, row) in enumerate(pairs)
    ]
    for name, statistic in STATISTICS.items():
        found = statistic(count_grades(pairs))
        assert found.value is not None
        assert found.interval is not None
        left = [statistic(count_grades([pair for pair in pairs if pair[0] != f"q{out}"])).value for out in range(12)]
        values = np.array([one or 0.0 for one in left])
        spread = np.sqrt(11 / 12 * np.sum((values - values.mean()) ** 2))
        margin = 2.200985160082949 * spread / (1 - found.value**2)
        assert np.arctanh(found.interval) == pytest.approx(np.arctanh(found.value) + np.array([-margin, margin])), name


def test_what_is_not_defined_has_no_value() -> None:
    for statistic in STATISTICS.values():
        assert statistic(count_grades([])).value is None
        assert statistic(count_grades([("q", [1]), ("q", [2])])).value is None
    same = count_grades([("q1", [2, 2]), ("q2", [2, 2])])
    assert [STATISTICS[name](same).value for name in ("alpha, nominal", "alpha, ordinal", "Fleiss")] == [None, None, None]
    assert STATISTICS["Randolph"](same).value == 1
    assert krippendorff_alpha(count_grades([("q", [-1, 1]), ("q", [0, 0])]), "ratio").value is None
    one_query = krippendorff_alpha(count_grades([("q", [0, 1]), ("q", [1, 1])]), "nominal")
    assert (one_query.value, one_query.interval) == (0, None)
