"""Means from labels of single claims drawn at random: they are people's, whatever the judge is worth."""

from __future__ import annotations

import numpy as np
import pytest

from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import pair_estimates
from rankproof._statistics.labelled_means import ClaimSample, claim_sample_means


def sample_of(seed: int, labels: int, *, accuracy: float = 0.9, questions: int = 60) -> tuple[ClaimSample, FloatArray]:
    """Claims of two systems, 80% and 60% of them supported, and the values by people."""
    random = np.random.default_rng(seed)
    counts = random.integers(1, 7, (questions, 2))
    rows, columns = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    human = (random.random(len(rows)) < np.where(columns == 0, 0.8, 0.6)).astype(float)
    judge = np.where(random.random(len(rows)) < accuracy, human, 1 - human)
    shares = 1 / counts[rows, columns]
    people = np.zeros((questions, 2))
    np.add.at(people, (rows, columns), shares * human)
    labelled = np.full(len(rows), np.nan)
    chosen = random.permutation(len(rows))[:labels]
    labelled[chosen] = human[chosen]
    return ClaimSample(rows, columns, shares, judge, labelled, np.zeros((questions, 2))), people


def test_labels_of_every_claim_give_people_s_values_and_the_errors_of_people_alone() -> None:
    sample, people = sample_of(1, 10_000)
    values, means = claim_sample_means(sample)
    assert np.allclose(values, people)
    assert np.allclose(means.means, people.mean(axis=0))
    apart = people[:, 0] - people[:, 1]
    by_questions = apart.var(ddof=1) / len(apart) * 60 / (60 - 1 - means.fitted)
    covariance = means.covariance(0.0)
    assert covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1] == pytest.approx(by_questions)
    assert means.pairs().errors[0, 1] == pytest.approx(pair_estimates(people).errors[0, 1], rel=0.02)


def test_the_mean_over_draws_is_people_s_mean_for_any_weight_of_the_judge() -> None:
    totals = {weight: np.zeros(2) for weight in (0.0, 0.5, 1.0)}
    rounds = 300
    people = sample_of(2, 0)[1].mean(axis=0)
    for seed in range(rounds):
        whole, _ = sample_of(2, 10_000, accuracy=0.6)
        kept = np.random.default_rng(seed).permutation(len(whole.human))[:100]
        human = np.full(len(whole.human), np.nan)
        human[kept] = whole.human[kept]
        sample = ClaimSample(whole.questions, whole.systems, whole.shares, whole.judge, human, whole.known)
        for weight, total in totals.items():
            total += sample.values(weight).mean(axis=0) / rounds
    for total in totals.values():
        assert total == pytest.approx(people, abs=0.015)


def test_a_judge_that_agrees_with_people_counts_and_a_useless_one_hardly_does() -> None:
    weights = {
        accuracy: np.mean([claim_sample_means(sample_of(seed, 120, accuracy=accuracy)[0])[1].weight for seed in range(10)])
        for accuracy in (1.0, 0.5)
    }
    assert weights[1.0] > 0.9
    assert weights[0.5] < 0.2


def test_a_judge_that_adds_a_constant_for_one_system_changes_nothing() -> None:
    sample, _ = sample_of(3, 120)
    shifted = ClaimSample(
        sample.questions, sample.systems, sample.shares, sample.judge + 0.3 * sample.systems, sample.human, sample.known
    )
    for means in (claim_sample_means(sample)[1], claim_sample_means(shifted)[1]):
        assert means.means == pytest.approx(claim_sample_means(sample)[1].means, abs=1e-12)
        assert means.pairs().errors == pytest.approx(claim_sample_means(sample)[1].pairs().errors, abs=1e-12)


def test_values_that_are_known_without_claims_count_as_they_are() -> None:
    sample, people = sample_of(4, 10_000)
    known = np.zeros((62, 2))
    known[60:] = (0.0, 1.0), (1.0, 0.0)
    more = ClaimSample(sample.questions, sample.systems, sample.shares, sample.judge, sample.human, known)
    values, _ = claim_sample_means(more)
    assert np.allclose(values, np.vstack([people, known[60:]]))
    assert more.labelled_questions == 60


def test_a_system_without_a_labelled_claim_is_seen() -> None:
    sample, _ = sample_of(5, 100)
    human = np.where(sample.systems == 0, sample.human, np.nan)
    one_sided = ClaimSample(sample.questions, sample.systems, sample.shares, sample.judge, human, sample.known)
    assert (sample.is_every_system_labelled, one_sided.is_every_system_labelled) == (True, False)


def test_claims_without_a_label_count_as_the_labelled_ones_of_their_system() -> None:
    """Of four claims each, people label three of one system (two are right) and one of the other (which is right)."""
    human = np.array([1.0, 1.0, 0.0, np.nan, 1.0, np.nan, np.nan, np.nan])
    systems = np.repeat([0, 1], 4)
    sample = ClaimSample(np.zeros(8, np.int64), systems, np.full(8, 0.25), np.zeros(8), human, np.zeros((1, 2)))
    assert sample.values(0.0) == pytest.approx(np.array([[2 / 3, 1.0]]))
    assert (sample.labelled_questions, sample.is_every_system_labelled) == (1, True)
