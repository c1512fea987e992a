"""Nested cross-validation: folds, held-out values, the gain with its interval, and what tuning shows where nothing is gained."""

from __future__ import annotations

import numpy as np
import pytest

from rankproof._data.arrays import FloatArray
from rankproof._statistics.deterministic import VariateStream
from rankproof._tune.parameters import ParameterFamily, SearchAxis, Space
from rankproof._tune.search import HeldOut, Trials, check_enough_queries, cross_validate, fold_numbers, grid_search, held_out_gain
from rankproof._tune.tables import tuning_tables
from rankproof._tune.tuning import TunedResult, TuningPlan, tune_objective
from rankproof.errors import UsageError
from rankproof.measures import nDCG
from support.tuned_matrices import MatrixObjective, MemorisingObjective, row_space


def tuned(matrix: FloatArray, default: int = 0) -> TunedResult:
    return tune_objective(MatrixObjective(matrix), row_space(len(matrix), default), nDCG @ 10, TuningPlan())


def random_values(rows: int, queries: int, seed: int) -> FloatArray:
    """Rows with the same true mean: a value of the query, and noise."""
    stream = VariateStream(seed, "normals")
    return 0.3 * stream.normals(queries) + 0.15 * stream.normals(rows * queries).reshape(rows, queries)


@pytest.mark.parametrize(("queries", "folds"), [(10, 5), (11, 5), (4, 2), (7, 3)])
def test_folds_hold_each_query_once_and_differ_by_at_most_one(queries: int, folds: int) -> None:
    numbers = fold_numbers(queries, folds, seed=3, repeat=1)
    counts = np.bincount(numbers, minlength=folds)
    assert counts.sum() == queries
    assert counts.max() - counts.min() <= 1


def test_repeats_and_seeds_split_differently_and_the_same_split_comes_back() -> None:
    splits = [fold_numbers(40, 5, seed, repeat).tolist() for seed, repeat in ((0, 0), (0, 1), (1, 0))]
    assert len({tuple(one) for one in splits}) == 3
    assert fold_numbers(40, 5, 0, 1).tolist() == splits[1]


def test_the_settings_of_a_fold_do_not_depend_on_its_own_queries() -> None:
    matrix = random_values(6, 20, seed=1)
    numbers = fold_numbers(20, 5, 0, 0)
    other = matrix.copy()
    other[:, numbers == 2] = np.linspace(5, -5, 6)[:, None]
    found = [
        cross_validate(Trials(MatrixObjective(one)), row_space(6), grid_search, folds=5, repeats=1) for one in (matrix, other)
    ]
    assert found[0].chosen[2] == found[1].chosen[2]


def test_a_fold_is_measured_with_the_row_that_the_other_folds_chose() -> None:
    matrix = random_values(4, 12, seed=2)
    held = cross_validate(Trials(MatrixObjective(matrix)), row_space(4), grid_search, folds=3, repeats=2)
    for repeat in range(2):
        numbers = fold_numbers(12, 3, 0, repeat)
        for fold in range(3):
            row = matrix[:, numbers != fold].sum(axis=1).argmax()
            assert held.chosen[repeat * 3 + fold] == (("at", row),)
            assert held.values[repeat, numbers == fold].tolist() == matrix[row, numbers == fold].tolist()


def test_the_gain_of_one_repeat_has_the_error_of_a_paired_t_test_times_the_overlap_of_training_sets() -> None:
    values, base = np.arange(20.0)[None, :], np.zeros(20)
    gain = held_out_gain(HeldOut(values, (), folds=5), base)
    error = np.arange(20).std(ddof=1) / np.sqrt(20) * np.sqrt(5 / 4)
    assert gain.interval is not None
    assert gain.mean == 9.5
    assert gain.interval == pytest.approx((9.5 - 2.0930240544082634 * error, 9.5 + 2.0930240544082634 * error))
    assert gain.p is not None
    assert gain.p < 1e-4


def test_a_gain_on_few_queries_has_no_interval() -> None:
    values = np.zeros((1, 30))
    values[0, :9] = 0.5
    gain = held_out_gain(HeldOut(values, (), folds=5), np.zeros(30))
    assert gain.mean == pytest.approx(0.15)
    assert gain.interval is None
    assert gain.p is None


def test_a_true_gain_is_found_on_held_out_queries() -> None:
    matrix = random_values(5, 200, seed=4)
    matrix[3] += 0.2
    result = tuned(matrix)
    assert result.best == (("at", 3),)
    assert result.pays
    assert result.gain.mean == pytest.approx(0.2, abs=0.05)
    assert result.shares == [((("at", 3),), 1.0)]


