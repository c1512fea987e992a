"""Means that are bias-corrected by human judgements: unbiased for any judge, with intervals of the right coverage."""

from __future__ import annotations

import numpy as np
import pytest

from rankproof._judge.agreement import Thresholds
from rankproof._judge.judge import PredictionPoweredMean, corrected_mean, corrected_table
from rankproof._judge.rubric import QueryDocPair

TRUTH = 0.30
QUERIES, EACH, SEEN = 60, 10, 200


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
    pairs = [QueryDocPair(f"q{query}", f"d{doc}") for query in range(QUERIES) for doc in range(EACH)]
    whole = chance.choice(QUERIES, queries_seen, replace=False)
    seen = [query * EACH + doc for query in whole for doc in range(EACH)] if queries_seen else _drawn(chance, pairs_seen)
    judge = {pair: float(judged_relevant.flat[at]) for at, pair in enumerate(pairs)}
    found = corrected_mean(judge, {pairs[at]: float(truth.flat[at]) for at in seen})
    assert found is not None
    return found


def _drawn(chance: np.random.Generator, count: int) -> list[int]:
    return [int(at) for at in chance.choice(QUERIES * EACH, count, replace=False)]


def covers(interval: tuple[float, float] | None) -> bool:
    assert interval is not None
    return interval[0] <= TRUTH <= interval[1]


@pytest.mark.parametrize("alike", [0.0, 0.2])
def test_the_corrected_interval_covers_the_truth_in_95_of_100_simulations_and_the_naive_one_in_none(alike: float) -> None:
    chance = np.random.default_rng(7)
    worlds = [simulation(chance, alike=alike) for _ in range(400)]
    assert 0.93 <= np.mean([covers(found.corrected.interval) for found in worlds]) <= 0.98
    assert np.mean([covers(found.judge.interval) for found in worlds]) < 0.05
    assert abs(np.mean([found.corrected.value for found in worlds]) - TRUTH) < 0.006
    assert np.mean([found.judge.value for found in worlds]) > TRUTH + 0.15


@pytest.mark.parametrize("seen", [{"queries_seen": 3}, {"queries_seen": 5}, {"queries_seen": 10}, {"pairs_seen": 60}])
def test_the_corrected_interval_is_wide_enough_with_few_human_judgements(seen: dict[str, int]) -> None:
    chance = np.random.default_rng(5)
    worlds = [simulation(chance, alike=0.1, **seen) for _ in range(400)]
    assert np.mean([covers(found.corrected.interval) for found in worlds if found.corrected.interval]) >= 0.925
    assert all(found.has_few_judgements for found in worlds) == ("queries_seen" in seen)


def test_few_pairs_and_pairs_that_the_judge_failed_on_are_noted() -> None:
    pairs = [QueryDocPair(f"q{query}", f"d{doc}") for query in range(30) for doc in range(4)]
    human = {pair: at % 2 for at, pair in enumerate(pairs[:80])}
    judge = {pair: at % 3 for at, pair in enumerate(pairs) if at not in (5, 7)}
    many = corrected_table(judge, human, {"all": pairs}, Thresholds())
    assert many.notes == ("2 pairs with a human judgement left out of all means here: the judge failed on them",)
    few = corrected_table(judge, {pair: human[pair] for pair in pairs[8:40]}, {"all": pairs, "one": pairs[:20]}, Thresholds())
    assert few.notes == (
        "only 12 pairs of 3 queries have human judgements: with fewer than 50 pairs or 20 queries "
        "the intervals of the means may be too narrow",
    )


def test_a_good_judge_narrows_the_interval_and_a_random_one_does_not_bias_it() -> None:
    chance = np.random.default_rng(11)
    for sees, errs, low, high in ((0.97, 0.03, 0.5, 0.75), (0.5, 0.5, 0.97, 1.01)):
        worlds = [simulation(chance, sees=sees, errs=errs) for _ in range(60)]
        ratio = np.mean([_width(found.corrected.interval) / _width(found.human.interval) for found in worlds])
        assert low < ratio < high


