"""The decision: its outcomes, their conditions and sentences, and what keeps anything from being decided."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankproof._analysis.decision.decide import DecisionData, decide, margin_amount
from rankproof._analysis.decision.queries_needed import rounded_up
from rankproof._analysis.decision.record import Costs, Decision, PairDifference, QueriesNeeded, Scenario, SystemRisk
from rankproof._analysis.decision.scenarios import MissingValues, doubt_table
from rankproof._analysis.decision.sentences import price_ratio
from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import Margin, parse_margin
from rankproof._statistics.intervals import enough_differ, mean_interval
from rankproof.errors import UsageError
from rankproof.measures import parse_measure

BASE = np.random.default_rng(5).random(100)
STEP = np.where(np.arange(100) % 2, 0.05, -0.05)
"""Differences with mean 0 and a standard error of half a percentage point."""
HALF = np.full(400, 0.5)


def repeated(values: Sequence[float], n: int) -> FloatArray:
    return np.resize(np.array(values, dtype=np.float64), n)


def ones(count: int, n: int) -> FloatArray:
    return (np.arange(n) < count).astype(np.float64)


def data_of(values: Mapping[str, FloatArray], measure: str = "nDCG@10", **more: Any) -> DecisionData:
    return DecisionData(parse_measure(measure), tuple(values), np.column_stack(list(values.values())), **more)


def decided(values: Mapping[str, FloatArray], costs: Mapping[str, float | None] | None = None, **more: Any) -> Decision:
    known = Costs() if costs is None else Costs(more.pop("unit", "given"), costs)
    options = {name: more.pop(name) for name in ("baseline", "looks") if name in more}
    margin = Margin(more.pop("margin")) if "margin" in more else None

    def interval(differences: FloatArray) -> tuple[float, float] | None:
        return mean_interval(differences) if enough_differ(differences) else None

    return decide(data_of(values, costs=known, **more), margin=margin, interval=interval, **options)


WORSE = {"a": 0.5 - repeated((0.04, -0.02), 400), "b": HALF}
"""`a` is measurably worse by 1 pp, which the margin allows."""
EQUAL = {"a": repeated((0.5, 0.6), 200), "b": repeated((0.6, 0.5), 200)}


@pytest.mark.parametrize(
    ("values", "costs", "options", "outcome", "kind", "systems", "first"),
    [
        (
            {"a": BASE, "b": BASE - 0.1 + STEP},
            None,
            {},
            "ship",
            "better",
            ("a",),
            f"Ship a: {BASE.mean():.3f} nDCG@10, better than every other system (next: b, -10.0 pp, 95% CI [-11.0, -9.0]).",
        ),
        (
            {"a": 0.5 + repeated((0.30, -0.24), 100), "b": HALF[:100]},
            None,
            {},
            "ship",
            "safe",
            ("a",),
            "Ship a: 0.530 nDCG@10; risk 3.5% (limit 5%) of being more than 2 pp (3.8%) below the best."
            " It is not shown to be better than b (+3.0 pp, 95% CI [-2.4, 8.4]), but b could be more than 2 pp worse (risk 64%).",
        ),
        (
            EQUAL,
            {"a": 1, "b": 3},
            {},
            "ship",
            "cheaper",
            ("a",),
            "Ship a: 0.550 nDCG@10 at cost 1, 3 times cheaper than b and no difference that matters"
            " (+0.0 pp, within 2 pp; risk 0.3%, limit 5%).",
        ),
        (
            WORSE,
            {"a": 1, "b": 6},
            {},
            "ship",
            "cheaper_and_worse",
            ("a",),
            "Ship a only to save cost: it is 6 times cheaper, and measurably worse than b by 1.0 pp (95% CI [0.7, 1.3]),"
            " which your margin of 2 pp allows. For quality alone ship b.",
        ),
        (
            EQUAL,
            None,
            {},
            "either",
            None,
            ("a", "b"),
            "Either of a and b: no difference that matters (each is within 2 pp of the best, risk at most 0.3%)."
            " Costs do not decide.",
        ),
        (
            {"a": np.ones(200), "b": np.ones(200)},
            None,
            {},
            "either",
            None,
            ("a", "b"),
            "Either of a and b: no query tells them apart (each is within 2 pp of the best, risk below 0.1%)."
            " Costs do not decide.",
        ),
        (
            {"a": BASE, "b": BASE - 0.1 + STEP},
            None,
            {"baseline": "a"},
            "keep",
            "better",
            ("a",),
            f"Keep a: {BASE.mean():.3f} nDCG@10, better than every other system (next: b, -10.0 pp, 95% CI [-11.0, -9.0]).",
        ),
        (
            EQUAL,
            None,
            {"baseline": "b"},
            "keep",
            "safe",
            ("b",),
            "Keep b: nothing is shown to be better, and b is within 2 pp of the best (risk 0.3%, limit 5%).",
        ),
        (
            WORSE,
            {"a": 1, "b": 6},
            {"baseline": "a"},
            "keep",
            "cheaper_and_worse",
            ("a",),
            "Keep a only to save cost: b is measurably better by 1.0 pp (95% CI [0.7, 1.3]),"
            " which your margin of 2 pp allows, and is 6 times more expensive.",
        ),
        (
            {"a": np.ones(60), "b": 1 - ones(1, 60)},
            {"a": 2, "b": 1},
            {},
            "not_decided",
            None,
            (),
            "Not decided: a leads, but its risk of being more than 2 pp (2%) below b is 6.3% (limit 5%).",
        ),
    ],
)
def test_each_outcome_has_its_sentence(
    values: Mapping[str, FloatArray],
    costs: Mapping[str, float | None] | None,
    options: Mapping[str, Any],
    outcome: str,
    kind: str | None,
    systems: tuple[str, ...],
    first: str,
) -> None:
    found = decided(values, costs, **options)
    assert (found.outcome, found.kind, found.systems, found.sentences[0]) == (outcome, kind, systems, first)
    assert found.decided == (outcome != "not_decided")


@pytest.mark.parametrize(
    ("values", "costs", "chosen"),
    [
        ({"a": ones(20, 2000), "b": np.zeros(2000)}, {"a": 10, "b": 1}, ("a",)),
        ({"a": ones(20, 400), "b": ones(18, 400)}, None, ("a",)),
        ({"a": 0.5 + repeated((0.08, -0.12), 400), "b": HALF}, {"a": 1, "b": 10}, ("b",)),
        ({"a": np.ones(200), "b": 1 - ones(1, 200)}, {"a": 2, "b": 1}, ("b",)),
        (WORSE, {"a": 1, "b": 1.5}, ("b",)),
        (WORSE, None, ("b",)),
    ],
)
def test_worked_cases(
    values: Mapping[str, FloatArray], costs: Mapping[str, float | None] | None, chosen: tuple[str, ...]
) -> None:
    assert decided(values, costs).systems == chosen


@pytest.mark.parametrize(
    ("costs", "unit", "chosen"),
    [
        ({"a": 1.09, "b": 1.0}, "given", ("a", "b")),
        ({"a": 10.0, "b": 9.0}, "given", ("a", "b")),
        ({"a": 1.2, "b": 1.0}, "given", ("b",)),
        ({"a": 3.0, "b": 2.0}, "ms", ("a", "b")),
        ({"a": 3.0, "b": 2.0}, "money", ("b",)),
        ({"a": 3.1, "b": 2.0}, "ms", ("b",)),
        ({"a": 90.0, "b": None}, "ms", ("a", "b")),
        ({}, "ms", ("a", "b")),
    ],
)
def test_equal_or_unknown_costs_do_not_decide(costs: dict[str, float | None], unit: Any, chosen: tuple[str, ...]) -> None:
    assert decided({"b": EQUAL["b"], "a": EQUAL["a"]}, costs, unit=unit).systems == chosen


def test_the_margin_is_two_points_or_a_tenth_of_a_small_best_mean() -> None:
    assert decided({"a": BASE, "b": BASE - 0.1}).margin == 0.02
    assert decided({"a": BASE / 10, "b": BASE / 20}).margin == pytest.approx(BASE.mean() / 100)
    assert margin_amount(Margin(0.05, is_share=True), 0.6, parse_measure("nDCG@10")) == pytest.approx(0.03)
    assert margin_amount(None, 12.0, parse_measure("DCG@10")) == pytest.approx(1.2)


@pytest.mark.parametrize(("text", "margin"), [("5%", Margin(0.05, True)), (0.01, Margin(0.01)), ("0.01", Margin(0.01))])
def test_a_margin_is_a_difference_or_a_share(text: object, margin: Margin) -> None:
    assert parse_margin(text) == margin


@pytest.mark.parametrize("text", [0, -1, "x", "0%", "100%", float("nan"), True, None])
def test_a_wrong_margin_is_an_error(text: object) -> None:
    with pytest.raises(UsageError, match="margin"):
        parse_margin(text)


def test_a_margin_of_a_whole_fraction_is_an_error_for_a_fraction_alone() -> None:
    with pytest.raises(UsageError, match="below 1"):
        parse_margin(2)
    assert parse_margin(2, is_fraction=False).amount == 2


def test_below_thirty_queries_nothing_is_decided() -> None:
    found = decided({"a": np.ones(29), "b": np.zeros(29)})
    assert (found.outcome, found.reason, found.leader) == ("not_decided", "few_queries", "a")
    assert found.sentences == (
        "Not decided: a decision needs at least 30 queries (n = 29).",
        "a leads with 1.000 nDCG@10; n = 29.",
        "About 34 queries decide with a chance of 80% (5 more).",
    )
    assert decided({"a": np.ones(30), "b": np.zeros(30)}).systems == ("a",)


def test_two_systems_that_are_equal_on_few_queries_are_not_known_to_be_equal() -> None:
    for n, risk, outcome in ((30, 0.2799, "not_decided"), (50, 0.1635, "not_decided"), (100, 0.0247, "ship")):
        found = decided({"a": np.ones(n), "b": np.ones(n)}, {"a": 2, "b": 1})
        assert found.outcome == outcome
        assert found.of("a").risk == pytest.approx(risk, abs=5e-5)


def test_all_zero_is_not_a_decision() -> None:
    found = decided({"a": np.zeros(40), "b": np.zeros(40)})
    assert (found.reason, *found.sentences) == ("all_worst", "Not decided: nDCG@10 is 0 for every system and query.", "n = 40.")
    assert not any("leads" in sentence for sentence in decided({"a": np.zeros(20), "b": np.zeros(20)}).sentences)


def test_failed_queries_prevent_a_decision() -> None:
    values = {"a": BASE, "b": BASE - 0.1}
    assert decided(values, failed={"b": (1, 100)}).decided
    found = decided(values, failed={"b": (2, 100)})
    assert (found.reason, found.detail) == ("failed_calls", "2 of 100 calls of b failed: run it again")


def test_a_choice_that_changes_without_unjudged_documents_is_not_decided() -> None:
    values, judged = {"a": BASE, "b": BASE - 0.1 + STEP}, np.column_stack([BASE - 0.1 + STEP, BASE])
    found = decided(values, judged_only=judged)
    assert (found.reason, found.detail) == ("unjudged", "without unjudged documents the choice is b, not a")
    assert decided(values, judged_only=np.column_stack(list(values.values()))).decided


def test_an_equally_good_system_without_unjudged_documents_does_not_prevent_a_decision() -> None:
    values, judged = {"a": BASE, "b": BASE - 0.001 + STEP / 10}, np.column_stack([BASE - 0.001 + STEP / 10, BASE])
    assert decided(values, judged_only=judged).decided


def test_a_larger_margin_can_choose_a_cheaper_system() -> None:
    values, costs = {"best": BASE, "near": BASE - 0.03 + STEP}, {"best": 9.0, "near": 1.0}
    found = decided(values, costs)
    assert (found.systems, found.other_margin and found.other_margin.system) == (("best",), "near")
    assert found.other_margin is not None
    at, before = (decided(values, costs, margin=found.other_margin.margin - less) for less in (0, 0.005))
    assert (before.systems, at.systems) == (("best",), ("near",))
    points, value = 100 * found.other_margin.margin, found.of("near").value
    assert found.sentences[2] == f"If {points:.3g} points do not matter to you, ship near: {value:.3f} and 9 times cheaper."


def test_only_the_best_of_more_than_three_systems_is_optimistic() -> None:
    many = {name: BASE - at / 10 + at * STEP for at, name in enumerate("abcd")}
    optimistic = "It was chosen from 4 systems, so its value is optimistic."
    assert decided(many).sentences[-1] == optimistic
    assert optimistic not in decided(dict(list(many.items())[:3])).sentences


def test_one_system_leaves_nothing_to_choose() -> None:
    found = decided({"a": BASE})
    assert (found.outcome, found.reason, found.decided) == (None, "one_system", False)
    assert found.ci == mean_interval(BASE, within=(0.0, 1.0))
    value = f"{BASE.mean():.3f} nDCG@10 (95% CI [0.461, 0.578])"
    assert found.sentences == (f"One system, so nothing to decide: a has {value}.", "n = 100.")


@pytest.mark.parametrize("rows", [0, 1])
def test_without_two_queries_nothing_is_decided(rows: int) -> None:
    found = decided({"b": BASE[:rows] / 2, "a": BASE[:rows]}, failed={"b": (50, 100)})
    assert (found.outcome, found.reason, found.n) == ("not_decided", "few_queries", rows)
    assert [one.value for one in found.by_system] == ([BASE[0] / 2, BASE[0]] if rows else [0.0, 0.0])
    assert [(one.risk, one.limit, one.failed) for one in found.by_system] == [(None, None, 0.5), (None, None, 0.0)]


def test_without_a_system_there_is_nothing_to_choose() -> None:
    found = decide(DecisionData(parse_measure("nDCG@10"), (), np.zeros((40, 0))))
    assert (found.first, found.sentences) == (None, ("Not decided: no system retrieved anything.",))


def test_queries_without_a_relevant_document_are_counted() -> None:
    found = decided({"a": BASE, "b": BASE - 0.1 + STEP}, queries=130, without_relevant=30)
    assert found.sentences[1].endswith("n = 100 of 130 queries, 30 without a relevant document.")


def test_many_looks_need_a_lower_risk() -> None:
    values = {"a": 0.5 + repeated((0.26, -0.20), 100), "b": HALF[:100]}
    once, often = decided(values), decided(values, looks="many")
    assert (once.outcome, often.outcome) == ("ship", "not_decided")
    assert once.limit == pytest.approx(0.05, abs=1e-4)
    assert often.limit == pytest.approx(0.006, abs=1e-6)
    assert often.sentences[1].endswith("n = 100, limits for many looks.")


@pytest.mark.parametrize(
    ("needed", "sentence"),
    [
        (QueriesNeeded(104, 247), "About 110 queries decide with even chances, 250 with 80%."),
        (QueriesNeeded(110, 110), "About 110 queries decide with a chance of 80% (10 more)."),
        (
            QueriesNeeded(110, None),
            "About 110 queries decide with even chances; even 20 times as many do not with 80%.",
        ),
        (QueriesNeeded(None, None), "More queries alone are unlikely to decide."),
    ],
)
def test_how_many_queries_would_decide(needed: QueriesNeeded, sentence: str) -> None:
    random = np.random.default_rng(3)
    found = decided({"a": random.random(100), "b": random.random(100)})
    assert (found.reason, found.needed is None) == ("risk", False)
    assert replace(found, needed=needed).sentences[2] == sentence


@pytest.mark.parametrize("means", [(0.5, 0.47), (0.5, 0.47, 0.47, 0.47, 0.47, 0.47)], ids=len)
def test_the_promised_number_of_queries_decides_as_often_as_promised(means: tuple[float, ...]) -> None:
    random, kept, promised = np.random.default_rng(8), 0, 0
    for _ in range(60):
        truth = random.normal(means, 0.2, (4_000, len(means)))
        sample = truth[random.integers(0, 4_000, 60)]
        found = decided({f"s{at}": column for at, column in enumerate(sample.T)})
        if found.needed is not None and found.needed.likely is not None:
            promised += 1
            more = truth[random.integers(0, 4_000, found.needed.likely)]
            kept += decided({f"s{at}": column for at, column in enumerate(more.T)}).decided
    assert promised >= 20
    assert kept / promised >= 0.7


@pytest.mark.parametrize(
    ("number", "wanted"), [(1, 1), (9.2, 10), (99, 99), (99.5, 100), (101, 110), (999, 1000), (1001, 1100), (12_345, 13_000)]
)
def test_a_number_of_queries_has_two_digits_and_is_rounded_up(number: float, wanted: int) -> None:
    assert rounded_up(number) == wanted


def open_decision(outcome: Any = "not_decided", **more: Any) -> Decision:
    """`a` leads `b`, and nothing is decided."""
    systems = (SystemRisk("a", 0.5, 0.12, 0.05, "b", None, 0.0), SystemRisk("b", 0.47, 0.8, 0.05, "a", None, 0.0))
    pair = PairDifference("a", "b", 0.03, (-0.051, 0.109), 40, is_significant=False)
    usual: dict[str, Any] = {"leader": "a", "reason": "risk", "against": (pair,), "risk": 0.12, "limit": 0.05, "rival": "b"}
    return Decision(outcome, parse_measure("nDCG@10"), 0.02, 100, 100, systems, **{**usual, **more})


def test_an_open_decision_names_the_pairs_to_judge_first() -> None:
    pairs = tuple((f"q{at}", f"d{at}") for at in range(4))
    command = "rankproof audit RESULTS --judge-next 20"
    assert open_decision(judge_next=pairs, unjudged=7, audit_command=command).sentences == (
        "Not decided: a leads, but its risk of being more than 2 pp (4%) below b is 12% (limit 5%).",
        "a leads with 0.500 nDCG@10; n = 100.",
        "7 pairs are unjudged; judge first: q0 d0, q1 d1, q2 d2 (rankproof audit RESULTS --judge-next 20 lists more).",
    )


def test_complete_judgements_leave_no_pair_to_judge() -> None:
    assert not any("judge first" in text for text in open_decision(judge_next=(("q", "d"),), judgements="complete").sentences)


def open_values(*worse: str) -> dict[str, FloatArray]:
    """`a` and `b` are about equal, and better than the others."""
    random = np.random.default_rng(1)
    old = random.random(200) / 2
    values = {"a": old + 0.2 * random.random(200), "b": old + 0.2 * random.random(200)}
    return values | {name: old - 0.01 * at for at, name in enumerate(worse)}


def test_missing_values_keep_a_decision_open_only_if_they_concern_the_baseline_that_is_kept() -> None:
    lacks = np.arange(1000) < 50
    values = {"a": np.full(1000, 0.6), "b": np.where(lacks, 0.0, 0.6 / 0.95)}
    none = np.zeros((1000, 2), dtype=bool)
    missing = MissingValues(none, none, np.column_stack([none[:, 0], lacks]))
    kept, left, either = (decided(values, baseline=baseline, missing=missing) for baseline in ("b", "a", None))
    assert (kept.decided, kept.systems) == (True, ("b",))
    assert (left.decided, left.reason, either.decided, either.reason) == (False, "missing", False, "missing")


def test_an_open_decision_names_the_systems_that_are_better_than_the_baseline() -> None:
    found = decided(open_values("old"), baseline="old", margin=0.0001)
    assert (found.outcome, {pair.system for pair in found.better}) == ("not_decided", {"a", "b"})
    assert all(pair.error is not None and pair.difference > 10 * pair.error for pair in found.better)
    assert found.sentences[0].endswith("%). Both are better than old.")


def test_an_open_decision_without_a_baseline_says_which_systems_are_below_the_leading_ones() -> None:
    assert decided(open_values("old"), margin=0.0001).sentences[0].endswith("%). Both are better than old.")
    several = decided(open_values("old", "older", "oldest", "first"), margin=0.0001)
    assert several.sentences[0].endswith("%). Both are better than old, older and 2 others.")
    assert decided(open_values(), margin=0.0001).better == ()


def test_an_open_decision_names_only_the_leader_where_it_alone_is_certainly_better() -> None:
    random = np.random.default_rng(3)
    base = random.random(200) / 2
    values = {"a": base + 0.05, "b": base + 0.05 * random.normal(0.8, 6, 200), "old": base + 0.002 * random.random(200)}
    found = decided(values, margin=0.0001)
    assert [(pair.system, pair.other) for pair in found.better] == [("a", "old")]
    assert found.sentences[0].endswith("%). a is better than old by 4.9 pp (95% CI [4.9, 4.9]).")


def test_systems_that_no_query_tells_apart_have_no_leader() -> None:
    found = decided({"a": np.ones(40), "b": np.ones(40)})
    assert found.sentences[:2] == (
        "Not decided: no query tells the systems apart, but "
        "the risk of a of being more than 2 pp (2%) below b is 22% (limit 5%).",
        "n = 40.",
    )


def test_with_many_looks_a_system_is_called_better_only_by_the_limit_for_many_looks() -> None:
    values = {"a": 0.5 + repeated((0.30, -0.19), 100), "b": np.full(100, 0.5)}
    once, often = (decided(values, margin=0.0001, looks=looks) for looks in ("one", "many"))
    assert (once.outcome, once.kind) == ("ship", "better")
    assert (often.outcome, often.reason, often.better) == ("not_decided", "risk", ())


def test_a_pair_has_no_second_p_value_beside_that_of_its_test() -> None:
    found = decided({"a": 0.5 + np.tile([0.30, -0.24], 50), "b": np.full(100, 0.5)})
    assert not any("p = " in sentence or "p < " in sentence for sentence in found.sentences)
    assert not any("p" in pair for pair in found.to_dict()["against"])


def test_a_difference_that_only_the_further_query_leaves_open_says_so() -> None:
    pair = PairDifference("a", "b", 0.03, (0.001, 0.059), 12, is_significant=False)
    found = open_decision(outcome="ship", kind="safe", systems=("a",), against=(pair,), reason=None)
    assert "(+3.0 pp, 95% CI [0.1, 5.9], which one further query can change)" in found.sentences[0]


def test_a_cheaper_system_that_fails_completely_on_some_queries_says_so() -> None:
    n = 400
    found = decided({"a": np.ones(n), "b": 1 - ones(2, n)}, {"a": 6, "b": 1})
    assert (found.outcome, found.systems, found.kind) == ("ship", ("b",), "cheaper")
    assert "b fails completely on 2 of 400 queries where a does well (the reverse: 0)." in found.sentences
    both = decided({"a": 1 - ones(2, n)[::-1], "b": 1 - ones(2, n)}, {"a": 6, "b": 1})
    assert not any("fails completely" in sentence for sentence in both.sentences)


def test_a_cheaper_system_without_a_failure_says_how_many_may_be_unseen() -> None:
    few = decided({"a": np.ones(100), "b": np.ones(100)}, {"a": 2, "b": 1})
    assert "In 100 queries, failures of b on up to 3.0% of all queries can go unseen." in few.sentences
    many = decided({"a": np.ones(200), "b": np.ones(200)}, {"a": 2, "b": 1})
    assert not any("unseen" in sentence for sentence in many.sentences)


def test_a_limit_for_several_systems_is_named_as_such() -> None:
    assert open_decision(race=7).sentences[0].endswith("is 12% (limit 5% for 7 systems).")


def test_a_decision_of_a_noisy_judge_says_so() -> None:
    assert open_decision(judge_noise=0.02).sentences[-1] == (
        "The judge is too noisy: asked again, the difference from b changes by 2.0 pp, more than half of it."
    )


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
    found = decided({"a": BASE, "b": BASE - 0.1 + STEP}, {"a": cost, "b": cost}, unit=unit)
    assert found.sentences[0].startswith(f"Ship a: {BASE.mean():.3f} nDCG@10{text}, better than")


@pytest.mark.parametrize(
    ("costs", "unit", "words"),
    [
        ({"a": 1.0, "b": 1.2}, "given", "20% cheaper than b"),
        ({"a": 1.0, "b": 1.95}, "given", "2 times cheaper than b"),
        ({"a": 5.0, "b": 20.0}, "ms", "4 times faster than b"),
        ({"a": 0.0, "b": 2.0}, "given", "free than b"),
    ],
)
def test_a_cheaper_system_says_how_much(costs: Mapping[str, float], unit: Any, words: str) -> None:
    expected = words.replace("free than b", "free, unlike b")
    assert expected in decided(EQUAL, costs, unit=unit).sentences[0]


def test_a_measure_that_is_no_fraction_has_no_percentage_points() -> None:
    found = decide(data_of({"a": 10 * BASE, "b": 10 * BASE - 2 + STEP}, "DCG@10"), margin=Margin(0.25))
    assert found.sentences[0].startswith(f"Ship a: {10 * BASE.mean():.3f} DCG@10, better than every other system (next: b, -2,")
    assert "of being more than 0.25 (" in found.sentences[1]


def test_a_measure_without_a_range_and_with_a_mean_of_zero_needs_a_margin() -> None:
    values = {"a": np.resize([-1.0, 1.0], 40), "b": np.resize([1.0, -1.0], 40)}
    found = decide(data_of(values, "DCG@10"))
    assert (found.reason, found.detail) == ("margin", "DCG@10 needs a margin: name it with --margin")


def test_of_a_measure_where_lower_is_better_the_lowest_is_best() -> None:
    lower = type("Lower", (type(parse_measure("nDCG@10")),), {"higher_is_better": False})
    values = np.column_stack([(BASE + 0.2 + STEP) / 2, BASE / 2])
    found = decide(DecisionData(lower(cutoff=10), ("a", "b"), values))
    assert found.systems == ("b",)
    assert "nDCG@10 (lower is better)" in found.sentences[0]
    assert "next: a, +10.0 pp" in found.sentences[0]
    assert found.best_value == pytest.approx(1 - found.of("b").value)
    assert f"2 pp ({2 / (1 - found.of('b').value):.2g}%) above the best" in found.sentences[1]


def test_weights_of_queries_change_the_choice() -> None:
    values = {"a": np.repeat([0.9, 0.1], 50) + STEP / 10, "b": np.repeat([0.5, 0.6], 50) - STEP / 10}
    assert decided(values).leader == "b"
    assert decided(values, weights=np.repeat([9.0, 1.0], 50)).systems == ("a",)
    few = np.concatenate([np.full(20, 1.0), np.full(80, 1e-9)])
    assert decided({"a": BASE, "b": BASE - 0.2}, weights=few).detail == (
        "a decision needs at least 30 queries (n = 100, with weights worth 20)"
    )


def test_uneven_weights_are_not_decided() -> None:
    weights = np.ones(400)
    weights[0] = 80.0
    found = decided({"a": np.resize(BASE, 400), "b": np.resize(BASE - 0.2, 400)}, weights=weights)
    assert found.reason == "weights"
    zipf = 1 / np.arange(1, 2_001)
    assert decided({"a": np.resize(BASE, 2000), "b": np.resize(BASE - 0.2, 2000)}, weights=zipf).decided is False


def test_a_decision_is_plain_json_and_one_text() -> None:
    found = decided({"a": BASE, "b": BASE - 0.1 + STEP}, {"a": 1.0, "b": 2.0}, baseline="b")
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (plain["outcome"], plain["kind"], plain["systems"], plain["leader"]) == ("ship", "better", ["a"], "a")
    assert (plain["decided"], plain["measure"], plain["baseline"], plain["looks"]) == (True, "nDCG@10", "b", "one")
    assert (plain["n"], plain["queries"], plain["margin"]) == (100, 100, 0.02)
    assert plain["sentences"] == list(found.sentences)
    assert str(found) == " ".join(found.sentences)


def test_the_order_of_systems_does_not_change_the_choice() -> None:
    values = {"a": BASE, "b": BASE - 0.01 + STEP, "c": BASE - 0.3}
    names: Sequence[str] = list(values)
    assert {decided({name: values[name] for name in order}).systems for order in (names, names[::-1])} == {("a", "b")}


def test_the_simulated_rule_is_the_rule() -> None:
    """`python -m benchmarks.decision_rule` skips the record and the sentences."""
    from benchmarks.decision_rule import choose

    random, names = np.random.default_rng(4), ("a", "b", "c", "d")
    for n in (30, 60, 150):
        for _ in range(6):
            values = np.clip(random.random((n, 1)) + random.normal([0, 0.01, 0.03, 0.03], 0.1, (n, 4)), 0, 1)
            costs = [float(each) for each in (1 + random.permutation(4)) ** 2]
            data = DecisionData(
                parse_measure("nDCG@10"), names, values, costs=Costs("given", dict(zip(names, costs, strict=True)))
            )
            assert decide(data).systems == tuple(names[at] for at in choose(values, costs).systems)


@pytest.mark.parametrize(
    ("risk", "limit", "good"),
    [(0.04, 0.05, True), (0.05, 0.05, True), (0.06, 0.05, False), (None, None, False), (None, 0.05, False)],
)
def test_a_system_is_good_enough_with_a_risk_within_its_limit(risk: float | None, limit: float | None, good: bool) -> None:
    assert SystemRisk("a", 0.5, risk, limit, None, None, 0.0).is_good_enough is good


@pytest.mark.parametrize(("measure", "failures"), [("nDCG@10", (2, 3)), ("DCG@10", (0, 0))])
def test_only_a_measure_with_a_range_has_failures(measure: str, failures: tuple[int, int]) -> None:
    found = decide(data_of({"a": 1 - ones(2, 100), "b": 1 - ones(3, 100)[::-1]}, measure), margin=Margin(0.1))
    assert [(pair.system, pair.failures, pair.other_failures) for pair in found.against] == [("a", *failures)]


def test_a_choice_of_two_systems_and_several_equally_good_ones_are_not_called_optimistic() -> None:
    two = decided({"a": BASE, "b": BASE - 0.1 + STEP})
    many = decided({name: BASE + at * STEP / 10 for at, name in enumerate("abcde")})
    assert (two.outcome, many.outcome) == ("ship", "either")
    assert not any("optimistic" in sentence for decision in (two, many) for sentence in decision.sentences)


@pytest.mark.parametrize(
    ("costs", "unit", "words"),
    [
        ((1.0, 1.1), "given", "as expensive"),
        ((1.0, 1.1), "money", "as expensive"),
        ((1.0, 1.2), "money", "20% more expensive"),
        ((1.2, 1.0), "money", "20% cheaper"),
        ((9.0, 10.0), "given", "as expensive"),
        ((0.0, 0.5), "given", "more expensive"),
        ((10.0, 10.9), "ms", "as fast"),
        ((1.0, 2.0), "ms", "as fast"),
        ((0.2, 1.0), "ms", "as fast"),
        ((1.0, None), "given", ""),
    ],
)
def test_costs_within_a_tenth_or_a_millisecond_are_the_same(costs: tuple[float, float | None], unit: Any, words: str) -> None:
    base, system = (SystemRisk(name, 0.5, None, None, None, cost, 0.0) for name, cost in zip("ab", costs, strict=True))
    assert price_ratio(open_decision(cost_unit=unit), base, system) == words


def test_a_decision_by_latency_says_how_many_queries_were_timed() -> None:
    systems = open_decision().by_system
    timed = tuple(replace(system, timed=count) for system, count in zip(systems, (60, 62), strict=True))
    assert replace(open_decision(), by_system=timed).timed_queries == "60 to 62 queries"
    assert open_decision().timed_queries == ""


def test_all_doubt_about_missing_values_comes_from_queries_and_scenarios() -> None:
    scenario = Scenario("abstentions as wrong", ("a",), 0.02)
    table = doubt_table(open_decision(scenarios=(scenario, replace(scenario, name="without abstentions"))))
    assert table is not None
    assert table.rows[0][:2] == ("queries", 1.0)
