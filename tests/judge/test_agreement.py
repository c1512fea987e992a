"""Agreement of a judge with human judgements: failed pairs, thresholds, notes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from rankproof._judge.agreement import (
    RatedPair,
    Thresholds,
    agreement_table,
    binarize,
    both_graded,
    confusion_counts,
    confusion_table,
    rated_pairs,
)
from rankproof._judge.pairs import QueryDocPair
from rankproof._statistics.agreement import kappa, same_grade
from rankproof.errors import UsageError


def rated(cells: Mapping[tuple[int, int | None], int], queries: int = 10) -> list[RatedPair]:
    """So many pairs of each kind, dealt to the queries."""
    each = [key for key, count in cells.items() for _ in range(count)]
    return [RatedPair(QueryDocPair(f"q{at % queries}", f"d{at}"), human, judge) for at, (human, judge) in enumerate(each)]


def test_failed_pairs_are_counted_apart_from_the_grades() -> None:
    pairs = rated({(0, 0): 6, (3, 3): 5, (3, None): 4, (0, None): 1})
    assert confusion_counts(pairs, [0, 3], [0, 1, 2, 3]).tolist() == [[6, 0, 0, 0, 1], [0, 0, 0, 5, 4]]
    assert kappa(both_graded(pairs)).items == 11
    assert same_grade(both_graded(pairs)).value == 1
    table = agreement_table(pairs, "llm:m:0", Thresholds())
    assert "Left out, because the judge gave no grade: 5 of 16 pairs (31.2%)." in table.sentences
    *counts, mean = confusion_table(pairs).rows[-1]
    assert (counts, mean) == (["all", 6, 0, 0, 5, 5, 16], 15 / 11)


def test_relevant_or_not_takes_a_threshold_for_each_side() -> None:
    pairs = rated({(1, 2): 5, (0, 1): 5, (0, None): 1})
    assert kappa(both_graded(binarize(pairs, 1, 2))).value == 1
    assert kappa(both_graded(binarize(pairs, 1, 1))).value == 0
    assert binarize(pairs, 1, 2)[-1].judge is None


def test_a_table_says_that_queries_are_few_and_scales_differ() -> None:
    notes = agreement_table(rated({(0, 0): 5, (1, 3): 5}, queries=3), "llm:m:0", Thresholds()).notes
    assert any("with only 3 queries" in note for note in notes)
    assert any("grades end at 1" in note for note in notes)
    assert any("the grades 4" in note for note in agreement_table(rated({(4, 3): 2, (0, 0): 1}), "m", Thresholds()).notes)


def test_only_pairs_that_both_judged_are_compared() -> None:
    human = {QueryDocPair("q", "a"): 1, QueryDocPair("q", "b"): 2}
    assert rated_pairs(human, {QueryDocPair("q", "b"): None, QueryDocPair("q", "c"): 3}) == [
        RatedPair(QueryDocPair("q", "b"), 2, None)
    ]


def test_without_grades_no_statistic_is_computed() -> None:
    table = agreement_table(rated({(0, None): 3}), "m", Thresholds())
    assert [row[1] for row in table.rows] == [None] * 5
    assert not any(isinstance(cell, float) and math.isnan(cell) for row in table.rows for cell in row)


def test_a_judge_of_one_grade_does_not_discriminate() -> None:
    sentence = "The judge gave grade 1 to every pair: it does not discriminate."
    assert sentence in agreement_table(rated({(0, 1): 3, (3, 1): 3}), "m", Thresholds()).sentences
    assert sentence not in agreement_table(rated({(0, 1): 3, (3, 2): 3}), "m", Thresholds()).sentences


def test_the_human_scale_is_that_of_all_judgements_not_of_the_sample() -> None:
    drawn = rated({(0, 0): 96, (1, 1): 4})
    (note,) = agreement_table(drawn, "llm:x:1", Thresholds(highest=3)).notes[1:]
    assert note.startswith(
        "fewer than 10 pairs have human grade 1 (4), 2 (0), 3 (0): agreement on these grades cannot be measured"
    )
    assert "human grades end at 1" in agreement_table(drawn, "llm:x:1", Thresholds()).notes[-1]


def test_grades_that_enough_pairs_have_are_not_noted() -> None:
    assert agreement_table(rated({(grade, grade): 10 for grade in range(4)}, 20), "llm:x:1", Thresholds(highest=3)).notes == ()


@pytest.mark.parametrize("how", [{"judge_rel": 7}, {"rel": 9, "judge_rel": 1, "highest": 3}, {"rel": 4, "judge_rel": 4}])
def test_a_threshold_that_no_grade_reaches_is_refused(how: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"no grade of .* or more|has grade"):
        Thresholds(**how)
