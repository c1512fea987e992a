"""Means set right by people's judgements: unbiased whatever the judge does, and honest about their error."""

from __future__ import annotations

import numpy as np
import pytest

from rankproof.judging.corrected import Corrected, corrected_mean
from rankproof.judging.pairs import Pair

TRUTH = 0.30
QUERIES, EACH, SEEN = 60, 10, 200


def world(chance: np.random.Generator, *, alike: float = 0.0, sees: float = 0.8, errs: float = 0.35) -> Corrected:
    """Pairs that are relevant in 30% of cases, a judge that calls too many so, and people who saw a random part of them.

    `alike` is how far queries differ in their own share, `sees` how often the judge knows a relevant one, `errs` how often it
    takes another for one.
    """
    shares = np.clip(TRUTH + alike * chance.choice([-1, 1], QUERIES), 0, 1)
    truth = chance.random((QUERIES, EACH)) < shares[:, None]
    said = np.where(truth, chance.random(truth.shape) < sees, chance.random(truth.shape) < errs)
    pairs = [Pair(f"q{query}", f"d{doc}") for query in range(QUERIES) for doc in range(EACH)]
    seen = chance.choice(len(pairs), SEEN, replace=False)
    judge = {pair: float(said.flat[at]) for at, pair in enumerate(pairs)}
    found = corrected_mean(judge, {pairs[at]: float(truth.flat[at]) for at in seen})
    assert found is not None
    return found


def covers(interval: tuple[float, float] | None) -> bool:
    assert interval is not None
    return interval[0] <= TRUTH <= interval[1]


@pytest.mark.parametrize("alike", [0.0, 0.2])
def test_the_corrected_interval_holds_the_truth_in_95_of_100_worlds_and_the_naive_one_in_none(alike: float) -> None:
    chance = np.random.default_rng(7)
    worlds = [world(chance, alike=alike) for _ in range(400)]
    assert 0.93 <= np.mean([covers(found.both.interval) for found in worlds]) <= 0.98
    assert np.mean([covers(found.judge.interval) for found in worlds]) < 0.05
    assert abs(np.mean([found.both.value for found in worlds]) - TRUTH) < 0.006
    assert np.mean([found.judge.value for found in worlds]) > TRUTH + 0.15


def test_a_good_judge_makes_the_interval_narrower_and_one_that_knows_nothing_does_no_harm() -> None:
    chance = np.random.default_rng(11)
    for sees, errs, low, high in ((0.97, 0.03, 0.5, 0.75), (0.5, 0.5, 0.97, 1.01)):
        worlds = [world(chance, sees=sees, errs=errs) for _ in range(60)]
        ratio = np.mean([_width(found.both.interval) / _width(found.people.interval) for found in worlds])
        assert low < ratio < high


def test_the_corrected_mean_is_the_formula_by_hand() -> None:
    judge = {Pair("a", "1"): 3.0, Pair("a", "2"): 1.0, Pair("b", "1"): 2.0, Pair("b", "2"): 0.0, Pair("c", "1"): 2.0}
    human = {Pair("a", "1"): 2.0, Pair("b", "2"): 0.0, Pair("z", "9"): 3.0}
    found = corrected_mean(judge, human)
    assert found is not None
    assert (found.seen, found.unseen) == (2, 3)
    assert found.judge.value == pytest.approx(8 / 5)
    assert found.people.value == pytest.approx(1.0)
    assert found.both.value == pytest.approx(1.0 + found.weight * (5 / 3 - 3 / 2))
    people, apart = np.array([0.5, -0.5, 0.0]), np.array([-2 / 9 - 0.75, 1 / 9 + 0.75, 1 / 9])
    assert found.weight == pytest.approx(-(people @ apart) / (apart @ apart))
    error = np.sqrt(((people + found.weight * apart) ** 2).sum() * 3 / 2)
    assert _width(found.both.interval) == pytest.approx(2 * 4.302652729911275 * error)


def test_people_who_saw_every_pair_need_no_judge() -> None:
    judge = {Pair(f"q{at}", "d"): 3.0 for at in range(4)}
    human = {pair: float(at) for at, pair in enumerate(judge)}
    found = corrected_mean(judge, human)
    assert found is not None
    assert (found.weight, found.both) == (0.0, found.people)
    assert found.both.value == 1.5


def test_one_seen_pair_sets_nothing_right_and_values_without_spread_have_no_interval() -> None:
    judge = {Pair("q", "a"): 1.0, Pair("q", "b"): 0.0}
    assert corrected_mean(judge, {Pair("q", "a"): 1.0}) is None
    found = corrected_mean(judge | {Pair("r", "a"): 1.0}, {Pair("q", "a"): 1.0, Pair("r", "a"): 1.0})
    assert found is not None
    assert found.people.interval is None


def _width(interval: tuple[float, float] | None) -> float:
    assert interval is not None
    return interval[1] - interval[0]
