"""Estimators of what a policy would have got: the values of the Open Bandit Pipeline, and laws."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankproof._analysis.online.counterfactual import ESTIMATORS, Rounds, effective_sample_size
from rankproof._statistics.options import Estimator
from support.paths import GOLDEN

_PEER = json.loads((GOLDEN / "online" / "counterfactual.json").read_text(encoding="utf-8"))


def _rounds() -> Rounds:
    """The peer's log: one action per round, with the probabilities of the target policy and a model of rewards by action."""
    action, count = np.array(_PEER["action"]), len(_PEER["action"])
    policy, model = np.array(_PEER["pi_e"]), np.array(_PEER["q"])
    weight = policy[np.arange(count), action] / np.array(_PEER["pscore"])
    reward = np.array(_PEER["reward"], dtype=np.float64)
    return Rounds(np.arange(count), reward, weight, model[action], np.ones(count), policy @ model)


@pytest.mark.parametrize(("estimator", "name"), [("ips", "IPS"), ("snips", "SNIPS"), ("dr", "DR")])
def test_an_estimate_is_that_of_the_open_bandit_pipeline(estimator: Estimator, name: str) -> None:
    values = ESTIMATORS[estimator]([_rounds()], 10.0)
    assert values.mean() == pytest.approx(_PEER["values"][name], rel=1e-12)


def test_the_model_alone_and_the_effective_size_are_those_of_the_open_bandit_pipeline() -> None:
    rounds = _rounds()
    assert rounds.policy.mean() == pytest.approx(_PEER["values"]["DM"], rel=1e-12)
    assert effective_sample_size(rounds) == pytest.approx(_PEER["effective_sample_size"], rel=1e-12)


def test_clipping_above_every_weight_changes_nothing_and_below_lowers_the_estimate() -> None:
    rounds = _rounds()
    assert ESTIMATORS["clipped"]([rounds], 1e9).tolist() == ESTIMATORS["ips"]([rounds], 1e9).tolist()
    assert ESTIMATORS["clipped"]([rounds], 1.0).mean() < ESTIMATORS["ips"]([rounds], 1.0).mean()


@pytest.mark.parametrize(
    ("name", "logged", "target"),
    [
        ("SIPS", "pscore", "e_pscore"),
        ("IIPS (item-position)", "pscore_item_position", "e_item_position"),
        ("RIPS (cascade)", "pscore_cascade", "e_cascade"),
    ],
)
def test_clicks_on_lists_are_weighted_as_the_open_bandit_pipeline_weights_slates(name: str, logged: str, target: str) -> None:
    slate = _PEER["slate"]
    weight = np.array(slate[target]) / np.array(slate[logged])
    reward, of_list = np.array(slate["reward"], dtype=np.float64), np.array(slate["slate_id"])
    lists = Rounds(of_list, reward, weight, reward, np.ones(len(reward)), np.zeros(int(of_list.max()) + 1))
    assert ESTIMATORS["ips"]([lists], 10.0).mean() == pytest.approx(slate["values"][name], rel=1e-12)
