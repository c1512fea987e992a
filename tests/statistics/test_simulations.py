"""Small versions of the simulations on real values, here on generated ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks import (
    decision_rule,
    family_wise_error,
    interval_coverage,
    judge_labels,
    repeats_coverage,
    simulation,
    unjudged_rule,
)
from benchmarks.real_values import LabelledSet

from rankproof import Qrels, Run, compare
from rankproof._analysis.decision.decide import DecisionData, decide
from rankproof._analysis.decision.scenarios import MissingValues
from rankproof.measures._parse import parse_measure

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


def test_waiting_costs_where_the_leader_is_truly_better_than_the_first_system_and_saves_where_it_is_worse() -> None:
    names = ("open", "leader wrong", "costs", "saves", "leader regret", "waiting regret")
    better, worse = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    decision_rule.add_waiting(better, np.array([0.5, 0.6]), 1)
    decision_rule.add_waiting(worse, np.array([0.6, 0.5]), 1)
    assert better == pytest.approx(dict(zip(names, (1, 0, 1, 0, 0, 0.1), strict=True)))
    assert worse == pytest.approx(dict(zip(names, (1, 1, 0, 1, 0.1, 0), strict=True)))


def test_the_former_rule_ships_cheap_systems_past_the_margin_more_often() -> None:
    random, truth, wrong = np.random.default_rng(0), np.array([0.5201, *[0.5] * 14]), {"now": 0, "former": 0}
    costs = [20.0, *(1.0 + at for at in range(14))]
    for _ in range(100):
        values = truth + random.normal(0, 0.2 / np.sqrt(2), (1_000, 15))
        wrong["now"] += decision_rule.is_wrong(decision_rule.choose(values, costs), truth)
        wrong["former"] += decision_rule.is_wrong(decision_rule.former_choice(values, costs, random), truth)
    assert wrong["former"] > 2 * wrong["now"]
    assert wrong["former"] > 15


def test_a_moved_mean_is_the_wanted_one_and_values_stay_between_0_and_1() -> None:
    for wanted in (0.1, 0.45, 0.97):
        moved = judge_labels.moved_mean(VALUES[:, 0], wanted, np.random.default_rng(0))
        assert moved.mean() == pytest.approx(wanted)
        assert 0 <= moved.min() <= moved.max() <= 1


def labelled_set(first: list[float], second: list[float]) -> LabelledSet:
    values = np.array(first), np.array(second)
    return LabelledSet("made", "itself", values, values)


def test_the_favourite_of_the_judge_is_made_two_points_worse_than_the_other() -> None:
    people = (VALUES[:, 0], VALUES[:, 1])
    changed = judge_labels.at_margin(LabelledSet("made", "likes the second", people, (0 * people[0], 0 * people[1] + 1)), (0, 1))
    truth = changed.truth((0, 1))
    assert truth[1] == pytest.approx(truth[0] - 0.0201)
    assert decision_rule.is_wrong(decision_rule.Choice((1,), 1), truth)
    assert not decision_rule.is_wrong(decision_rule.Choice((0,), 0), truth)


def test_questions_are_drawn_together_only_where_systems_share_them() -> None:
    numbers = list(np.arange(50.0))
    together = labelled_set(numbers, numbers)
    apart = replace(together, is_paired=False)
    for item, same in ((together, True), (apart, False)):
        people, judged = item.drawn(30, (0, 1), np.random.default_rng(0))
        assert np.array_equal(people[:, 0], people[:, 1]) is same
        assert np.array_equal(people, judged)


def test_a_system_that_hides_its_wrong_answers_wins_only_where_they_are_left_out() -> None:
    hides = labelled_set([0.7] * 100, [0.0, 1.0] * 50)
    found = judge_labels.missing_cell(hides, (0, 1), 0.5, 20, np.random.default_rng(0))
    assert found["wrong left out"] > 0.9
    assert found["decided no answer"] > 0.5
    assert [found[f"wrong {way}"] for way in judge_labels.WAYS[1:]] == [0, 0, 0]
    assert found["decided abstained"] == found["decided no value"] == 0


@pytest.mark.parametrize("kind", range(3))
def test_simulated_missing_values_are_decided_as_by_the_rule(kind: int) -> None:
    random, names = np.random.default_rng(kind), ("a", "b")
    for share in (0.01, 0.1, 0.4):
        values = np.clip(random.normal((0.6, 0.5), 0.2, (120, 2)), 0, 1)
        hidden, none = random.random(values.shape) < (0, share), np.zeros(values.shape, dtype=np.bool_)
        no_answer, abstained, unknown = (hidden if at == kind else none for at in range(3))
        missing = MissingValues(no_answer, abstained, unknown)
        values = np.where(hidden, 0.0, values)
        decision = decide(DecisionData(parse_measure("nDCG@10"), names, values, missing=missing))
        assert decision.systems == tuple(names[at] for at in judge_labels.with_missing(values, missing).systems)


def test_a_pool_has_the_first_documents_of_its_systems_and_a_relative_shares_most_of_them() -> None:
    tops = {"a": {"q": ["x", "y"]}, "b": {"q": ["z", "v"]}, "c": {"q": ["y", "w"]}, "d": {"q": ["v", "w"]}}
    pool = unjudged_rule.pool_of({"q": {"x": 2, "z": 1, "v": 1}}, tops, {"a": 2, "b": 1}, zeros=True)
    assert pool["q"] == {"x": 2, "y": 0, "z": 1}
    assert unjudged_rule.pool_of({"q": {"x": 2}}, tops, {"a": 2}, zeros=False)["q"] == {"x": 2}
    assert unjudged_rule.relative_of("a", "b", tops) == "c"
    assert unjudged_rule.relative_of("b", "a", tops) == "d"


def test_a_decision_by_a_pool_is_wrong_if_complete_judgements_put_the_system_past_the_margin() -> None:
    queries = [f"q{at}" for at in range(40)]
    qrels = Qrels({query: {"x": 1} for query in queries})
    truth = compare(qrels, {"a": Run({query: ["x"] for query in queries}), "b": Run({query: ["y", "x"] for query in queries})})
    assert unjudged_rule.is_wrong(("b",), truth)
    assert not unjudged_rule.is_wrong(("a",), truth)
    assert not unjudged_rule.is_wrong((), truth)