def test_the_corrected_mean_is_the_formula_by_hand() -> None:
    judge = {
        QueryDocPair("a", "1"): 3.0,
        QueryDocPair("a", "2"): 1.0,
        QueryDocPair("b", "1"): 2.0,
        QueryDocPair("b", "2"): 0.0,
        QueryDocPair("c", "1"): 2.0,
    }
    human = {QueryDocPair("a", "1"): 2.0, QueryDocPair("b", "2"): 0.0, QueryDocPair("z", "9"): 3.0}
    found = corrected_mean(judge, human)
    assert found is not None
    assert (found.seen, found.unseen) == (2, 3)
    assert found.judge.value == pytest.approx(8 / 5)
    assert found.human.value == pytest.approx(1.0)
    assert found.corrected.value == pytest.approx(1.0 + found.weight * (5 / 3 - 3 / 2))
    people, apart = np.array([0.5, -0.5, 0.0]), np.array([-2 / 9 - 0.75, 1 / 9 + 0.75, 1 / 9])
    assert found.weight == pytest.approx(-(people @ apart) / (apart @ apart))
    assert found.corrected.interval is None


def test_the_error_of_the_corrected_mean_comes_from_the_queries_with_human_judgements() -> None:
    judge = {QueryDocPair(*pair): float(grade) for pair, grade in {"a1": 3, "a2": 1, "b1": 2, "b2": 0, "c1": 2, "d1": 0}.items()}
    found = corrected_mean(judge, {QueryDocPair("a", "1"): 2.0, QueryDocPair("b", "2"): 0.0, QueryDocPair("c", "1"): 1.0})
    assert found is not None
    people, apart = np.array([1 / 3, -1 / 3, 0, 0]), np.array([-4 / 9, 8 / 9, -1 / 9, -1 / 3])
    assert found.queries == 3
    assert found.weight == pytest.approx(0.4)
    error = np.sqrt(((people + 0.4 * apart) ** 2).sum() * 3 / 1)
    assert _width(found.corrected.interval) == pytest.approx(2 * 12.706204736432095 * error)


def test_with_a_human_judgement_of_every_pair_the_judge_has_no_weight() -> None:
    judge = {QueryDocPair(f"q{at}", "d"): 3.0 for at in range(4)}
    human = {pair: float(at) for at, pair in enumerate(judge)}
    found = corrected_mean(judge, human)
    assert found is not None
    assert (found.weight, found.corrected) == (0.0, found.human)
    assert found.corrected.value == 1.5


def test_one_human_judgement_corrects_nothing_and_constant_values_have_no_interval() -> None:
    judge = {QueryDocPair("q", "a"): 1.0, QueryDocPair("q", "b"): 0.0}
    assert corrected_mean(judge, {QueryDocPair("q", "a"): 1.0}) is None
    found = corrected_mean(judge | {QueryDocPair("r", "a"): 1.0}, {QueryDocPair("q", "a"): 1.0, QueryDocPair("r", "a"): 1.0})
    assert found is not None
    assert found.human.interval is None


def _width(interval: tuple[float, float] | None) -> float:
    assert interval is not None
    return interval[1] - interval[0]


def test_means_and_intervals_are_clipped_to_the_range_of_the_mean() -> None:
    pairs = [QueryDocPair(f"q{at}", f"d{at}") for at in range(40)]
    judge = {pair: int(at in (0, 20)) for at, pair in enumerate(pairs)}
    human = {pair: int(at == 0) for at, pair in enumerate(pairs[:5])}
    table = corrected_table(judge, human, {"all": pairs}, Thresholds())
    assert len(table.rows) == 2
    for row in table.rows:
        for low, high in (cell for cell in row if isinstance(cell, tuple)):
            assert low >= 0.0
            assert high <= (1.0 if row[1] == "share relevant" else 3.0)
        assert 0.0 in [cell[0] for cell in row if isinstance(cell, tuple)]


def test_a_weight_of_zero_is_not_negative() -> None:
    pairs = [QueryDocPair(f"q{at}", f"d{at}") for at in range(8)]
    judge = {pair: float(at % 2) for at, pair in enumerate(pairs)}
    human = dict.fromkeys(pairs[:4], 1.0)
    found = corrected_mean(judge, human)
    assert found is not None
    assert str(found.weight) == "0.0"
