"""Agreement of a judge with human judgements: kappa by hand and as published, bootstrap over queries, failed pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._judge.agreement import (
    RatedPair,
    Thresholds,
    agreement_table,
    binarize,
    confusion_counts,
    confusion_table,
    exact_agreement,
    kappa,
    rated_pairs,
)
from rankproof._judge.rubric import QueryDocPair
from rankproof.errors import UsageError

COHEN: dict[tuple[int, int | None], int] = {
    (0, 0): 88,
    (0, 1): 14,
    (0, 2): 18,
    (1, 0): 10,
    (1, 1): 40,
    (1, 2): 10,
    (2, 0): 2,
    (2, 1): 6,
    (2, 2): 12,
}
"""Two raters of 200 patients, Cohen 1968; kappa is .492 there."""
GRADES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 9)), min_size=2, max_size=60)


def rated(cells: Mapping[tuple[int, int | None], int], queries: int = 10) -> list[RatedPair]:
    """So many pairs of each kind, dealt to the queries."""
    each = [key for key, count in cells.items() for _ in range(count)]
    return [RatedPair(QueryDocPair(f"q{at % queries}", f"d{at}"), human, judge) for at, (human, judge) in enumerate(each)]


def test_kappa_of_the_textbook_table_of_two_raters_is_four_tenths() -> None:
    found = kappa(rated({(1, 1): 20, (1, 0): 5, (0, 1): 10, (0, 0): 15}), "kappa")
    assert found.value == pytest.approx(0.4, abs=1e-12)
    assert found.pairs == 50


def test_kappa_of_three_grades_is_as_published_and_as_computed_by_hand() -> None:
    observed, rows, columns = 140 / 200, (120, 60, 20), (100, 60, 40)
    expected = sum(row * column for row, column in zip(rows, columns, strict=True)) / 40_000
    found = kappa(rated(COHEN), "kappa")
    assert found.value == pytest.approx((observed - expected) / (1 - expected), abs=1e-12)
    assert found.value == pytest.approx(0.492, abs=5e-4)


def test_weighted_kappa_counts_a_disagreement_by_the_square_of_its_distance() -> None:
    seen = (14 + 10 + 10 + 6) * 1 + (18 + 2) * 4
    rows, columns = (120, 60, 20), (100, 60, 40)
    chance = sum((i - j) ** 2 * rows[i] * columns[j] / 200 for i in range(3) for j in range(3))
    assert kappa(rated(COHEN), "kappa", weighted=True).value == pytest.approx(1 - seen / chance, abs=1e-12)


@given(GRADES)
def test_kappa_is_that_of_scikit_learns_formula_and_within_its_bounds(rows: list[tuple[int, int, int]]) -> None:
    pairs = [RatedPair(QueryDocPair(f"q{query}", f"d{at}"), human, judge) for at, (human, judge, query) in enumerate(rows)]
    for weighted in (False, True):
        found = kappa(pairs, "kappa", weighted=weighted, resamples=100)
        human, judge = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        apart = (human[:, None] - judge[None, :]) ** 2 if weighted else human[:, None] != judge[None, :]
        chance = float(np.mean(apart))
        if not chance:
            assert found.value is None
            continue
        assert found.value == pytest.approx(1 - float(np.mean(np.diagonal(apart))) / chance, abs=1e-9)
        assert found.value is not None
        assert found.value <= 1
        assert found.interval is None or found.interval[0] <= found.interval[1] <= 1 + 1e-12


def test_full_agreement_is_one_and_a_judge_of_one_grade_has_no_kappa() -> None:
    assert kappa(rated({(0, 0): 4, (3, 3): 4}), "kappa").value == 1
    assert kappa(rated({(2, 2): 8}), "kappa").value is None
    assert kappa(rated({(0, 2): 4, (3, 2): 4}), "kappa").value == 0


def test_an_interval_is_wider_where_the_pairs_of_a_query_agree_with_each_other() -> None:
    apart = [RatedPair(QueryDocPair(f"q{at}", "d"), at % 2, at % 2 if at % 3 else 1 - at % 2) for at in range(300)]
    alike = [
        RatedPair(QueryDocPair(f"q{at // 30}", f"d{at}"), at % 2, at % 2 if at // 30 % 3 else 1 - at % 2) for at in range(300)
    ]
    wide = [found.interval for found in (kappa(alike, "kappa"), kappa(apart, "kappa"))]
    assert wide[0] is not None
    assert wide[1] is not None
    assert wide[0][1] - wide[0][0] > 2 * (wide[1][1] - wide[1][0])


def test_the_same_seed_gives_the_same_interval_and_another_one_does_not() -> None:
    first, again, other = (kappa(rated(COHEN, queries=97), "kappa", seed=seed).interval for seed in (1, 1, 2))
    assert first == again != other


def test_failed_pairs_are_counted_apart_from_the_grades() -> None:
    pairs = rated({(0, 0): 6, (3, 3): 5, (3, None): 4, (0, None): 1})
    assert confusion_counts(pairs, [0, 3], [0, 1, 2, 3]).tolist() == [[6, 0, 0, 0, 1], [0, 0, 0, 5, 4]]
    assert kappa(pairs, "kappa").pairs == 11
    assert exact_agreement(pairs, "same").value == 1
    table = agreement_table(pairs, "llm:m:0", Thresholds())
    assert "Left out, because the judge gave no grade: 5 of 16 pairs (31.2%)." in table.sentences
    *counts, mean = confusion_table(pairs).rows[-1]
    assert (counts, mean) == (["all", 6, 0, 0, 5, 5, 16], 15 / 11)


def test_relevant_or_not_takes_a_threshold_for_each_side() -> None:
    pairs = rated({(1, 2): 5, (0, 1): 5, (0, None): 1})
    assert kappa(binarize(pairs, 1, 2), "kappa").value == 1
    assert kappa(binarize(pairs, 1, 1), "kappa").value == 0
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
