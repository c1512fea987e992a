"""Golden values of live traffic that no other test compares, and a count of all: each is compared, or of what is not offered."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from rankproof._analysis.online.counterfactual import ESTIMATORS, Rounds
from rankproof._interleaving.methods import probabilistic_credit
from rankproof._statistics.confidence_sequence import interval_width, sequence_interval, share_evidence
from rankproof._statistics.means import weighted_mean
from support.paths import GOLDEN
from support.shown_lists import ShownList, click_log, pair_counts

_FILES = ("interleaving", "fidelity", "confidence_sequences", "counterfactual", "clickmodels", "statistics")
_NOT_OFFERED = {"CM", "DCM", "DBN", "UBM"}
"""Click models that `import` does not have."""


def _golden(name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((GOLDEN / "online" / f"{name}.json").read_text(encoding="utf-8"))
    return values


def test_all_blocks_of_golden_values_are_known() -> None:
    """A block that is added needs a test here or in the test of its module."""
    blocks = {name: {key for key in _golden(name) if key not in ("source", "what", "note")} for name in _FILES}
    assert {name: len(keys) for name, keys in blocks.items()} == {
        "interleaving": 2,
        "fidelity": 1,
        "confidence_sequences": 5,
        "counterfactual": 8,
        "clickmodels": 3,
        "statistics": 4,
    }
    assert len(_golden("interleaving")["cases"]) == 25
    assert Counter(row["method"].partition(" (")[0] for row in _golden("interleaving")["credit"]) == {
        "balanced": 18,
        "pairwise preference": 15,
        "probabilistic": 8,
        "team-draft": 6,
    }
    assert set(_golden("clickmodels")["models"]) == _NOT_OFFERED | {"GCTR", "RCTR", "DCTR", "PBM", "SDBN"}
    assert len(_golden("counterfactual")["values"]) == 7


@pytest.mark.parametrize("row", _golden("confidence_sequences")["normal_mixture_bound, two-sided"], ids=str)
def test_the_interval_is_the_normal_mixture_up_to_its_tuning(row: dict[str, float]) -> None:
    width = interval_width(row["v"], int(row["v_opt"]), row["alpha"])
    assert width == pytest.approx(row["bound"] / math.sqrt(row["v"]), rel=0.05)


@pytest.mark.parametrize("count", [50, 100, 300])
def test_the_interval_of_a_mean_lies_within_empirical_bernsteins_and_is_as_wide_as_that_by_betting(count: int) -> None:
    golden = _golden("confidence_sequences")
    values = np.array([(at * 7919 % 13) / 12 for at in range(count)])
    low, high, _ = sequence_interval(float(values.mean()), float(values.std()) / math.sqrt(count), count, expected=100)
    least, most = golden["conjugate-mixture empirical Bernstein, v_opt 20"][str(count)]
    assert least < low < high < most
    assert [low, high] == pytest.approx(golden["betting CS, defaults, 1000 breaks"][str(count)], abs=0.015)


@pytest.mark.parametrize("name", ["SNDR", "DRos lambda 2", "SwitchDR tau 1.5"])
def test_variants_of_the_doubly_robust_estimator_follow_from_changed_weights(name: str) -> None:
    peer = _golden("counterfactual")
    action, policy, model = np.array(peer["action"]), np.array(peer["pi_e"]), np.array(peer["q"])
    count = len(action)
    weight = policy[np.arange(count), action] / np.array(peer["pscore"])
    reward = np.array(peer["reward"], dtype=np.float64)
    rounds = Rounds(np.arange(count), reward, weight, model[action], np.ones(count), policy @ model)
    if name == "SNDR":
        errors = replace(rounds, reward=reward - rounds.predicted)
        value = rounds.policy.mean() + ESTIMATORS["snips"]([errors], 10.0).mean()
    else:
        changed = np.where(weight <= 1.5, weight, 0.0) if "Switch" in name else 2 * weight / (weight**2 + 2)
        value = ESTIMATORS["dr"]([replace(rounds, weight=changed)], 10.0).mean()
    assert value == pytest.approx(peer["values"][name], rel=1e-9)


def test_credit_of_probabilistic_interleaving_is_that_of_the_reference() -> None:
    """The reference gives the mass of assignments in which a system wins, before it divides by the mass of all."""
    rows = [row for row in _golden("interleaving")["credit"] if row["method"].startswith("probabilistic")]
    for row in rows:
        chances = [probabilistic_credit(row["lists"], row["docs"], {place})[0] for place in row["clicks"]]
        won = [0.0, 0.0]
        for assigned in range(1 << len(chances)):
            of_first = [bool(assigned >> at & 1) for at in range(len(chances))]
            mass = math.prod(chance if own else 1 - chance for own, chance in zip(of_first, chances, strict=True))
            lead = 2 * sum(of_first) - len(of_first)
            won[0] += mass * (lead > 0)
            won[1] += mass * (lead < 0)
        assert [score / row["total"] for score in row["scores"]] == pytest.approx(won, abs=1e-9)


def test_credit_of_team_draft_is_that_of_the_reference() -> None:
    rows = [row for row in _golden("interleaving")["credit"] if row["method"] == "team-draft"]
    for row in rows:
        clicked = [row["teams"][place] for place in row["clicks"]]
        assert [clicked.count(0), clicked.count(1)] == row["scores"]


def _rates(model: str) -> tuple[list[list[float]], list[list[bool]]]:
    """The chance of a click by PyClick's smoothing, and the clicks, at each rank of the sessions that it tests."""
    golden = _golden("clickmodels")
    lists = [
        ShownList(query, tuple(docs), (1, 2, 3, 4), {doc: 1.0 for doc, click in zip(docs, clicks, strict=True) if click == "1"})
        for query, docs, clicks in golden["sessions"][: golden["train"]]
    ]
    log, by_pair = click_log(lists), pair_counts(lists, "ctr")
    by_rank = log.by_rank()
    overall, rate = (by_rank.clicked.sum() + 1) / (by_rank.shown.sum() + 2), log.total_clicks / len(log.pair)
    ranks = ((by_rank.clicked + 1) / (by_rank.shown + 2)).tolist()
    chances, clicked = [], []
    for query, docs, clicks in golden["sessions"][golden["train"] :]:
        counts = [by_pair.get((query, doc)) for doc in docs]
        pairs = [0.5 if own is None else (own.clicks + 1) / (own.expected / rate + 2) for own in counts]
        chances.append({"GCTR": [float(overall)] * 4, "RCTR": ranks, "DCTR": pairs}[model])
        clicked.append([click == "1" for click in clicks])
    return chances, clicked