def test_the_tables_say_what_folds_chose_in_order() -> None:
    matrix = random_values(12, 40, seed=6)
    gain, parameters, trials = tuning_tables(tuned(matrix))
    chosen = [int(one) for one in str(parameters.rows[0][4]).split(", ")]
    assert len(chosen) > 1
    assert chosen == sorted(chosen)
    assert gain.sentences[0].startswith("Keep the defaults: no significant gain")
    means = [float(str(row[1])) for row in trials.rows]
    assert means == sorted(means, reverse=True)


def test_a_worse_system_than_the_default_is_never_chosen() -> None:
    matrix = np.stack([np.full(30, 0.9), np.linspace(0, 0.5, 30)])
    result = tuned(matrix)
    assert result.best == result.space.default
    assert result.gain.mean == result.optimism == 0.0
    assert not result.pays


def test_lower_is_better_chooses_the_lowest() -> None:
    matrix = random_values(4, 60, seed=5)
    matrix[2] -= 1
    trials = Trials(MatrixObjective(matrix), higher_is_better=False)
    assert grid_search(trials, row_space(4), np.arange(60)) == (("at", 2),)


def test_equal_means_go_to_the_default_whatever_the_order_of_the_queries() -> None:
    row = np.array([0.1, 0.2, 0.3, 0.7, 0.05, 1 / 3] * 5)
    matrix = np.stack([row, row[::-1], np.roll(row, 7)])
    trials = Trials(MatrixObjective(matrix))
    assert grid_search(trials, row_space(3, default=2), np.arange(30)) == (("at", 2),)


def test_a_method_that_memorises_its_training_queries_is_not_chosen() -> None:
    matrix = np.stack([np.full(40, 0.5), np.ones(40), np.linspace(0.4, 0.7, 40)])
    objective = MemorisingObjective(matrix)
    result = tune_objective(objective, row_space(3), nDCG @ 10, TuningPlan())
    assert result.trials[(("at", 1),)] == 1.0
    assert all(settings != (("at", 1),) for settings, _ in result.shares)


def test_weights_of_queries_count_in_the_choice_and_in_the_gain() -> None:
    matrix = np.stack([np.zeros(40), np.where(np.arange(40) < 20, 1.0, -1.0) + np.linspace(0, 0.01, 40)])
    weights = np.where(np.arange(40) < 20, 1.0, 3.0)
    assert tuned(matrix).best == (("at", 1),)
    weighted = tune_objective(MatrixObjective(matrix), row_space(2), nDCG @ 10, TuningPlan(), weights=weights)
    assert weighted.best == (("at", 0),)


@pytest.mark.parametrize(("queries", "folds", "fix"), [(9, 5, "lower --folds to 4"), (3, 5, "judge at least 4")])
def test_too_few_queries_are_refused(queries: int, folds: int, fix: str) -> None:
    with pytest.raises(UsageError, match="too few") as caught:
        check_enough_queries(queries, folds)
    assert fix in caught.value.fix


def test_a_measure_that_no_trial_changes_is_refused() -> None:
    with pytest.raises(UsageError, match="is the same for all 3 trials"):
        tuned(np.tile(np.linspace(0, 1, 20), (3, 1)))


def test_more_values_than_fit_in_memory_are_refused() -> None:
    axis = SearchAxis("at", tuple(range(90_000)), 0)
    space = Space((("at", 0),), (ParameterFamily((), (axis,)),))
    with pytest.raises(UsageError, match="90,001 trials on 600 queries need too much memory"):
        tune_objective(MatrixObjective(np.zeros((2, 600))), space, nDCG @ 10, TuningPlan())


def test_one_trial_is_refused() -> None:
    with pytest.raises(UsageError, match="one trial"):
        tuned(np.linspace(0, 1, 20)[None, :])


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "queries"), [(2, 50), (20, 50), (20, 200)])
def test_without_a_true_gain_the_naive_gain_is_positive_and_the_held_out_gain_is_about_0(rows: int, queries: int) -> None:
    found = [tuned(random_values(rows, queries, seed=seed), default=rows // 2) for seed in range(200)]
    held, naive = np.array([one.gain.mean for one in found]), np.array([one.naive for one in found])
    error = held.std(ddof=1) / np.sqrt(len(held))
    assert abs(held.mean()) < 3 * error
    assert naive.mean() > 5 * naive.std(ddof=1) / np.sqrt(len(naive))
    covered = [one.gain.interval is None or one.gain.interval[0] <= 0 <= one.gain.interval[1] for one in found]
    assert np.mean(covered) >= 0.90
    assert np.mean([one.pays for one in found]) <= 0.06
