"""Several judges as one judge, with weights from labels of people."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import several_judges

from rankproof._data.arrays import FloatArray
from rankproof._statistics.prediction_powered import FOLDS, combined_judges

RANDOM = np.random.default_rng(5)
PEOPLE = (RANDOM.random((200, 3)) < 0.6).astype(np.float64)
GOOD = PEOPLE + RANDOM.normal(0, 0.1, PEOPLE.shape)
USELESS = RANDOM.random(PEOPLE.shape)
LABELLED = RANDOM.permutation(200)[:40]


def learned(*judges: FloatArray, people: FloatArray = PEOPLE) -> tuple[FloatArray, FloatArray]:
    return combined_judges(judges, people[LABELLED], LABELLED)


def test_a_judge_that_follows_people_has_almost_all_of_the_weight() -> None:
    _, weights = learned(GOOD, USELESS)
    assert weights[0] > 0.9
    assert weights.sum() == pytest.approx(1)


def test_judges_that_are_alike_count_alike() -> None:
    values, weights = learned(GOOD, GOOD, GOOD)
    assert weights == pytest.approx([1 / 3] * 3)
    assert values == pytest.approx(GOOD)


def test_a_judge_that_says_the_reverse_of_people_has_no_weight() -> None:
    _, weights = learned(GOOD, 1 - PEOPLE)
    assert weights == pytest.approx([1, 0])


def test_judges_that_all_say_the_reverse_or_never_vary_count_alike() -> None:
    for judge in (1 - PEOPLE, np.full_like(PEOPLE, 0.5)):
        assert learned(judge, judge)[1] == pytest.approx([0.5, 0.5])


def test_the_label_of_a_question_has_no_part_in_the_weights_for_it() -> None:
    before, _ = learned(GOOD, USELESS)
    changed = PEOPLE.copy()
    changed[LABELLED[0]] = 1 - changed[LABELLED[0]]
    after, _ = learned(GOOD, USELESS, people=changed)
    own = LABELLED[::FOLDS]
    assert np.array_equal(before[own], after[own])
    assert not np.array_equal(before[LABELLED[1]], after[LABELLED[1]])


def test_intervals_with_learned_weights_cover_the_truth_and_are_no_worse_than_labels_alone() -> None:
    world = several_judges.WORLDS[3]
    cells = several_judges.row(world, 50, 200).split("|")
    covered, variances = float(cells[3]), [float(value) for value in cells[4].split("/")]
    assert 90 <= covered <= 99.5
    assert variances[-1] < 0.75


def test_a_label_has_no_part_in_the_weights_of_its_conversation() -> None:
    groups = np.arange(200) // 10
    changed = PEOPLE.copy()
    session = groups[LABELLED[0]]
    changed[groups == session] = 1 - changed[groups == session]
    own = groups == session
    before, after = (combined_judges([GOOD, USELESS], people[LABELLED], LABELLED, groups)[0] for people in (PEOPLE, changed))
    labelled = np.isin(np.arange(200), LABELLED)
    assert np.array_equal(before[own & labelled], after[own & labelled])
    assert not np.array_equal(before[~own & labelled], after[~own & labelled])
