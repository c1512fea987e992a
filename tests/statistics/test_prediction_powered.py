"""Means that are bias-corrected by human labels: unbiased for any judge, with intervals of the right coverage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankproof._statistics.prediction_powered import JudgedItem, KnownValue, PredictionPoweredMean, corrected_mean

TRUTH = 0.30
QUERIES, EACH, SEEN = 60, 10, 200
SHARES = (0.0, 1.0)


def simulation(
    chance: np.random.Generator,
    *,
    alike: float = 0.0,
    sees: float = 0.8,
    errs: float = 0.35,
    pairs_seen: int = SEEN,
    queries_seen: int = 0,
) -> PredictionPoweredMean:
    """Pairs that are relevant in 30% of cases, a judge that calls too many so, and people who saw a random part of them.

    `alike` is how far queries differ in their own share, `sees` how often the judge knows a relevant one, `errs` how often it
    takes another for one; people saw so many pairs, or every pair of so many queries.
    """
    shares = np.clip(TRUTH + alike * chance.choice([-1, 1], QUERIES), 0, 1)
    truth = chance.random((QUERIES, EACH)) < shares[:, None]
    judged_relevant = np.where(truth, chance.random(truth.shape) < sees, chance.random(truth.shape) < errs)
    whole = chance.choice(QUERIES, queries_seen, replace=False)
    seen = {query * EACH + doc for query in whole for doc in range(EACH)} if queries_seen else _drawn(chance, pairs_seen)
    items = [
        JudgedItem(f"q{at // EACH}", float(judged_relevant.flat[at]), float(truth.flat[at]) if at in seen else None)
        for at in range(QUERIES * EACH)
    ]
    found = corrected_mean(items, SHARES)
    assert found is not None
    return found


def _drawn(chance: np.random.Generator, count: int) -> set[int]:
    return {int(at) for at in chance.choice(QUERIES * EACH, count, replace=False)}


def covers(interval: tuple[float, float] | None) -> bool:
    assert interval is not None
    return interval[0] <= TRUTH <= interval[1]


def width(interval: tuple[float, float] | None) -> float:
    assert interval is not None
    return interval[1] - interval[0]


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.2])
def test_the_corrected_interval_covers_the_truth_in_95_of_100_simulations_and_the_naive_one_in_none(alike: float) -> None:
    chance = np.random.default_rng(7)
    worlds = [simulation(chance, alike=alike) for _ in range(400)]
    assert 0.93 <= np.mean([covers(found.corrected.interval) for found in worlds]) <= 0.975
    assert np.mean([covers(found.judge.interval) for found in worlds]) < 0.05
    assert abs(np.mean([found.corrected.value for found in worlds]) - TRUTH) < 0.006
    assert np.mean([found.judge.value for found in worlds]) > TRUTH + 0.15


FEW = pytest.mark.parametrize("seen", [{"queries_seen": 3}, {"queries_seen": 5}, {"queries_seen": 10}, {"pairs_seen": 60}])


@pytest.mark.slow
@FEW
def test_the_corrected_interval_is_wide_enough_with_few_human_labels(seen: dict[str, int]) -> None:
    chance = np.random.default_rng(5)
    worlds = [simulation(chance, alike=0.1, **seen) for _ in range(400)]
    assert np.mean([covers(found.corrected.interval) for found in worlds]) >= 0.925


@FEW
def test_labels_of_few_queries_are_few_labels(seen: dict[str, int]) -> None:
    chance = np.random.default_rng(5)
    worlds = [simulation(chance, alike=0.1, **seen) for _ in range(5)]
    assert [found.has_few_labels for found in worlds] == ["queries_seen" in seen] * 5


@pytest.mark.parametrize(("queries", "seen", "few"), [(20, 50, False), (19, 50, True), (20, 49, True)])
def test_twenty_queries_with_fifty_labels_are_enough(queries: int, seen: int, few: bool) -> None:
    found = simulation(np.random.default_rng(5), pairs_seen=60)
    assert replace(found, queries=queries, seen=seen).has_few_labels == few


def test_a_good_judge_narrows_the_interval_and_a_random_one_does_not_bias_it() -> None:
    chance = np.random.default_rng(11)
    for sees, errs, low, high in ((0.97, 0.03, 0.5, 0.75), (0.5, 0.5, 0.97, 1.01)):
        worlds = [simulation(chance, sees=sees, errs=errs) for _ in range(60)]
        ratio = np.mean([width(found.corrected.interval) / width(found.human.interval) for found in worlds])
        assert low < ratio < high


ITEMS = [
    JudgedItem("a", 1.0, 1.0),
    JudgedItem("a", 0.5),
    JudgedItem("b", 0.75),
    JudgedItem("b", 0.0, 0.0),
    JudgedItem("c", 0.75, 0.5),
    JudgedItem("d", 0.0),
]


def test_the_corrected_mean_and_its_interval_are_the_formulas_by_hand() -> None:
    found = corrected_mean(ITEMS, SHARES)
    assert found is not None
    assert (found.seen, found.unseen, found.queries) == (3, 3, 3)
    assert (found.judge.value, found.human.value) == pytest.approx((0.5, 0.5))
    people = np.array([0.5, -0.5, 0.0, 0.0]) / 3
    rest, same = np.array([0.5 - 1.25 / 3, 0.75 - 1.25 / 3, 0.0, -1.25 / 3]) / 3, np.array([1.25, -1.75, 0.5, 0.0]) / 9
    apart = rest - same
    weight = -(people @ apart) / (apart @ apart + 4 / 9)
    assert 0 < weight < 1
    assert found.weight == pytest.approx(weight)
    mean = 0.5 + weight * (1.25 / 3 - 1.75 / 3)
    assert found.corrected.value == pytest.approx(mean)
    t, variance = 12.706204736432095, (((people + weight * apart) ** 2).sum() + weight**2 / 9) * 3 / 1
    square = t * t / (0.25 / variance)
    middle, half = (mean + square / 2) / (1 + square), np.sqrt(square * (mean * (1 - mean) + square / 4)) / (1 + square)
    assert found.corrected.interval == pytest.approx((middle - half, middle + half))


def test_the_mean_over_answers_weighs_each_claim_by_the_claims_of_its_answer() -> None:
    """Answer a has one supported claim of four, answer b its only one: .625 over answers, .4 over claims."""
    claims = [JudgedItem("a", 0.0, float(at == 0), weight=1 / 4) for at in range(4)] + [JudgedItem("b", 0.0, 1.0)]
    by_answer = corrected_mean(claims, SHARES)
    by_claim = corrected_mean([replace(claim, weight=1.0) for claim in claims], SHARES)
    assert by_answer is not None
    assert by_claim is not None
    assert (by_answer.corrected.value, by_claim.corrected.value) == pytest.approx((0.625, 0.4))


def test_values_that_no_judge_decides_count_as_they_are() -> None:
    found = corrected_mean(ITEMS, SHARES, [KnownValue("e", 0.0, 3.0), KnownValue("f", 1.0, 1.0)])
    alone = corrected_mean(ITEMS, SHARES)
    assert found is not None
    assert alone is not None
    assert found.corrected.value == pytest.approx((6 * alone.corrected.value + 1) / 10)
    assert (found.human.value, found.judge.value) == pytest.approx((0.4, 0.4))
    assert (found.seen, found.unseen, found.queries, found.weight) == (3, 3, 3, alone.weight)


def test_a_known_value_of_every_answer_has_the_interval_of_a_plain_mean_of_answers() -> None:
    """Known values and items with human labels have the same influence on the mean of all."""
    random = np.random.default_rng(2)
    values = random.integers(0, 2, 40).astype(float)
    labelled = corrected_mean([JudgedItem(f"q{at}", 0.5, value) for at, value in enumerate(values)], SHARES)
    half_known = corrected_mean(
        [JudgedItem(f"q{at}", 0.5, value) for at, value in enumerate(values) if at < 20],
        SHARES,
        [KnownValue(f"q{at}", value) for at, value in enumerate(values) if at >= 20],
    )
    assert labelled is not None
    assert half_known is not None
    assert half_known.human.value == pytest.approx(labelled.human.value)
    assert width(half_known.human.interval) == pytest.approx(width(labelled.human.interval), rel=0.05)


def test_an_item_that_people_skip_has_no_value_but_corrects_the_judge() -> None:
    items = [*ITEMS, JudgedItem("e", 1.0, skipped=True)]
    found = corrected_mean(items, SHARES)
    assert found is not None
    assert (found.seen, found.unseen) == (4, 3)
    assert found.human.value == pytest.approx(0.5)
    assert found.corrected.value == pytest.approx(0.5 + found.weight * (1.25 / 3 - 2.75 / 4))


def test_with_a_human_label_of_every_item_the_judge_has_no_weight() -> None:
    found = corrected_mean([JudgedItem(f"q{at}", 3.0, float(at)) for at in range(4)], (0.0, 3.0))
    assert found is not None
    assert (found.weight, found.corrected) == (0.0, found.human)
    assert found.corrected.value == 1.5


def test_one_human_label_corrects_nothing_and_one_query_has_no_interval() -> None:
    assert corrected_mean([JudgedItem("q", 1.0, 1.0), JudgedItem("q", 0.0)], SHARES) is None
    found = corrected_mean([JudgedItem("q", 1.0, 1.0), JudgedItem("q", 0.0, 0.0)], SHARES)
    assert found is not None
    assert found.human.interval is None


def test_labels_that_are_all_equal_have_the_interval_of_so_many_queries() -> None:
    found = corrected_mean([JudgedItem(f"q{at % 30}", 1.0, 1.0) for at in range(60)], SHARES)
    assert found is not None
    t = 2.045229642132703
    assert found.corrected.interval == pytest.approx((30 / (30 + t * t), 1.0))


@pytest.mark.parametrize("value", [0.0, 0.7, 1.0])
def test_equal_labels_with_unequal_weights_have_no_smaller_interval(value: float) -> None:
    found = corrected_mean([JudgedItem(f"q{at}", 0.5, value, weight=1 / (1 + at % 7)) for at in range(30)], SHARES)
    assert found is not None
    assert found.human.value == pytest.approx(value, abs=1e-15)
    assert width(found.human.interval) > 0.1


def test_a_mean_of_grades_has_the_interval_of_the_scaled_mean() -> None:
    shares = [replace(item, judge=item.judge / 3, human=None if item.human is None else item.human / 3) for item in ITEMS]
    one, other = corrected_mean(ITEMS, (0.0, 3.0)), corrected_mean(shares, SHARES)
    assert one is not None
    assert other is not None
    assert one.weight == pytest.approx(other.weight)
    assert one.corrected.interval == pytest.approx([3 * bound for bound in other.corrected.interval or ()])


def test_a_judge_without_variance_has_no_weight() -> None:
    found = corrected_mean([JudgedItem(f"q{at}", 1.0, float(at % 2) if at < 20 else None) for at in range(60)], SHARES)
    assert found is not None
    assert str(found.weight) == "0.0"
    assert found.corrected == found.human
