"""Pairs of grades in a ranking, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from rankproof import Qrels, Run
from rankproof._analysis.doctor.check import DoctorInput, doctor_input_from_analysis
from rankproof._analysis.doctor.checks.judgements import reversed_grades, zeros_on_top
from rankproof._analysis.grade_order import _has_grades_in_order, is_against, order_of
from rankproof._analysis.inputs import input_from_runs

UNJUDGED = None


def example_input(*rankings: Sequence[int | None]) -> DoctorInput:
    """One system; each ranking lists, best first, the grades of its documents, None for one without a judgement."""
    named = {
        f"q{at:02}": [(f"d{len(grades) - rank}", grade) for rank, grade in enumerate(grades)]
        for at, grades in enumerate(rankings)
    }
    # Document ids rise where ranks fall, so that neither the order of ids nor that of the judgements is the ranking.
    qrels = {query: {doc: grade for doc, grade in reversed(docs) if grade is not None} for query, docs in named.items()}
    run = {query: {doc: 1.0 / rank for rank, (doc, _) in enumerate(docs, start=1)} for query, docs in named.items()}
    return doctor_input_from_analysis(input_from_runs(Qrels.from_dict(qrels), {"own": Run.from_dict(run)}, ["nDCG@10"]))


def test_every_pair_of_grades_is_counted_once_by_its_order() -> None:
    # 0 2 1 0: the first 0 is above 2 and 1; 2 is above 1 and 0; 1 is above 0.     1 0 2: 1 above 0; 1 and 0 above 2.
    subject = example_input([0, UNJUDGED, 2, 1, -1, 0], [1, 0, 2], [UNJUDGED, 1])
    order = order_of(subject.hits["own"], 1)
    assert order.above.tolist() == [3, 1, 0]
    assert order.below.tolist() == [2, 2, 0]
    assert order.relevant_above.tolist() == [2, 1, 0]
    assert order.zero_above.tolist() == [2, 1, 0]
    assert order.levels.tolist() == [
        [1, 1, 2],  # 0 above 0, 1, 2
        [2, 0, 1],  # 1 above 0, 1, 2
        [1, 1, 0],  # 2 above 0, 1, 2
    ]


def test_only_grades_from_the_relevance_level_on_are_relevant() -> None:
    # At level 2 the 1s are neither relevant nor of grade 0.
    order = order_of(example_input([0, 2, 1, 0], [1, 0, 2]).hits["own"], 2)
    assert order.relevant_above.tolist() == [1, 0]
    assert order.zero_above.tolist() == [1, 1]
    assert order.above.tolist() == [3, 1]


def test_reversed_grades_count_queries_and_pairs() -> None:
    # Against the grades: 9 queries with 1 pair and 1 with 2; for them: 1 with 1 pair; undecided: 1 with a pair of each kind.
    # 10 of the 11 decided queries are against, by 12 of 14 pairs; 10 - 1 is over 2.576 x sqrt(11) = 8.54.
    found = reversed_grades(example_input(*[[0, 1]] * 9, [0, 0, 1], [1, 0], [1, 0, 1]))
    assert (found.count, found.of) == (10, 11)
    assert found.sentence.endswith("own in 10 of 11 untied queries and 86% of 14 pairs")


def test_one_query_less_may_be_chance() -> None:
    # 9 against and 1 for: 8 is under 2.576 x sqrt(10) = 8.15.
    assert reversed_grades(example_input(*[[0, 1]] * 9, [1, 0])).count == 0


def test_zeros_on_top_are_distinguished_from_reversed_grades_by_twenty_pairs_in_order() -> None:
    # 0 2 1 1: three pairs with 0 above, two of 2 above 1. Ten such queries have 20 pairs of 2 and 1 in order, nine have 18.
    ten, nine = example_input(*[[0, 2, 1, 1]] * 10), example_input(*[[0, 2, 1, 1]] * 9)
    assert reversed_grades(ten).count == 0
    assert zeros_on_top(ten).sentence.endswith("own in 10 of 10 untied queries and 100% of 30 pairs")
    assert reversed_grades(nine).sentence.endswith("own in 9 of 9 untied queries and 60% of 45 pairs")
    assert zeros_on_top(nine).count == 0


@pytest.mark.parametrize(
    ("for_them", "against", "expected"),
    [(0, 7, True), (0, 6, False), (1, 10, True), (1, 9, False), (7, 0, False), (0, 0, False)],
)
def test_queries_against_the_grades_outnumber_the_others_by_a_sign_test(for_them: int, against: int, expected: bool) -> None:
    # 2.576 x sqrt(n): 6.82 of 7, 6.31 of 6, 8.54 of 11, 8.15 of 10. Two queries of equal counts decide nothing.
    right = np.array([2] * for_them + [1] * against + [3, 3])
    wrong = np.array([1] * for_them + [2] * against + [3, 3])
    assert is_against(right, wrong) is expected


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [(13, 7, True), (13, 6, False), (15, 10, False), (16, 10, True), (7, 13, False), (12, 8, False)],
)
def test_two_grades_are_in_order_by_more_than_a_standard_error_of_twenty_pairs(right: int, wrong: int, expected: bool) -> None:
    # 13 - 7 is over sqrt(20) = 4.47; 19 pairs are too few; 15 - 10 is exactly sqrt(25); 16 - 10 is over sqrt(26) = 5.1.
    assert _has_grades_in_order(np.array([[50, wrong], [right, 50]])) is expected