@pytest.mark.parametrize("model", ["GCTR", "RCTR", "DCTR"])
def test_click_rates_predict_as_well_as_those_of_pyclick(model: str) -> None:
    peer = _golden("clickmodels")["models"][model]
    chances, clicked = map(np.array, _rates(model))
    chance = np.where(clicked, chances, 1 - chances)
    assert np.log(chance).mean() == pytest.approx(peer["log_likelihood"], abs=1e-9)
    assert 2 ** -np.log2(chance).mean(axis=0) == pytest.approx(peer["perplexity"][1], abs=1e-9)


def test_counts_that_chi_square_rejects_are_more_evidence_with_the_usual_concentration_than_with_that_of_ssrm_test() -> None:
    peer = _golden("statistics")["srm"]
    total = np.sum(peer["batches"], axis=0).tolist()
    assert chisquare(total).pvalue == pytest.approx(peer["chi2_p_total"])
    assert share_evidence(total, peer["expected"]) > share_evidence(total, peer["expected"], 10_000.0)


def test_the_total_of_weights_is_that_of_horvitz_and_thompson() -> None:
    peer = _golden("statistics")["hajek"]
    values, weights = np.array(peer["y"]), 1 / np.array(peer["pi"])
    assert weighted_mean(values, weights) * weights.sum() == pytest.approx(peer["horvitz_thompson_total"])
    assert [peer["point"], peer["stderror"]] == pytest.approx(peer["own"])
