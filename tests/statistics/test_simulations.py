"""Small versions of the simulations on real values, here on generated ones."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks import decision_rule, family_wise_error, interval_coverage, judge_labels, repeats_coverage, simulation

VALUES = np.clip(
    np.random.default_rng(3).random((400, 1)) * 0.6
    + np.random.default_rng(4).normal(np.linspace(0, 0.12, 15), 0.2, (400, 15)) * (np.arange(400) % 3 > 0)[:, None],
    0,
    1,
)
"""Systems from worse to better, which are alike on a third of the queries."""


def test_decisions_are_seldom_wrong_and_better_than_keeping_the_baseline() -> None:
    found = decision_rule.real_cell(VALUES, 100, 5, 150, np.random.default_rng(0))
    assert decision_rule.wrong(found) <= 0.07
    assert 0.1 < found["decided"] <= 1
    assert found["regret"] < found["baseline"]


def test_fewer_than_thirty_queries_never_decide() -> None:
    assert decision_rule.real_cell(VALUES, 29, 3, 20, np.random.default_rng(0))["decided"] == 0


def test_cheap_systems_just_past_the_margin_are_seldom_shipped() -> None:
    found = decision_rule.worst_case(300, 7, 300, np.random.default_rng(0))
    assert found["decided"] > 0.4
    assert found["wrong"] <= 0.08


def test_a_look_every_ten_queries_is_seldom_wrong_with_its_own_limit() -> None:
    truth = np.array([0.5201, 0.5])
    draw = partial(decision_rule.normal_at_margin, 2, 0.2)
    often, once = (decision_rule.many_looks(draw, truth, 40, np.random.default_rng(0), looks) for looks in ("many", "one"))
    assert often["wrong"] <= 0.1
    assert often["queries"] > once["queries"]


def test_labels_of_people_keep_a_judge_that_reverses_every_value_from_deciding() -> None:
    draw = partial(judge_labels.simulated_draw, VALUES, judge_labels.JUDGES["reversed"], 3)
    found = judge_labels.simulated(draw, 50, 60, np.random.default_rng(0))
    assert found["wrong judge"] > 0.3
    assert found["wrong both"] <= 0.1
    assert found["decided both"] == pytest.approx(found["decided labels"], abs=0.05)
    assert found["covered"] >= 0.85


def test_systems_that_fail_on_few_queries_are_noticed_with_many_queries() -> None:
    few, many = (decision_rule.rare_failures(n, 2, 100, np.random.default_rng(0))["wrong"] for n in (100, 1000))
    assert many < few <= 0.25


def test_intervals_of_t_hold_the_truth_where_enough_queries_differ() -> None:
    found = interval_coverage.simulate([VALUES], 50, 800, np.random.default_rng(0))
    assert found["shown"] > 0.99
    assert 0.92 <= found["t"] <= 0.975
    assert 0.89 <= found["bca"] <= 0.97
    assert 0.89 <= found["percentile"] <= 0.97


@pytest.mark.slow
def test_permuted_systems_are_seldom_called_different() -> None:
    found = family_wise_error.simulate(VALUES, 30, 4, 150, np.random.default_rng(0))
    assert found["randomisation"] <= 0.1
    assert found["t"] <= 0.1


def test_a_finished_cell_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "FOLDER", tmp_path / "cells")
    drawn: list[float] = []

    def draw(random: np.random.Generator) -> simulation.Cell:
        drawn.append(float(random.random()))
        return {"share": drawn[-1]}

    first = simulation.StoredCells("coin", "10 rounds").cell("n = 5", draw)
    assert simulation.StoredCells("coin", "10 rounds").cell("n = 5", draw) == first
    assert len(drawn) == 1
    assert simulation.StoredCells("coin", "20 rounds").cell("n = 5", draw) != first
    assert len(drawn) == 2


def test_the_upper_bound_of_a_share_is_above_it() -> None:
    assert simulation.upper_bound(0.0, 100) == pytest.approx(0.0263, abs=1e-3)
    assert 0.05 < simulation.upper_bound(0.05, 2_000) < 0.06


def test_question_means_cover_the_truth_and_rows_do_not() -> None:
    found = repeats_coverage.design_cell(40, 10, repeats_coverage.SPREADS["much"], 120, np.random.default_rng(0))
    assert found["coverage means"] >= 0.9
    assert found["coverage rows"] <= 0.85
    assert found["within"] == pytest.approx(found["true within"], rel=0.05)


def test_rows_of_hard_questions_that_are_asked_more_often_lower_the_mean() -> None:
    found = repeats_coverage.retried_cell(100, 20, np.random.default_rng(0))
    assert found["means"] == pytest.approx(found["truth"], abs=0.03)
    assert found["rows"] < found["truth"] - 0.1
