"""Searches: weights in steps, neighbours, coordinate search, and trials that are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._tune.parameters import ParameterFamily, SearchAxis, Settings, Space, weight_grid
from rankproof._tune.search import Trials, coordinate_search, grid_search
from rankproof.errors import UsageError
from support.tuned_matrices import MatrixObjective, row_space


@pytest.mark.parametrize(("runs", "step", "count"), [(2, 0.1, 11), (3, 0.1, 66), (4, 0.2, 56), (5, 0.1, 1001), (1, 0.5, 1)])
def test_the_grid_of_weights_has_every_combination_that_sums_to_1(runs: int, step: float, count: int) -> None:
    weights = weight_grid(runs, step)
    assert len(set(weights)) == len(weights) == count
    assert all(sum(round(weight / step) for weight in one) == round(1 / step) for one in weights)


@pytest.mark.parametrize("step", [0.3, 0.0, -0.1, 2.0, float("nan")])
def test_a_step_that_does_not_divide_1_is_refused(step: float) -> None:
    with pytest.raises(UsageError, match="step is"):
        weight_grid(2, step)


def test_too_many_weights_are_refused() -> None:
    with pytest.raises(UsageError, match="too many"):
        weight_grid(10, 0.05)


def test_neighbours_of_weights_move_so_many_steps_from_one_run_to_another() -> None:
    axis = SearchAxis("weights", weight_grid(3, 0.25), (1.0, 1.0, 1.0), "weights")
    assert set(axis.near((0.5, 0.5, 0.0), 1)) == {(0.25, 0.75, 0), (0.75, 0.25, 0), (0.25, 0.5, 0.25), (0.5, 0.25, 0.25)}
    assert set(axis.near((1.0, 0.0, 0.0), 2)) == {(0.5, 0.5, 0), (0.5, 0, 0.5)}


def test_a_search_starts_at_the_value_nearest_to_the_default() -> None:
    assert SearchAxis("b", (0.3, 0.6, 0.9), 0.75).start() in (0.6, 0.9)
    assert SearchAxis("weights", weight_grid(2, 0.1), (1.0, 3.0), "weights").start() in ((0.2, 0.8), (0.3, 0.7))
    assert SearchAxis("norm", ("max", "sum"), "z-score", "choice").start() == "max"


class Hill:
    """A value that falls with the distance from the best point, the same for every query but for a small slope."""

    queries = tuple(f"q{at}" for at in range(10))

    def __init__(self, best: dict[str, float]) -> None:
        self.best, self.asked = best, 0

    def values(self, settings: Sequence[Settings]) -> FloatArray:
        self.asked += len(settings)
        heights = [-sum((float(str(value)) - self.best[name]) ** 2 for name, value in one) for one in settings]
        return np.array(heights)[:, None] + np.linspace(0, 0.001, 10)

    def is_trained(self, settings: Settings) -> bool:
        return False

    def fitted_values(self, settings: Settings, train: IntArray) -> FloatArray:
        found: FloatArray = self.values([settings])[0]
        return found


@given(st.integers(0, 100), st.integers(0, 100))
def test_coordinate_search_finds_the_top_of_a_smooth_hill_with_few_trials(k1: int, b: int) -> None:
    hill = Hill({"k1": k1, "b": b})
    axes = (SearchAxis("k1", tuple(range(101)), 50), SearchAxis("b", tuple(range(101)), 50))
    space = Space((("k1", 50), ("b", 50)), (ParameterFamily((), axes),))
    assert dict(coordinate_search(Trials(hill), space, np.arange(10))) == {"k1": k1, "b": b}
    assert hill.asked < 120


def test_both_searches_agree_on_every_choice_of_one_parameter() -> None:
    matrix = np.sort(np.random.default_rng(0).random((9, 30)), axis=0)[[0, 2, 4, 6, 8, 7, 5, 3, 1]]
    trials = Trials(MatrixObjective(matrix))
    for fold in range(5):
        train = np.flatnonzero(np.arange(30) % 5 != fold)
        assert coordinate_search(trials, row_space(9), train) == grid_search(trials, row_space(9), train)


def test_each_trial_is_computed_once() -> None:
    objective = MatrixObjective(np.random.default_rng(1).random((7, 20)))
    trials = Trials(objective)
    for fold in range(10):
        grid_search(trials, row_space(7), np.flatnonzero(np.arange(20) % 10 != fold))
    assert objective.asked == 7


def test_the_values_of_settings_that_were_not_tried_are_computed() -> None:
    matrix = np.random.default_rng(2).random((3, 10))
    assert Trials(MatrixObjective(matrix)).values_of((("at", 1),)).tolist() == matrix[1].tolist()


def test_the_grid_has_each_combination_once_and_the_default_first() -> None:
    axes = (SearchAxis("a", (1, 2), 2), SearchAxis("b", (1, 2, 3), 1))
    grid = Space((("a", 2), ("b", 1)), (ParameterFamily((), axes),)).grid()
    assert grid[0] == (("a", 2), ("b", 1))
    assert len(grid) == len(set(grid)) == 6
    assert all(one < other for one, other in pairwise(grid[1:4]))


def test_too_many_trials_are_refused() -> None:
    axes = tuple(SearchAxis(name, tuple(range(100)), 0) for name in ("a", "b", "c"))
    with pytest.raises(UsageError, match="1,000,001 trials are too many"):
        Space((), (ParameterFamily((), axes),))
