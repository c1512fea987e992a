"""Means from people's labels of some questions and a judge's values of all: worked cases and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._statistics.decision_rule import further_query, pair_estimates, risks
from rankproof._statistics.distributions import student_above, student_quantile
from rankproof._statistics.labelled_means import (
    LABEL_COUNTS,
    LabelledMeans,
    chance_to_decide,
    labelled_means,
    labels_needed,
)

HUMAN = np.array([[1, 0], [1, 1], [0, 0], [1, 0]], dtype=np.float64)
OTHERS = np.array([[1, 0], [1, 0], [1, 1], [0, 0], [1, 1], [1, 0], [1, 1], [0, 0]], dtype=np.float64)
NONE = np.zeros((0, 2))
FURTHER = 0.25**2


def error_of(found: LabelledMeans) -> float:
    covariance = found.covariance(FURTHER)
    if len(covariance) == 1:
        return math.sqrt(covariance[0, 0])
    return math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])


def risk_of_first(found: LabelledMeans) -> float:
    return student_above((float(found.means[0] - found.means[1]) + 0.02) / error_of(found), found.freedom(FURTHER))


SHIFT = np.array([0, 0.3])
ANOTHER_JUDGE = np.array([[1, 0], [0, 1], [0, 0], [1, 0]], dtype=np.float64)


@pytest.mark.parametrize(
    ("judged", "others", "weight", "means", "error", "freedom", "risk"),
    [
        (HUMAN, NONE, 0, (0.75, 0.25), 0.2976, 3, 0.0894),
        (HUMAN, OTHERS, 0.7134, (0.75, 0.3392), 0.1874, 6.018, 0.0305),
        (HUMAN + SHIFT, OTHERS + SHIFT, 0.7134, (0.75, 0.3392), 0.1874, 6.018, 0.0305),
        (1 - HUMAN, 1 - OTHERS, 0, (0.75, 0.25), 0.2976, 3, 0.0894),
        (np.full((4, 2), 0.5), np.full((8, 2), 0.5), 0, (0.75, 0.25), 0.2976, 3, 0.0894),
        (ANOTHER_JUDGE, OTHERS, 0.4759, (0.8690, 0.3095), 0.1995, 3.005, 0.0311),
    ],
)
def test_worked_cases(
    judged: FloatArray, others: FloatArray, weight: float, means: tuple[float, ...], error: float, freedom: float, risk: float
) -> None:
    found = labelled_means(HUMAN, judged, others)
    assert found.weight == pytest.approx(weight, abs=5e-5)
    assert found.means.tolist() == pytest.approx(means, abs=5e-5)
    assert error_of(found) == pytest.approx(error, abs=5e-5)
    assert found.freedom(FURTHER) == pytest.approx(freedom, abs=5e-4)
    assert risk_of_first(found) == pytest.approx(risk, abs=5e-5)


def test_the_interval_of_labels_alone_is_that_of_students_t() -> None:
    assert labelled_means(HUMAN, HUMAN, NONE).difference_interval(0, 1, FURTHER) == pytest.approx((-0.447, 1.447), abs=5e-4)


def test_weighted_questions_count_by_kishs_size() -> None:
    found = labelled_means(HUMAN, HUMAN, NONE, np.array([3.0, 1, 1, 1]))
    assert found.means.tolist() == pytest.approx((0.8333, 0.1667), abs=5e-5)
    assert (error_of(found), found.freedom(FURTHER)) == pytest.approx((0.3062, 2), abs=5e-5)
    assert risk_of_first(found) == pytest.approx(0.0771, abs=5e-5)


def test_one_system_has_a_mean_of_its_own() -> None:
    found = labelled_means(HUMAN[:, :1], HUMAN[:, :1], OTHERS[:, :1])
    assert (found.weight, float(found.means[0]), error_of(found)) == pytest.approx((0.7, 0.75, 0.1596), abs=5e-5)
    assert found.freedom(FURTHER) == pytest.approx(6.436, abs=5e-4)


@pytest.mark.parametrize(("n", "interval_risk", "risk"), [(20, 0.0677, 0.3505), (30, 0.0126, 0.2799), (40, 0.0015, 0.2172)])
def test_equal_labels_are_not_certainty(n: int, interval_risk: float, risk: float) -> None:
    found = labelled_means(np.ones((n, 2)), np.ones((n, 2)), NONE)
    assert risk_of_first(found) == pytest.approx(interval_risk, abs=5e-5)
    assert float(risks(found.pairs(), 0.02).risk[0]) == pytest.approx(risk, abs=5e-5)


@given(st.integers(0, 500), st.integers(2, 4), st.floats(-0.5, 0.5))
def test_a_judge_that_is_kinder_to_one_system_changes_nothing(seed: int, systems: int, by: float) -> None:
    random = np.random.default_rng(seed)
    human, judged, others = random.random((12, systems)), random.random((12, systems)), random.random((20, systems))
    shift = np.zeros(systems)
    shift[-1] = by
    plain, biased = labelled_means(human, judged, others), labelled_means(human, judged + shift, others + shift)
    assert plain.means.tolist() == pytest.approx(biased.means.tolist(), abs=1e-9)
    assert plain.pairs().errors.ravel().tolist() == pytest.approx(biased.pairs().errors.ravel().tolist(), abs=1e-9)


@given(st.integers(0, 500), st.integers(2, 4))
def test_without_other_questions_labels_alone_decide(seed: int, systems: int) -> None:
    human = np.random.default_rng(seed).random((30, systems))
    found = labelled_means(human, np.random.default_rng(seed + 1).random((30, systems)), np.zeros((0, systems)))
    assert found.weight == 0
    assert found.means.tolist() == pytest.approx(human.mean(axis=0).tolist())


@pytest.mark.parametrize(("labels", "chance"), [(60, 0.412), (100, 0.685), (130, 0.790), (160, 0.860), (200, 0.924)])
def test_the_chance_that_more_labels_decide(labels: int, chance: float) -> None:
    found = chance_to_decide(0.01, 0.04, 0.0, 30, labels, margin=0.02, limit=0.05, freedom=29)
    assert found == pytest.approx(chance, abs=5e-4)


@pytest.mark.parametrize(
    ("difference", "judge_variance", "labelled", "labels", "margin", "limit", "freedom"),
    [
        (0.0, 0.0, 30, 130, 0.02, 0.05, 29),
        (0.03, 0.0002, 30, 60, 0.02, 0.05, 29),
        (0.05, 0.0, 30, 40, 0.0, 0.006, 12),
        (-0.04, 0.0001, 10, 16, 0.01, 0.05, 9),
        (0.2, 0.001, 12, 20, 0.02, 0.006, 11),
    ],
)
def test_more_labels_decide_as_often_as_in_a_simulation(
    difference: float, judge_variance: float, labelled: int, labels: int, margin: float, limit: float, freedom: float
) -> None:
    """The mean of all labels is drawn around that of the labels so far; it decides beyond the limit, in either direction."""
    variance = 0.04
    unseen = math.sqrt(variance / labelled - variance / labels)
    means = difference + unseen * np.random.default_rng(1).standard_t(freedom, 100_000)
    scores = (np.abs(means) + margin) / math.sqrt(variance / labels + judge_variance)
    found = chance_to_decide(difference, variance, judge_variance, labelled, labels, margin, limit, freedom)
    assert found == pytest.approx(float((scores >= stats.t.ppf(1 - limit, labels - 2)).mean()), abs=0.006)


def test_labels_decide_for_certain_if_the_margin_is_wide_or_nothing_is_unseen() -> None:
    assert chance_to_decide(0.0, 0.04, 0.0, 30, 100, margin=0.05, limit=0.05, freedom=29) == 1.0
    needed = stats.t.ppf(0.95, 98) * 0.02 - 0.02
    for difference, chance in ((1.01 * needed, 1.0), (-1.01 * needed, 1.0), (0.99 * needed, 0.0), (0.0, 0.0)):
        assert chance_to_decide(difference, 0.04, 0.0, 100, 100, margin=0.02, limit=0.05, freedom=99) == chance


@pytest.mark.parametrize("gap", [0.2, 0.035, 0.025, 0.02, 0.0])
def test_the_fewest_labels_that_are_needed_are_the_first_ones_that_decide_with_a_chance_of_80_percent(
    gap: float,
) -> None:
    random = np.random.default_rng(2)
    human = np.column_stack([random.normal(0.5, 0.1, 35), random.normal(0.5, 0.1, 35)])
    human[:, 1] -= human[:, 1].mean() - human[:, 0].mean() + gap
    others = random.normal(0.5, 0.1, (200, 2))
    others[:, 1] -= others[:, 1].mean() - others[:, 0].mean() + gap
    judged = human + random.normal(0.0, 0.1, (35, 2))
    judged -= judged.mean(axis=0) - human.mean(axis=0)
    found = labelled_means(human, judged, others)
    pairs = found.pairs()
    assert found.weight > 0
    by_judge = found.judge_covariance[0, 0] + found.judge_covariance[1, 1] - 2 * found.judge_covariance[0, 1]
    variance = 35 * (pairs.errors[0, 1] ** 2 - by_judge)
    freedom = float(np.asarray(pairs.freedom))
    chances = {count: chance_to_decide(gap, variance, by_judge, 35, count, 0.01, 0.006, freedom) for count in LABEL_COUNTS}
    enough = [count for count, chance in chances.items() if chance >= 0.8]
    assert labels_needed(found, pairs, 0, 1, 0.01, 0.006) == (enough[0] if enough else None)


def test_no_number_of_labels_is_needed_that_people_already_gave_or_that_does_not_decide() -> None:
    human = np.random.default_rng(4).random((40, 2))
    found = labelled_means(human, human, NONE)
    assert labels_needed(found, found.pairs(), 0, 1, 0.0001, 0.006) is None
    assert labels_needed(found, found.pairs(), 0, 1, 1.0, 0.05) == 50
    fewer = labelled_means(human[:39], human[:39], NONE)
    assert labels_needed(fewer, fewer.pairs(), 0, 1, 1.0, 0.05) == 40


def test_labels_alone_have_the_errors_of_a_decision_without_a_judge() -> None:
    human = np.random.default_rng(4).random((40, 3))
    pairs, wanted = labelled_means(human, human, np.zeros((0, 3))).pairs(), pair_estimates(human)
    assert pairs.errors == pytest.approx(wanted.errors)
    assert pairs.differences == pytest.approx(wanted.differences)
    assert (float(np.asarray(pairs.freedom)), pairs.size) == (39.0, 40.0)


def test_the_error_of_a_corrected_difference_is_that_of_what_the_judge_misses_and_of_the_judge_s_mean() -> None:
    random = np.random.default_rng(5)
    human, others = random.random((40, 2)), random.random((100, 2))
    judged = human + random.normal(0.0, 0.2, (40, 2))
    found = labelled_means(human, judged, others)
    missed = (human - found.weight * judged) @ np.array([1.0, -1.0])
    off = missed - missed.mean()
    further = max((off**2).sum() / 40, further_query(human))
    by_labels = ((off**2).sum() + further) / (40 * 38)
    by_judge = found.weight**2 * (others[:, 0] - others[:, 1]).var(ddof=1) / 100
    assert found.pairs().errors[0, 1] == pytest.approx(math.sqrt(by_labels + by_judge))


def test_a_judge_is_never_worth_less_than_nothing() -> None:
    random = np.random.default_rng(0)
    worths = [labelled_means(random.random((6, 2)), random.random((6, 2)), random.random((4, 2))).worth for _ in range(200)]
    assert min(worths) == 0


def test_the_worth_of_a_judge_counts_weights() -> None:
    random = np.random.default_rng(1)
    human, others, weights = random.random((12, 2)), random.random((30, 2)), random.random(42) + 0.1
    judged = human + 0.1 * random.random((12, 2))
    found = labelled_means(human, judged, others, weights)
    halved = labelled_means(human, judged, others, weights / 2)
    assert found.worth == pytest.approx(halved.worth)
    assert found.unlabelled == pytest.approx(weights[12:].sum() ** 2 / (weights[12:] ** 2).sum())
    assert found.worth != pytest.approx(labelled_means(human, judged, others).worth)


def test_the_further_query_counts_weights() -> None:
    human, weights = np.zeros((12, 2)), np.arange(12.0) + 1
    human[:2, 0] = 1.0, 0.1
    found = labelled_means(human, human, NONE, weights)
    apart = found.residuals[:, 0] - found.residuals[:, 1]
    further = found.pairs().errors[0, 1] ** 2 * found.labelled * (found.labelled - 1) - (apart * apart).sum()
    assert further == pytest.approx(further_query(human, weights))
    assert further != pytest.approx(further_query(human))


def test_labels_and_the_judge_share_the_variance_of_a_difference() -> None:
    random = np.random.default_rng(1)
    human = random.random((12, 2))
    found = labelled_means(human, human, random.random((20, 2)))
    total = found.covariance(0.0)
    by_judge = found.judge_covariance
    variances = [part[0, 0] + part[1, 1] - 2 * part[0, 1] for part in (total, by_judge)]
    assert found.label_share(0, 1) == pytest.approx(1 - variances[1] / variances[0])
    assert labelled_means(human, human, random.random((0, 2))).label_share(0, 1) == 1


def test_the_interval_of_yes_and_no_values_covers_systems_that_rarely_differ() -> None:
    random, covered = np.random.default_rng(1), 0
    values = np.ones((1_000, 2))
    values[:30, 1] = 0
    for _ in range(200):
        people = values[random.integers(0, len(values), 300)]
        found = labelled_means(people[:30], people[:30], people[30:])
        low, high = found.difference_interval(0, 1, found.interval_floor())
        covered += low <= 0.03 <= high
    assert covered >= 190


def test_the_floor_of_an_interval_is_a_quarter_of_the_range_or_the_further_query_of_the_decision() -> None:
    graded = np.array([[0.5, 0.6], [0.6, 0.5], [0.4, 0.4]])
    assert labelled_means(graded, graded, NONE).interval_floor() == FURTHER
    assert labelled_means(graded, graded, NONE).interval_floor(2.0) == 4 * FURTHER
    assert labelled_means(HUMAN, HUMAN, NONE).interval_floor() == 1


def test_a_judge_of_systems_that_never_differ_is_worth_no_label() -> None:
    same = np.repeat(HUMAN[:, :1], 2, axis=1)
    assert labelled_means(same, same, np.repeat(OTHERS[:, :1], 2, axis=1)).worth == 0.0


def test_the_numbers_of_labels_that_are_promised_have_two_digits_at_most() -> None:
    assert all(count == round(count, -1) if count < 200 else count == round(count / 50) * 50 for count in LABEL_COUNTS)
    assert list(LABEL_COUNTS) == sorted(LABEL_COUNTS)


@pytest.mark.parametrize(("others", "counts"), [(1, False), (2, True)])
def test_a_judge_counts_from_two_other_questions_on(others: int, counts: bool) -> None:
    found = labelled_means(HUMAN, HUMAN, np.array([[1.0, 0.0], [0.0, 0.0]])[:others])
    assert (found.weight > 0) is counts
    assert np.isfinite(found.pairs().errors).all()


def test_a_judge_is_worth_the_labels_that_give_the_same_error_without_it() -> None:
    random = np.random.default_rng(3)
    human, others = random.random((12, 2)), random.random((40, 2))
    found = labelled_means(human, human + 0.1 * random.random((12, 2)), others)
    covariance = found.covariance(0.0)
    of_difference = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert found.worth > 1
    assert (human[:, 0] - human[:, 1]).var(ddof=1) / (12 + found.worth) == pytest.approx(of_difference)


@pytest.mark.parametrize("more", [4, 6, 30])
def test_few_labels_decide_beyond_the_quantile_of_students_t_with_two_degrees_of_freedom_less(more: int) -> None:
    needed = stats.t.ppf(0.95, more - 2) * math.sqrt(0.04 / more + 0.001) - 0.02
    for difference, chance in ((1.0001 * needed, 1.0), (0.9999 * needed, 0.0), (-1.0001 * needed, 1.0), (-0.9999 * needed, 0.0)):
        assert chance_to_decide(difference, 0.04, 0.001, more, more, margin=0.02, limit=0.05, freedom=9) == chance


def conversations_drawn(random: np.random.Generator, agreement: float) -> tuple[FloatArray, FloatArray, IntArray]:
    """People's and a judge's values of two equal systems in 45 conversations of 1 to 25 turns that are much alike."""
    groups = np.repeat(np.arange(45), random.integers(1, 26, size=45))
    usual, own = random.normal(0, 0.4, (45, 2))[groups], random.normal(0, 0.2, (len(groups), 2))
    judged = agreement * usual + random.normal(0, 0.3, (45, 2))[groups] + random.normal(0, 0.2, (len(groups), 2))
    return usual + own, judged, groups


@pytest.mark.parametrize("agreement", [0.0, 1.0])
@pytest.mark.parametrize("labelled", [100, 250])
def test_intervals_of_labelled_turns_hold_where_those_of_independent_questions_are_too_narrow(
    labelled: int, agreement: float
) -> None:
    random, rounds = np.random.default_rng(11), 600
    held = np.zeros(2)
    for _ in range(rounds):
        human, judged, groups = conversations_drawn(random, agreement)
        order = random.permutation(len(human))
        own, others = order[:labelled], order[labelled:]
        for at, known in enumerate((groups[order], None)):
            pairs = labelled_means(human[own], judged[own], judged[others], None, known).pairs()
            freedom = float(np.asarray(pairs.freedom))
            reached = abs(pairs.differences[0, 1]) <= student_quantile(0.975, freedom) * pairs.errors[0, 1]
            held[at] += reached
    by_conversation, by_question = held / rounds
    assert 0.93 <= by_conversation <= 0.97
    assert by_question < 0.85


@given(st.integers(0, 2**32), st.sampled_from([None, "weights"]))
def test_questions_that_are_groups_of_their_own_have_the_means_and_errors_of_questions(seed: int, weighted: str | None) -> None:
    random = np.random.default_rng(seed)
    human, judged, others = (random.random((size, 3)) for size in (12, 12, 20))
    weights = None if weighted is None else random.uniform(0.5, 2, 32)
    plain = labelled_means(human, judged * 0, others * 0, weights)
    grouped = labelled_means(human, judged * 0, others * 0, weights, np.arange(32))
    assert grouped.means == pytest.approx(plain.means)
    assert grouped.labelled == pytest.approx(plain.labelled)
    assert grouped.pairs().errors == pytest.approx(plain.pairs().errors)


def test_turns_that_repeat_each_other_count_as_one() -> None:
    random = np.random.default_rng(2)
    human, judged, others = (random.random((size, 2)) for size in (20, 20, 30))
    groups = np.arange(50)
    once = labelled_means(human, judged, others, None, groups)
    both = [np.repeat(part, 2, axis=0) for part in (human, judged, others)]
    twice = labelled_means(both[0], both[1], both[2], None, np.repeat(groups, 2))
    assert twice.weight == pytest.approx(once.weight)
    assert twice.labelled == pytest.approx(once.labelled) == 20
    assert twice.pairs().errors == pytest.approx(once.pairs().errors)
