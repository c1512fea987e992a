"""How many queries decide: the chance that a system is good enough, draw by draw, and the words of the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from rankproof._analysis.decision.queries_needed import _chance, queries_needed
from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import (
    PairEstimates,
    further_query,
    needed_scores,
    normal_scores,
    pair_estimates,
    rival_correlations,
)
from rankproof._statistics.means import draw_means, effective_size, weighted_mean
from rankproof._statistics.options import Looks


def values_of(*differences: float, n: int = 60, seed: int = 1) -> FloatArray:
    """Values of a first system, and of others that are so much worse on average."""
    noise = np.random.default_rng(seed).normal(0.0, 0.1, (n, len(differences) + 1))
    noise -= noise.mean(axis=0)
    noise[:, 1:] -= differences
    return 0.5 + noise


def has_good_system(means: FloatArray, estimates: PairEstimates, share: float, size: float, margin: float, looks: Looks) -> bool:
    """Whether a system is good enough against each rival, at these means and errors of so many queries."""
    systems, errors, best = range(len(means)), estimates.errors * share, int(means.argmax())
    scores = normal_scores((means[:, None] - means + margin) / errors, size - 1)
    race = 1 + sum(bool(scores[at, best] > -1.0) for at in systems if at != best)
    needed = needed_scores(margin / errors, max(race, 2), looks, rival_correlations(estimates, margin))
    return any(all(scores[at, rival] >= needed[at, rival] for rival in systems if rival != at) for at in systems)


def chance_at(values: FloatArray, weights: FloatArray | None, size: float, margin: float, looks: Looks, seed: int = 0) -> float:
    """The share of draws with a good-enough system: the mean of all queries is that of the seen and of the further ones."""
    estimates, n = pair_estimates(values, weights), effective_size(len(values), weights)
    seen = np.array([weighted_mean(column, weights) for column in values.T])
    drawn = draw_means(values, weights, seed=seed, further=further_query(values, weights))
    further = math.sqrt(1 - n / size) if size > n else 0.0
    means = seen + further * (drawn - seen)
    return float(np.mean([has_good_system(own, estimates, math.sqrt(n / size), size, margin, looks) for own in means]))


def steps(n: float, least: float) -> Iterator[float]:
    """The numbers of queries that are tried: 15% more each, from `least` up to 20 times as many."""
    size = max(1.15 * n, least)
    while size <= max(20 * n, least):
        yield size
        size *= 1.15


CASES: list[tuple[FloatArray, FloatArray | None, float, Looks, int]] = [
    (values_of(0.02), None, 0.005, "one", 5),
    (values_of(0.03), None, 0.01, "many", 0),
    (values_of(0.02), np.linspace(0.5, 1.5, 60), 0.005, "one", 0),
    (values_of(0.02, 0.03), None, 0.005, "one", 0),
    (values_of(0.03, 0.02, 0.2), None, 0.005, "one", 0),
    (values_of(0.05, n=12), None, 0.02, "one", 0),
    (values_of(0.02, n=25), None, 0.01, "one", 0),
    (values_of(0.0), None, 0.002, "one", 0),
    (values_of(0.012), None, 0.001, "many", 0),
]


@pytest.mark.parametrize(("values", "weights", "margin", "looks", "seed"), CASES)
def test_the_first_step_counts_at_which_a_system_is_good_enough_in_such_a_share_of_draws(
    values: FloatArray, weights: FloatArray | None, margin: float, looks: Looks, seed: int
) -> None:
    n = effective_size(len(values), weights)
    sizes = list(steps(n, 30))
    counted = [math.ceil(size / n * len(values)) for size in sizes]
    needed = queries_needed(values, weights, margin, looks, 30, seed=seed)
    for share, number in ((0.5, needed.even), (0.8, needed.likely)):
        at = len(sizes) if number is None else counted.index(number)
        assert number is None or chance_at(values, weights, sizes[at], margin, looks, seed) >= share
        assert at == 0 or chance_at(values, weights, sizes[at - 1], margin, looks, seed) < share


@pytest.mark.parametrize("size", [9.2, 12.0, 16.0, 30.0])
@pytest.mark.parametrize(
    ("n", "gap", "margin", "looks"), [(8, 0.05, 0.01, "one"), (8, 0.1, 0.001, "many"), (7, 0.03, 0.01, "one")]
)
def test_at_few_queries_the_chance_counts_the_heavy_tails_of_students_t(
    n: int, gap: float, margin: float, looks: Looks, size: float
) -> None:
    values = values_of(gap, n=n)
    means = np.array([weighted_mean(column) for column in values.T])
    off = draw_means(values, further=further_query(values)) - means
    chance = _chance(pair_estimates(values), off, float(n), size, margin, looks)
    assert chance == chance_at(values, None, size, margin, looks)
    assert 0 < chance < 1
