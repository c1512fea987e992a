"""The record of a decision: what it holds if nothing else is known, what follows from it, and its table."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import pytest

from rankproof._analysis.decision.record import (
    Costs,
    Decision,
    JudgeCheck,
    OwnDocuments,
    PairDifference,
    SystemRisk,
    UnjudgedRival,
)
from rankproof.measures import parse_measure
from rankproof.measures._base import Measure

NDCG, DCG, LOWER = parse_measure("nDCG@10"), parse_measure("DCG@10"), parse_measure("Hallucination(judge='mine')")


def system(name: str, value: float = 0.5, **more: Any) -> SystemRisk:
    return SystemRisk(name, value, 0.01, 0.05, "b", None, 0.0, **more)


def decision(*systems: SystemRisk, measure: Measure = NDCG, **more: Any) -> Decision:
    pair = PairDifference("a", "b", 0.1, None, 3, True)
    usual: dict[str, Any] = {"kind": "better", "systems": ("a",), "leader": "a", "against": (pair,)}
    return Decision("ship", measure, 0.02, 100, 100, systems, **{**usual, **more})


def test_a_decision_alone_is_one_look_at_a_race_of_two_and_nothing_was_counted() -> None:
    counted = {name: value for name, value in asdict(decision()).items() if isinstance(value, int | float)}
    assert counted == {"margin": 0.02, "n": 100, "queries": 100, "race": 2, "look": 1, "without_relevant": 0, "unjudged": 0}


def test_a_pair_has_no_failures_a_check_no_changed_labels_and_a_rival_is_near_unless_known_otherwise() -> None:
    pair = PairDifference("a", "b", 0.1, None, 3, True)
    assert (pair.failures, pair.other_failures, pair.error) == (0, 0, None)
    assert JudgeCheck("people.qrels").changed == 0
    assert UnjudgedRival(OwnDocuments("a", 1, 1, 2), OwnDocuments("b", 1, 1, 2), 0.5, has_zeros=True, depth=10).is_near


def test_only_latencies_of_a_millisecond_apart_are_the_same_cost() -> None:
    assert [Costs(unit).same_within for unit in ("ms", "money", "given", None)] == [1.0, 0.0, 0.0, 0.0]
    assert (Costs().of("a"), Costs("ms", {"a": 2.0}).of("a")) == (None, 2.0)


@pytest.mark.parametrize(("known", "shown", "share"), [(0, 0, 0.0), (1, 4, 0.25), (3, 3, 1.0)])
def test_the_share_of_known_documents_is_0_if_none_is_shown(known: int, shown: int, share: float) -> None:
    assert OwnDocuments("a", known, 0, shown).share == share


@pytest.mark.parametrize(
    ("measure", "values", "best"),
    [(NDCG, (0.25, 0.5), 0.5), (LOWER, (0.25, 0.5), 0.75), (DCG, (2.0, -4.0), 2.0), (DCG, (-3.0, -4.0), 3.0)],
)
def test_the_best_value_is_the_highest_mean_or_one_minus_the_lowest(
    measure: Measure, values: tuple[float, float], best: float
) -> None:
    assert decision(system("a", values[0]), system("b", values[1]), measure=measure).best_value == best


def test_the_best_value_of_a_measure_without_a_range_of_which_lower_is_better_is_the_size_of_the_lowest() -> None:
    lower = type("Lower", (type(DCG),), {"higher_is_better": False})()
    assert decision(system("a", -3.0), system("b", 2.0), measure=lower).best_value == 3.0
    assert math.isnan(decision().best_value)


@pytest.mark.parametrize(
    ("facts", "unchecked"),
    [
        ({}, False),
        ({"judge": "tiny"}, True),
        ({"judge": "tiny", "labels_by": "people"}, False),
        ({"judge": "tiny", "labelled": 29}, True),
        ({"judge": "tiny", "labelled": 30}, False),
        ({"judge": "tiny", "labelled": 40, "reason": "few_labels"}, True),
        ({"judge": "tiny", "labelled": 40, "reason": "risk"}, False),
        ({"labelled": 3, "reason": "few_labels"}, False),
    ],
)
def test_a_judge_is_unchecked_until_people_labelled_thirty_questions(facts: dict[str, Any], unchecked: bool) -> None:
    made = decision(system("a"), system("b"), **facts)
    assert made.is_judge_unchecked is unchecked
    (table,) = made._view().tables
    assert ("risk" in [column.name for column in table.columns]) is not unchecked


@pytest.mark.parametrize(("check", "corrected"), [(None, False), (JudgeCheck("f"), False), (JudgeCheck("f", weight=0.0), True)])
def test_means_are_corrected_once_labels_give_the_judge_a_weight(check: JudgeCheck | None, corrected: bool) -> None:
    assert decision(check=check).is_corrected is corrected


def test_systems_with_the_same_rankings_count_once_and_are_marked_together() -> None:
    made = decision(system("a"), system("b", same_as="a"), system("c"), systems=("a",), leader="c")
    assert [risk.name for risk in made.distinct] == ["a", "c"]
    assert made.marked == {"a", "b"}
    assert replace(made, systems=("c",)).marked == {"c"}
    assert (made.are_same("a", "b"), made.are_same("b", "a"), made.are_same("b", "c"), made.are_same("c", "c")) == (
        True,
        True,
        False,
        True,
    )
    assert (made.first, replace(made, systems=()).first) == ("a", "c")


@pytest.mark.parametrize(
    ("outcome", "decided"),
    [("ship", True), ("either", True), ("keep", True), ("not_decided", False), ("judge_leads", False), (None, False)],
)
def test_only_an_outcome_that_says_what_to_do_is_a_decision(outcome: Any, decided: bool) -> None:
    assert replace(decision(), outcome=outcome).decided is decided


def test_the_table_of_a_decision_has_a_row_for_each_system_and_names_copies_only_if_there_are_any() -> None:
    view = decision(system("a"), system("b", 0.25))._view()
    (table,) = view.tables
    assert view.title == "Decision by nDCG@10, 100 queries"
    assert [column.name for column in table.columns] == ["system", "value", "risk", "limit", "rival", "cost"]
    assert table.rows == (("a", 0.5, 0.01, 0.05, "b", None), ("b", 0.25, 0.01, 0.05, "b", None))
    copies = decision(system("a"), system("b"), system("c", same_as="a"))
    (table,) = copies._view().tables
    assert [row[-1] for row in table.rows] == [None, None, "a"]
    assert replace(copies, n=1)._view().title == "Decision by nDCG@10, 1 query"
