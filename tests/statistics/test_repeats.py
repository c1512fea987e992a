"""Repeated answers: the split of the variance, and how many repeats are worth their cost."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rankproof._data.arrays import FloatArray
from rankproof._statistics.paired import VarianceSplit, pass_all, pass_at, split_variance


def answers(*questions: str) -> list[FloatArray]:
    return [np.array([float(digit) for digit in question]) for question in questions]


def test_a_worked_split() -> None:
    found = split_variance(answers("110", "111", "010"), answers("000", "101", "000"))
    assert found is not None
    assert (found.within, found.between) == pytest.approx((0.3333, -0.0741), abs=5e-5)
    assert found.question_share(3) == 0


@pytest.mark.parametrize(
    ("between", "within", "question_cost", "repeats"),
    [(0.04, 0.25, 2, 4), (0.01, 0.09, 10, 9), (0.09, 0.01, 2, 1), (0.0, 1, 1, None)],
)
def test_the_best_number_of_repeats(between: float, within: float, question_cost: float, repeats: int | None) -> None:
    assert VarianceSplit(between, within).best_repeats(question_cost) == repeats


def test_more_questions_win_for_the_same_number_of_answers() -> None:
    split = VarianceSplit(0.04, 0.25)
    assert (split.error(40, 3), split.error(120, 1)) == pytest.approx((0.056, 0.049), abs=5e-4)


def test_the_split_finds_the_variances_of_a_simulation() -> None:
    random = np.random.default_rng(4)
    gain = random.normal(0.1, 0.2, 2_000)
    first, second = ([each + random.normal(0, 0.3, 3) for each in mean] for mean in (gain, np.zeros(2_000)))
    found = split_variance(first, second)
    assert found is not None
    assert (found.between, found.within) == pytest.approx((0.04, 0.18), rel=0.1)


def test_a_system_that_was_asked_once_has_no_variance_of_repeats() -> None:
    """The second system is the same whenever it is asked."""
    random = np.random.default_rng(5)
    gain = random.normal(0.1, 0.2, 2_000)
    found = split_variance([each + random.normal(0, 0.3, 3) for each in gain], [np.zeros(1) for _ in gain])
    assert found is not None
    assert (found.between, found.within) == pytest.approx((0.04, 0.09), rel=0.15)


def test_single_answers_have_no_split() -> None:
    assert split_variance(answers("1", "0"), answers("0", "0")) is None
    assert split_variance(answers("10"), answers("00")) is None


@pytest.mark.parametrize("right", range(6))
def test_pass_counts_every_choice_of_answers(right: int) -> None:
    given = [1] * right + [0] * (5 - right)
    for k in range(1, 6):
        chosen = list(combinations(given, k))
        assert pass_at(right, 5, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
        assert pass_all(right, 5, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))
