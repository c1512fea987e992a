"""The decision: risk, loss, cost, and when nothing is decided."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankproof._analysis.decision import MAX_RISK, Alternative, Change, Costs, Decision, DecisionData, SystemRisk, decide
from rankproof._analysis.decision_text import rounded_up
from rankproof._data.arrays import FloatArray
from rankproof._statistics.means import draw_means
from rankproof.measures import parse_measure

BASE = np.random.default_rng(5).random(100)
STEP = np.where(np.arange(100) % 2, 0.05, -0.05)
"""Differences with mean 0 and a standard error of half a percentage point."""


def data_of(values: Mapping[str, FloatArray], measure: str = "nDCG@10", **more: Any) -> DecisionData:
    return DecisionData(parse_measure(measure), tuple(values), np.column_stack(list(values.values())), **more)


def decided(values: Mapping[str, FloatArray], costs: Mapping[str, float | None] | None = None, **more: Any) -> Decision:
    known = Costs() if costs is None else Costs(more.pop("unit", "given"), costs)
    options = {name: more.pop(name) for name in ("margin", "baseline") if name in more}
    return decide(data_of(values, costs=known, **more), **options)


def test_risk_and_loss_are_shares_and_means_of_the_draws() -> None:
    values = {"a": BASE, "b": BASE - 0.02 + STEP, "c": BASE - 0.1}
    draws = draw_means(np.column_stack(list(values.values())))
    short = draws.max(axis=1)[:, None] - draws
    found = decided(values, margin=0.02)
    assert [one.risk for one in found.systems] == pytest.approx((short > 0.02).mean(axis=0), abs=1e-3)
    assert [one.loss for one in found.systems] == pytest.approx(short.mean(axis=0), abs=1e-12)


def test_the_cheapest_system_of_low_risk_is_recommended() -> None:
    values = {"best": BASE, "near": BASE - 0.005 + STEP, "far": BASE - 0.2}
    found = decided(values, {"best": 9.0, "near": 3.0, "far": 1.0})
    assert (found.decided, found.system) == (True, "near")
    assert (found.of("far").risk or 0) > MAX_RISK
    assert found.sentences[0].startswith("Ship near: ")


@pytest.mark.parametrize(
    ("costs", "unit", "chosen"),
    [
        ({"best": 1.09, "near": 1.0}, "given", "best"),
        ({"best": 10.0, "near": 9.0}, "given", "best"),
        ({"best": 1.2, "near": 1.0}, "given", "near"),
        ({"best": 2.9, "near": 2.0}, "ms", "best"),
        ({"best": 3.0, "near": 2.0}, "ms", "best"),
        ({"best": 3.0, "near": 2.0}, "money", "near"),
        ({"best": 3.1, "near": 2.0}, "ms", "near"),
        ({"best": 90.0, "near": None}, "ms", "best"),
        ({}, "ms", "best"),
    ],
)
def test_equal_or_unknown_costs_leave_the_choice_to_the_loss(costs: dict[str, float | None], unit: Any, chosen: str) -> None:
    values = {"near": BASE - 0.005 + STEP, "best": BASE}
    assert decided(values, costs, unit=unit).system == chosen


def test_below_thirty_queries_nothing_is_decided() -> None:
    found = decided({"a": BASE[:29], "b": BASE[:29] - 0.3}, baseline="b")
    assert (found.decided, found.system, found.queries_needed) == (False, "a", 30)
    assert found.sentences == (
        "Not decided: a decision needs at least 30 queries (n = 29).",
        f"a leads: {BASE[:29].mean():.3f} nDCG@10; risk below 0.1%, expected loss 0.0 pp;"
        " keeping b has an expected loss of 30.0 pp.",
        "With the same means, about 30 queries would decide (1 more).",
    )


def noisy(n: int) -> dict[str, FloatArray]:
    """Two systems of equal means that differ much on every query."""
    rng = np.random.default_rng(3)
    return {"a": rng.random(n), "b": rng.random(n)}


def test_without_a_system_of_low_risk_the_leading_one_is_named() -> None:
    found = decided(noisy(50))
    assert not found.decided
    assert found.system == min(found.systems, key=lambda one: one.loss or 0).name
    assert found.reasons == ("every system has a risk above 5% of being more than 2 pp below the best (50 queries)",)


def test_the_queries_needed_would_decide_and_fewer_would_not() -> None:
    values = noisy(50)
    needed = decided(values).queries_needed
    assert needed is not None
    stacked = np.column_stack(list(values.values()))
    draws, centre = draw_means(stacked), stacked.mean(axis=0)

    def least_risk(size: float) -> float:
        drawn = centre + (draws - centre) * np.sqrt(50 / size)
        return float((drawn.max(axis=1)[:, None] - drawn > 0.02).mean(axis=0).min())

    assert least_risk(needed) <= MAX_RISK
    assert least_risk(needed * 0.97) > MAX_RISK


def test_more_queries_than_can_be_extrapolated_are_not_named() -> None:
    one = noisy(50)["a"]
    assert decided({"a": one, "b": one[::-1]}, margin=1e-4).queries_needed is None


def test_a_choice_that_changes_without_unjudged_documents_is_not_decided() -> None:
    values, judged = {"a": BASE, "b": BASE - 0.1 + STEP}, np.column_stack([BASE - 0.1 + STEP, BASE])
    found = decided(values, judged_only=judged)
    assert found.reasons == ("without unjudged documents the choice is b, not a",)
    assert decided(values, judged_only=np.column_stack(list(values.values()))).decided


def test_an_equally_good_system_without_unjudged_documents_does_not_prevent_a_decision() -> None:
    values, judged = {"a": BASE, "b": BASE - 0.001 + STEP / 10}, np.column_stack([BASE - 0.001 + STEP / 10, BASE])
    found = decided(values, judged_only=judged)
    assert (found.decided, found.system) == (True, "a")


def test_failed_queries_prevent_a_decision() -> None:
    values = {"a": BASE, "b": BASE - 0.1}
    assert decided(values, failed={"b": 0.01}).decided
    assert decided(values, failed={"b": 0.02}).reasons == ("2.0% of the queries of b failed",)


def test_a_larger_margin_can_choose_a_cheaper_system() -> None:
    values = {"best": BASE, "near": BASE - 0.03 + STEP}
    found = decided(values, {"best": 9.0, "near": 1.0})
    assert found.system == "best"
    change = found.changes[0]
    assert (change.by, change.system) == ("margin", "near")
    at_change = decided(values, {"best": 9.0, "near": 1.0}, margin=change.at)
    before = decided(values, {"best": 9.0, "near": 1.0}, margin=change.at - 0.005)
    assert (before.system, at_change.system) == ("best", "near")
    assert found.sentences[1:3] == (
        f"near is 9 times cheaper and 3.0 pp lower (100 queries differ); its risk is {100 * (found.of('near').risk or 0):.0f}%.",
        "With a margin of 4 pp the choice would be near.",
    )


def test_only_the_best_of_more_than_three_systems_is_optimistic() -> None:
    many = {name: BASE - at / 10 for at, name in enumerate("abcd")}
    assert decided(many).optimistic
    assert decided(many).sentences[-1] == "It was chosen from 4 systems, so its value is optimistic."
    assert not decided(dict(list(many.items())[:3])).optimistic


def test_identical_systems_are_equally_good_and_the_cheaper_one_is_taken() -> None:
    found = decided({"a": BASE, "b": BASE}, {"a": 2.0, "b": 1.0})
    assert (found.decided, found.system) == (True, "b")
    assert [one.risk for one in found.systems] == [0.0, 0.0]
    assert "costs the same" not in found.sentences[1]
    assert found.sentences[1].startswith("a is 2 times more expensive and has the same nDCG@10")


def test_all_zero_is_not_a_decision() -> None:
    found = decided({"a": np.zeros(40), "b": np.zeros(40)})
    assert found.reasons == ("nDCG@10 is 0 for every system and query",)


def test_one_system_leaves_nothing_to_choose() -> None:
    found = decided({"a": BASE})
    assert found.sentences == (
        "Not decided: there is only one system to choose from.",
        f"a: {BASE.mean():.3f} nDCG@10 (n = 100).",
    )


@pytest.mark.parametrize(("rows", "reason"), [(0, "there is no query"), (1, "one query has no variance")])
def test_without_two_queries_nothing_is_decided(rows: int, reason: str) -> None:
    found = decided({"b": BASE[:rows] / 2, "a": BASE[:rows]}, failed={"b": 0.5})
    assert (found.decided, found.reasons, found.n) == (False, (reason,), rows)
    assert found.system == ("a" if rows else "b")
    assert [one.value for one in found.systems] == ([BASE[0] / 2, BASE[0]] if rows else [0.0, 0.0])
    assert [(one.risk, one.loss, one.failed) for one in found.systems] == [(None, None, 0.5), (None, None, 0.0)]


def test_without_a_system_there_is_nothing_to_choose() -> None:
    found = decide(DecisionData(parse_measure("nDCG@10"), (), np.zeros((40, 0))))
    assert (found.system, found.sentences) == (None, ("Not decided: no system retrieved anything.",))


def test_a_system_exactly_the_margin_below_the_best_is_good_enough() -> None:
    values = {"best": np.full(40, 0.75), "near": np.full(40, 0.5)}
    assert decided(values, {"best": 9.0, "near": 1.0}, margin=0.25).system == "near"
    assert decided(values, {"best": 9.0, "near": 1.0}, margin=0.2499).system == "best"


def test_thirty_queries_are_enough() -> None:
    found = decided({"a": BASE[:30], "b": BASE[:30] - 0.3})
    assert (found.decided, found.queries_needed) == (True, None)


def test_more_queries_with_the_same_means_can_choose_a_cheaper_system() -> None:
    values, costs = {"best": BASE, "near": BASE - 0.012 + STEP}, {"best": 9.0, "near": 1.0}
    found = decided(values, costs)
    change = next(one for one in found.changes if one.by == "queries")
    assert (found.system, change.system) == ("best", "near")
    stacked = np.column_stack(list(values.values()))
    draws, centre = draw_means(stacked), stacked.mean(axis=0)

    def risk(size: float) -> float:
        drawn = centre + (draws - centre) * np.sqrt(100 / size)
        return float((drawn.max(axis=1) - drawn[:, 1] > 0.02).mean())

    sizes = [100 * 2 ** (step / 2) for step in range(21)]
    assert change.at == pytest.approx(next(size for size in sizes if risk(size) <= MAX_RISK))


def test_only_more_queries_are_named_as_a_change() -> None:
    found = decided({"a": BASE, "b": BASE - 0.002 + 2.4 * STEP})
    assert found.decided
    assert 0.03 < (found.of("a").risk or 0) <= MAX_RISK, "70 queries would not be enough"
    assert [one for one in found.changes if one.by == "queries"] == []


def two_systems(one: float | None, other: float | None, unit: Any = "given", **more: Any) -> Decision:
    """A decision for `a`, with the costs of `a` and `b`."""
    systems = (SystemRisk("a", 0.5, 0.01, 0.002, one, 0.0), SystemRisk("b", 0.47, 0.8, 0.03, other, 0.0))
    usual: dict[str, Any] = {"alternative": Alternative("b", -0.03, (-0.051, -0.009), 40), "baseline": None, "cost_unit": unit}
    return Decision(True, parse_measure("nDCG@10"), 0.02, 100, "a", systems=systems, **{**usual, **more})


@pytest.mark.parametrize(
    ("one", "other", "unit", "phrase"),
    [
        (1.0, 1.05, "given", "costs the same and is 3.0 pp lower"),
        (10.0, 9.0, "money", "costs the same and is 3.0 pp lower"),
        (100.0, 105.0, "ms", "is as fast within 10% and 3.0 pp lower"),
        (2.0, 3.0, "ms", "is as fast within 1 ms and 3.0 pp lower"),
        (0.0, 2.0, "given", "is more expensive and 3.0 pp lower"),
        (2.0, 0.0, "given", "is cheaper and 3.0 pp lower"),
        (1.0, 1.94, "given", "is 94% more expensive and 3.0 pp lower"),
        (1.0, 1.95, "given", "is 2 times more expensive and 3.0 pp lower"),
        (20.0, 5.0, "ms", "is 4 times faster and 3.0 pp lower"),
        (5.0, 20.0, "ms", "is 4 times slower and 3.0 pp lower"),
        (None, 20.0, "ms", "is 3.0 pp lower"),
        (20.0, None, "ms", "is 3.0 pp lower"),
    ],
)
def test_the_alternative_is_described_by_its_cost_and_its_difference(
    one: float | None, other: float | None, unit: Any, phrase: str
) -> None:
    assert two_systems(one, other, unit).sentences[1] == f"b {phrase} (95% CI -5.1 to -0.9); its risk is 80%."


@pytest.mark.parametrize(
    ("alternative", "phrase"),
    [
        (Alternative("b", 0.0, None, 0), "has the same nDCG@10"),
        (Alternative("b", 0.004, None, 1), "is 0.4 pp higher (1 query differs)"),
        (Alternative("b", -0.0009, None, 2), "is less than 0.1 pp lower (2 queries differ)"),
        (Alternative("b", -0.001, None, 2), "is 0.1 pp lower (2 queries differ)"),
    ],
)
def test_the_difference_of_the_alternative_has_an_interval_or_the_queries_that_differ(
    alternative: Alternative, phrase: str
) -> None:
    assert two_systems(None, None, alternative=alternative).sentences[1] == f"b {phrase}; its risk is 80%."


def test_a_measure_that_is_no_fraction_has_no_percentage_points() -> None:
    alternative = Alternative("b", -1.2345, (-2.0, -0.5), 9)
    found = replace(two_systems(None, None, alternative=alternative), measure=parse_measure("DCG@10"), margin=0.25)
    assert found.sentences == (
        "Ship a: 0.500 DCG@10; risk 1.0% of being more than 0.25 below the best (n = 100).",
        "b is 1.23 lower (95% CI -2 to -0.5); its risk is 80%.",
        "The choice is the same for margins of 0.0625 to 1.25.",
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ((), "The choice is the same for margins of 0.5 pp to 10 pp."),
        ((Change("margin", 0.04, "b"),), "With a margin of 4 pp the choice would be b."),
        ((Change("margin", 0.04, None),), "With a margin of 4 pp the choice would be open."),
        ((Change("margin", 0.01, "b"),), "With a margin of 1 pp the choice would be b."),
        ((Change("margin", 0.01, None),), "With a margin of 1 pp nothing would be decided."),
        ((Change("queries", 1131.4, "b"),), "With about 1,200 queries and the same means the choice would be b."),
        (
            (Change("margin", 0.01, "b"), Change("queries", 99.0, "b")),
            "With about 99 queries and the same means the choice would be b.",
        ),
        ((Change("queries", 99.0, "b"), Change("margin", 0.04, "b")), "With a margin of 4 pp the choice would be b."),
    ],
)
def test_the_nearest_change_of_the_choice_is_named(changes: tuple[Change, ...], sentence: str) -> None:
    assert two_systems(1.0, 2.0, changes=changes).sentences[2] == sentence


@pytest.mark.parametrize(
    ("number", "wanted"), [(1, 1), (9.2, 10), (99, 99), (99.5, 100), (101, 110), (999, 1000), (1001, 1100), (12_345, 13_000)]
)
def test_a_number_of_queries_has_two_digits_and_is_rounded_up(number: float, wanted: int) -> None:
    assert rounded_up(number) == wanted


def test_an_open_decision_names_the_loss_of_the_baseline_and_the_pairs_to_judge_first() -> None:
    pairs = tuple((f"q{at}", f"d{at}") for at in range(4))
    found = replace(
        two_systems(None, None),
        decided=False,
        reasons=("one", "two"),
        baseline="b",
        queries_needed=1234,
        judge_next=pairs,
        unjudged=7,
    )
    assert found.sentences == (
        "Not decided: one; two.",
        "a leads: 0.500 nDCG@10; risk 1.0%, expected loss 0.2 pp; keeping b has an expected loss of 3.0 pp.",
        "With the same means, about 1,300 queries would decide (1,200 more).",
        "7 pairs are unjudged; judge first: q0 d0, q1 d1, q2 d2 (rankproof audit --judge-next lists more).",
    )
    own = replace(found, baseline="a", judge_next=(), queries_needed=None)
    assert own.sentences[1:] == ("a leads: 0.500 nDCG@10; risk 1.0%, expected loss 0.2 pp.",)


@pytest.mark.parametrize(
    ("cost", "unit", "text"),
    [
        (12.3, "ms", " at 12.3 ms"),
        (0.0125, "money", " at 12.5 per 1,000 queries"),
        (1.4, "given", " at cost 1.4"),
        (None, "given", ""),
    ],
)
def test_a_cost_is_named_with_its_unit(cost: float | None, unit: Any, text: str) -> None:
    assert two_systems(cost, None, unit).sentences[0] == (
        f"Ship a: 0.500 nDCG@10{text}; risk 1.0% of being more than 2 pp below the best (n = 100)."
    )


def test_a_decision_of_a_noisy_judge_says_so() -> None:
    assert two_systems(None, None, judge_noise=0.02).sentences[-1] == (
        "The judge is too noisy: asked again, the difference from b changes by 2.0 pp, more than half of it."
    )


def test_of_a_measure_where_lower_is_better_the_lowest_is_best() -> None:
    found = decide(data_of({"a": BASE + 0.2, "b": BASE}, "Bpref"), margin=0.02)
    assert found.system == "a"
    lower = type("Lower", (type(parse_measure("nDCG@10")),), {"higher_is_better": False})
    data = DecisionData(lower(cutoff=10), ("a", "b"), np.column_stack([BASE + 0.2, BASE]))
    found = decide(data)
    assert found.system == "b"
    assert "nDCG@10 (lower is better)" in found.sentences[0]
    assert "more than 2 pp above the best" in found.sentences[0]


def test_weights_of_queries_change_the_choice() -> None:
    values = {"a": np.repeat([0.9, 0.1], 50) + STEP / 10, "b": np.repeat([0.5, 0.6], 50) - STEP / 10}
    weights = np.repeat([1.0, 9.0], 50)
    assert decided(values, weights=weights).system == "b"
    few = np.concatenate([np.full(20, 1.0), np.full(80, 1e-9)])
    assert decided({"a": BASE, "b": BASE - 0.2}, weights=few).reasons == (
        "a decision needs at least 30 queries (n = 100, with weights worth 20)",
    )


def test_a_decision_is_plain_json_and_one_text() -> None:
    found = decided({"a": BASE, "b": BASE - 0.1}, {"a": 1.0, "b": 2.0}, baseline="b")
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (plain["decided"], plain["system"], plain["measure"], plain["baseline"]) == (True, "a", "nDCG@10", "b")
    assert plain["sentences"] == list(found.sentences)
    assert str(found) == " ".join(found.sentences)


def test_the_order_of_systems_does_not_change_the_choice() -> None:
    values = {"a": BASE, "b": BASE - 0.01 + STEP, "c": BASE - 0.3}
    names: Sequence[str] = list(values)
    assert {decided({name: values[name] for name in order}).system for order in (names, names[::-1])} == {"a"}


@pytest.mark.parametrize("n", [30, 60, 150])
def test_the_simulated_rule_is_the_rule(n: int) -> None:
    """`python -m benchmarks.decision_rule` has its own, faster version."""
    from benchmarks.decision_rule import Rule

    random, rule, names = np.random.default_rng(n), Rule(n, 4), ("a", "b", "c", "d")
    same = 0
    for _ in range(12):
        values = np.clip(random.random((n, 1)) + random.normal([0, 0.01, 0.03, 0.03], 0.1, (n, 4)), 0, 1)
        costs = ((1 + random.permutation(4)) ** 2).astype(np.float64)
        data = DecisionData(parse_measure("nDCG@10"), names, values, costs=Costs("given", dict(zip(names, costs, strict=True))))
        found = decide(data, margin=0.02, baseline=None, interval=lambda differences: None)
        (simulated,) = rule.choices(values, [costs])
        same += (names[simulated.at], simulated.decided) == (found.system, found.decided)
    assert same >= 11, "only a risk close to 5% may fall on either side, as the draws are others"


def test_an_expected_loss_is_at_most_the_range_of_the_measure() -> None:
    found = decided({"a": np.array([0.0, 1.0]), "b": np.array([1.0, 0.5])})
    assert all(0 < (one.loss or 0) < 1 for one in found.systems)
