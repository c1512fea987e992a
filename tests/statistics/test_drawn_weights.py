"""Weights of a sample of the traffic: certain queries add no variance, and intervals keep their level."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankproof._analysis.traffic.sample import draw
from rankproof._data.arrays import DrawnWeight, DrawnWeights, weight_column, weights_by_query
from rankproof._statistics.decision_rule import pair_estimates
from rankproof._statistics.intervals import mean_interval
from rankproof._statistics.means import are_even_weights, effective_size, weighted_mean
from rankproof._statistics.paired import paired_statistics
from support.paths import GOLDEN

_PEER = json.loads((GOLDEN / "online" / "statistics.json").read_text(encoding="utf-8"))["hajek"]


def _drawn(*rows: tuple[float, float]) -> DrawnWeights:
    return DrawnWeights(np.array([weight for weight, _ in rows]), np.array([chance for _, chance in rows]))


def test_without_the_chances_mean_and_error_are_those_of_samplics() -> None:
    values, chances = np.array(_PEER["y"]), np.array(_PEER["pi"])
    statistics = paired_statistics(values, 1 / chances)
    assert (statistics.mean, statistics.error) == pytest.approx((_PEER["point"], _PEER["stderror"]))


def test_each_query_counts_by_one_minus_its_chance() -> None:
    values, chances = np.array(_PEER["y"]), np.array(_PEER["pi"])
    share = (1 / chances) / (1 / chances).sum()
    n, off = len(values), values - _PEER["point"]
    by_hand = np.sqrt(n / (n - 1) * ((1 - chances) * (share * off) ** 2).sum())
    assert paired_statistics(values, DrawnWeights(1 / chances, chances)).error == pytest.approx(by_hand)


def test_a_census_has_no_error_and_any_weights() -> None:
    values = np.random.default_rng(1).random((40, 2))
    weights = _drawn(*[(1.0 / (at + 1) ** 2, 1.0) for at in range(40)])
    assert pair_estimates(values, weights).errors[0, 1] < 1e-9
    assert are_even_weights(weights)
    assert not are_even_weights(weights.view(np.ndarray))
    assert effective_size(40, weights) == 40


def test_the_effective_size_is_that_of_the_queries_drawn_by_chance() -> None:
    weights = _drawn((500.0, 1.0), *[(10.0, 0.2)] * 50)
    assert effective_size(51, weights) == pytest.approx(50)
    assert are_even_weights(weights)


def test_chosen_queries_keep_their_chances_and_arithmetic_gives_plain_arrays() -> None:
    weights = weight_column([DrawnWeight(3.0, 0.5), DrawnWeight(2.0, 1.0), DrawnWeight(5.0, 0.25)])
    chosen = weights[np.array([True, False, True])]
    assert isinstance(chosen, DrawnWeights)
    assert chosen.chances.tolist() == [0.5, 0.25]
    assert type(weights / weights.mean()) is np.ndarray
    assert weights_by_query(["a", "b", "c"], weights) == {"a": 3.0, "b": 2.0, "c": 5.0}
    assert weights_by_query(["a", "b", "c"], weights)["a"].chance == 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize("held_out", [0, 40])
def test_intervals_of_samples_hold_the_mean_of_the_traffic(held_out: int) -> None:
    random = np.random.default_rng(2)
    traffic = np.maximum(1.0, np.round(2000 / np.arange(1, 501)))
    values = np.clip(random.beta(0.5, 0.8, 500) - 0.2 * (traffic < 10), 0, 1)
    truth, held, estimates = weighted_mean(values, traffic), 0, []
    for seed in range(400):
        drawn = draw(traffic, 80, held_out, seed)
        units, chances = drawn.units[drawn.kept], drawn.chances[drawn.kept]
        assert len(units) == 80
        weights = DrawnWeights(traffic[units] / chances, chances)
        interval = mean_interval(values[units], weights=weights)
        assert interval is not None
        held += interval[0] <= truth <= interval[1]
        estimates.append(weighted_mean(values[units], weights))
    assert 0.92 <= held / 400 <= 0.98
    assert np.mean(estimates) == pytest.approx(truth, abs=3 * float(np.std(estimates)) / 20)
