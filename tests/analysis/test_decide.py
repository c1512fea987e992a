"""The limits of the rule of a decision: certain differences of an open one, and the next margin that changes a choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rankproof._analysis.decision.decide import DecisionData, decide, labelled_interval
from rankproof._analysis.decision.record import Costs, Decision
from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import Margin
from rankproof._statistics.labelled_means import labelled_means
from rankproof._statistics.options import Looks
from rankproof.measures import parse_measure

RANDOM = np.random.default_rng(12)
BASE, NOISE, FINE = RANDOM.uniform(0.3, 0.6, 200), RANDOM.normal(0.0, 0.1, 200), RANDOM.normal(0.0, 0.01, 200)


def data_of(values: FloatArray, measure: str = "nDCG@10", **more: Any) -> DecisionData:
    return DecisionData(parse_measure(measure), tuple("abcdefg"[: values.shape[1]]), values, **more)


def open_values(below: float) -> FloatArray:
    """Two systems that vary a lot, with about the same mean, and a third one so far below the first."""
    noise = NOISE - NOISE.mean()
    return np.column_stack([BASE + noise, BASE - 0.001 - noise, BASE - below + FINE - FINE.mean()])


def score(values: FloatArray, system: int, other: int) -> float:
    return float(data_of(values).estimates().scores()[system, other])


def distance_with_score(values_at: Callable[[float], FloatArray], wanted: float) -> float:
    """How far below the first system the third one is if their difference has this score."""
    low, high = 0.0, 0.5
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if score(values_at(middle), 0, 2) < wanted else (low, middle)
    return high


@pytest.mark.parametrize(
    ("baseline", "looks", "level"),
    [("c", "one", 0.05 / 2 / 2), ("c", "many", 0.006 / 2 / 2), (None, "one", 0.05 / 2 / 3), (None, "many", 0.006 / 2 / 3)],
)
def test_a_difference_of_an_open_decision_is_certain_if_it_is_significant_among_all_that_count(
    baseline: str | None, looks: Looks, level: float
) -> None:
    """Bonferroni over the two pairs with the baseline, or over all three pairs."""
    threshold = distance_with_score(open_values, float(stats.norm.ppf(1 - level)))
    for below, certain in ((0.999 * threshold, False), (1.001 * threshold, True)):
        found = decide(data_of(open_values(below)), margin=Margin(1e-4), baseline=baseline, looks=looks)
        assert (found.outcome, found.reason) == ("not_decided", "risk")
        assert (("a", "c") in {(pair.system, pair.other) for pair in found.better}) is certain


def test_without_a_baseline_only_systems_below_the_leader_are_certainly_worse() -> None:
    values = np.column_stack([open_values(0.2), BASE - 0.4 + FINE])
    found = decide(data_of(values), margin=Margin(1e-4))
    assert [(pair.system, pair.other) for pair in found.better] == [("a", "c"), ("b", "c"), ("a", "d"), ("b", "d")]
    found = decide(data_of(values), margin=Margin(1e-4), baseline="d")
    assert [(pair.system, pair.other) for pair in found.better] == [("a", "d"), ("b", "d"), ("c", "d")]


def chosen_at(values: FloatArray, costs: Costs, margin: float) -> Decision:
    return decide(data_of(values, costs=costs), margin=Margin(margin))


@pytest.mark.parametrize("gap", [0.03, 0.06, 0.0935, 0.0985, 0.15])
def test_the_next_margin_is_the_first_of_its_quarters_up_to_five_times_at_which_another_system_is_shipped(gap: float) -> None:
    values, costs = np.column_stack([BASE, BASE - gap + 2 * FINE]), Costs("given", {"a": 9.0, "b": 1.0})
    found = chosen_at(values, costs, 0.02)
    assert found.systems == ("a",)
    changed = [step for step in range(5, 21) if chosen_at(values, costs, 0.02 * step / 4).systems == ("b",)]
    assert (None if found.other_margin is None else found.other_margin.system) == ("b" if changed else None)
    if found.other_margin is not None:
        assert found.other_margin.margin == pytest.approx(0.02 * changed[0] / 4)
    assert bool(changed) is (gap < 0.095)


@pytest.mark.parametrize(("other", "failures"), [(0.5, 1), (0.499, 0), (1.0, 1), (0.0, 0)])
def test_a_failure_is_a_worst_value_where_the_other_system_has_at_least_half_of_the_best(other: float, failures: int) -> None:
    values = np.column_stack([np.full(100, 0.75), np.full(100, 0.7)]) + np.column_stack([FINE[:100], -FINE[:100]])
    values[0] = other, 0.0
    values[1] = 1e-6, 1.0
    (pair,) = decide(data_of(values)).against
    assert (pair.system, pair.failures, pair.other_failures) == ("a", 0, failures)


@pytest.mark.parametrize(("measure", "means"), [("nDCG@10", [0.3, 0.6]), ("Hallucination", [0.7, 0.4]), ("DCG@10", [0.3, 0.6])])
def test_values_are_oriented_so_that_higher_is_better(measure: str, means: list[float]) -> None:
    data = data_of(np.array([[0.2, 0.5], [0.4, 0.7]]), measure)
    assert data.oriented(np.array(data.means())).tolist() == pytest.approx(means)
    assert data.best_possible == (0.0 if measure == "DCG@10" else 1.0)
    assert data.is_lower_better is (measure == "Hallucination")


def test_without_queries_every_mean_is_0_and_means_by_labels_are_turned_back() -> None:
    assert data_of(np.zeros((0, 3))).means() == [0.0, 0.0, 0.0]
    human = RANDOM.random((40, 2))
    labelled = labelled_means(1 - human, 1 - human, np.zeros((0, 2)))
    by_labels = data_of(human, "Hallucination", labelled=labelled)
    assert by_labels.means() == pytest.approx(human.mean(axis=0).tolist())
    assert by_labels.estimates().differences[0, 1] == pytest.approx(human[:, 1].mean() - human[:, 0].mean())


@pytest.mark.parametrize(("failed", "calls", "decided"), [(1, 100, True), (2, 100, False), (10, 1_000, True), (11, 1_000, False)])
def test_up_to_one_percent_of_failed_calls_do_not_prevent_a_decision(failed: int, calls: int, decided: bool) -> None:
    values = np.column_stack([BASE, BASE - 0.1])
    assert decide(data_of(values, failed={"a": (failed, calls)})).decided is decided


def test_a_system_is_shown_with_its_own_failed_share_and_timed_queries() -> None:
    costs = Costs("ms", {"a": 3.0, "b": 90.0}, {"a": 60})
    found = decide(data_of(np.column_stack([BASE, BASE - 0.1]), costs=costs, failed={"b": (1, 200)}))
    assert [(system.cost, system.failed, system.timed) for system in found.by_system] == [(3.0, 0.0, 60), (90.0, 0.005, None)]
    assert found.cost_unit == "ms"


def test_equal_means_are_named_in_the_order_of_their_names() -> None:
    values = np.column_stack([BASE, BASE])
    for names in (("a", "b"), ("b", "a")):
        found = decide(DecisionData(parse_measure("nDCG@10"), names, values))
        assert (found.outcome, found.systems) == ("either", ("a", "b"))


@pytest.mark.parametrize(("measure", "spread"), [("nDCG@10", 1.0), ("Hallucination", 1.0), ("DCG@10", 2.0)])
def test_the_interval_of_a_labelled_difference_counts_a_further_label_in_the_range_of_the_measure(
    measure: str, spread: float
) -> None:
    human = np.array([[0.5, 0.6], [0.7, 0.5], [0.4, 0.4]] * 20)
    human[0] = 0.0, 2.0 if measure == "DCG@10" else 0.1
    labelled = labelled_means(human, human, np.zeros((0, 2)))
    data = data_of(human, measure, labelled=labelled)
    low, high = labelled.difference_interval(0, 1, labelled.interval_floor(spread))
    wanted = (-high, -low) if measure == "Hallucination" else (low, high)
    assert labelled_interval(data, labelled, 0, 1) == wanted
    assert low < high
