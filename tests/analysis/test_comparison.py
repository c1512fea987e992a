"""`compare_inputs`: families of tests, the baseline, systems that retrieved nothing, and the decision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.decision_data import default_baseline
from rankproof._analysis.compare.joined_values import primary_measure
from rankproof._analysis.inputs import AnalysisInput, input_from_results, input_from_runs
from rankproof._analysis.options import CompareOptions
from rankproof._evaluation.options import EvaluateOptions
from rankproof._results.decision_settings import DecisionSettings
from rankproof._statistics.paired import holm
from rankproof.errors import UsageError
from support.analysis_inputs import input_of
from support.compared_systems import target_at
from support.small_results import small_results

FAST = CompareOptions(samples=2_000, resamples=500)
RANKS = {"bm25": [1, 2] * 20, "good": [1] * 40, "bad": [4, 5] * 20}
QRELS = {f"q{at}": {"target": 1} for at in range(40)}


def inputs_of(
    ranks: Mapping[str, list[int]] = RANKS, measures: tuple[str, ...] = ("nDCG@10", "RR", "Success@1")
) -> AnalysisInput:
    return input_of(QRELS, {name: target_at(row) for name, row in ranks.items()}, measures)


def compared(inputs: AnalysisInput | None = None, **options: Any) -> Comparison:
    return compare_inputs(inputs or inputs_of(), options=FAST, **options)


def test_each_measure_is_a_family_of_its_own_and_only_the_primary_one_is_not_exploratory() -> None:
    found = compared(measures=["RR", "nDCG@10"])
    assert (found.primary, found.measures) == ("nDCG@10", ("nDCG@10", "RR"))
    for measure in found.measures:
        pairs = [pair for pair in found.pairs if pair.measure == measure]
        assert len(pairs) == 3
        assert {pair.exploratory for pair in pairs} == {measure != "nDCG@10"}
        assert [pair.p_adjusted for pair in pairs] == pytest.approx(holm(np.array([pair.p for pair in pairs])))


@pytest.mark.parametrize(("named", "primary"), [("RR", "RR"), ("AP", "nDCG@10"), (None, "nDCG@10")])
def test_the_primary_measure_of_an_experiment_decides_if_it_was_evaluated(named: str | None, primary: str) -> None:
    inputs = replace(inputs_of(), decision_settings=DecisionSettings(primary=named))
    assert primary_measure(inputs) == primary
    assert compared(inputs).primary == primary


def test_the_facts_of_a_table_count_the_tests_of_one_measure() -> None:
    found = compared(measures=["RR", "nDCG@10"])
    assert {table.facts["tests"] for table in found.tables if "tests" in table.facts} == {3}
    assert any("3 tests" in sentence for table in found.tables for sentence in table.sentences)


def test_more_measures_do_not_change_the_verdict_of_the_primary_one() -> None:
    alone, many = compared(measures=["nDCG@10"]), compared()
    assert [pair for pair in many.pairs if not pair.exploratory] == list(alone.pairs)
    assert many.decision.sentences == alone.decision.sentences


def test_a_named_baseline_makes_a_smaller_family() -> None:
    found = compared(baseline="good")
    assert [(pair.system, pair.other) for pair in found.pairs if not pair.exploratory] == [("bm25", "good"), ("bad", "good")]
    assert found.decision.baseline == "good"


def test_a_named_baseline_counts_before_that_of_the_experiment() -> None:
    inputs = replace(inputs_of(), decision_settings=DecisionSettings(baseline="bad"))
    assert compared(inputs).decision.baseline == "bad"
    assert compared(inputs, baseline="good").decision.baseline == "good"


def test_the_table_compares_with_the_default_baseline_whichever_system_is_better() -> None:
    found = compared()
    assert found.baseline == "bm25"
    rows = {row["system"]: row for row in found.table.records()}
    assert rows["bm25"]["difference"] is None
    for name, pair in found.against_baseline().items():
        assert pair.other == "bm25"
        assert rows[name]["difference"] == pytest.approx(found.values[name]["nDCG@10"] - found.values["bm25"]["nDCG@10"])
        assert rows[name]["p"] == pair.p
    assert found.against_baseline()["bad"].verdict == "worse"


@pytest.mark.parametrize(
    ("evaluated", "asked", "primary"),
    [(("RR", "nDCG@10"), None, "nDCG@10"), (("RR", "P@5"), None, "RR"), (("NumRet", "RR"), None, "RR"), (("RR",), "P@5", "P@5")],
)
def test_the_primary_measure_is_the_named_one_else_ndcg_at_10_else_the_first_mean(
    evaluated: tuple[str, ...], asked: str | None, primary: str
) -> None:
    assert compared(inputs_of(measures=evaluated), primary=asked).primary == primary


@pytest.mark.parametrize(("evaluated", "asked"), [(("NumRet", "RR"), "NumRet"), (("RR",), "NumRel")])
def test_a_sum_cannot_decide(evaluated: tuple[str, ...], asked: str) -> None:
    with pytest.raises(UsageError, match=f"{asked} cannot be the primary measure; choose from: RR"):
        compared(inputs_of(measures=evaluated), primary=asked)


def with_empty(inputs: AnalysisInput | None = None) -> AnalysisInput:
    """Systems of an experiment of which the first retrieved nothing."""
    scores: Any = {"title": {f"q{at}": {} for at in range(40)}}
    return input_from_results(small_results(("title", "dense", "late"), [f"q{at}" for at in range(40)], scores=scores))


def test_a_system_that_retrieved_nothing_is_left_out_and_named() -> None:
    found = compared(with_empty())
    assert (found.left_out, found.baseline, found.systems) == (("title",), "dense", ("dense", "late"))
    assert found.notes[0] == "title retrieved nothing and is left out"
    assert len([pair for pair in found.pairs if not pair.exploratory]) == 1
    assert default_baseline(with_empty()) == "dense"


def test_a_baseline_that_retrieved_nothing_is_replaced_and_that_is_said() -> None:
    found = compared(with_empty(), baseline="title")
    assert found.baseline == "dense"
    assert "the baseline is dense, as title retrieved nothing" in found.notes


def test_without_any_retrieved_document_nothing_is_decided() -> None:
    queries = [f"q{at}" for at in range(3)]
    empty: Any = {query: {} for query in queries}
    inputs = input_from_results(small_results(("a", "b"), queries, scores={"a": empty, "b": empty}))
    found = compared(inputs)
    assert (found.decision.outcome, found.decision.reason) == ("not_decided", "no_system")
    assert str(found.decision.measure) == found.primary
    assert (found.decision.first, found.pairs, found.left_out) == (None, (), ("a", "b"))


def test_one_system_and_one_query_are_compared_without_pairs() -> None:
    assert compared(inputs_of({"only": [1] * 40})).decision.first == "only"
    one = input_of({"q0": {"target": 1}}, {"a": target_at([1]), "b": target_at([2])}, ["nDCG@10"])
    found = compared(one)
    assert (found.pairs, found.tables, found.decision.decided, found.decision.first) == ((), (), False, "a")
    assert [(one["risk"], one["limit"]) for one in found.decision.to_dict()["by_system"]] == [(None, None)] * 2
    assert "unknown" not in str(found)


@pytest.mark.parametrize("margin", [1, 2, 5.0])
def test_a_margin_in_percentage_points_is_refused(margin: float) -> None:
    with pytest.raises(UsageError, match=f"margin is {margin:g}.*; pass a difference below 1, such as 0.02"):
        compared(margin=margin)


def test_names_and_costs_of_another_type_are_refused() -> None:
    with pytest.raises(UsageError, match="no system is called 3; choose from: bm25, good, bad"):
        compared(baseline=3)
    with pytest.raises(UsageError, match=re.escape("costs cannot be an int; pass {system: cost}")):
        compared(costs=3)


WEIGHTS = {f"q{at}": 1.0 + at % 4 for at in range(40)}


def weighted_inputs(weights: Mapping[str, float]) -> AnalysisInput:
    runs = {name: target_at(row) for name, row in RANKS.items()}
    return input_from_runs(QRELS, runs, ["nDCG@10"], options=EvaluateOptions(weights=weights))


def test_every_table_has_the_weighted_means() -> None:
    found = compared(weighted_inputs(WEIGHTS))
    letters = next(table for table in found.tables if table.name == "letters")
    assert {row[0]: row[2] for row in letters.rows} == {name: found.values[name]["nDCG@10"] for name in found.systems}


def test_a_query_with_almost_all_of_the_weight_leaves_no_interval() -> None:
    found = compared(weighted_inputs({**WEIGHTS, "q1": 1e9}))
    assert {pair.ci for pair in found.pairs} == {None}
    assert "n = 40 is worth 1 query of equal weight" in str(found)


def test_money_comes_before_latency_and_given_costs_before_both() -> None:
    inputs = input_from_results(small_results(queries=[f"q{at}" for at in range(40)]))
    assert compared(inputs).decision.cost_unit == "ms"
    paid = replace(inputs, system_runs=tuple(replace(run, money=2.0) for run in inputs.system_runs))
    found = compared(paid).decision
    assert (found.cost_unit, found.of("bm25").cost) == ("money", 2.0 / 40)
    given = compared(paid, costs={"bm25": 0.4, "dense": 0}).decision
    assert (given.cost_unit, given.of("bm25").cost, given.of("dense").cost, given.of("late").cost) == ("given", 0.4, 0, None)


@pytest.mark.parametrize("cost", [-1, float("inf"), "1", True])
def test_a_wrong_cost_is_refused(cost: Any) -> None:
    with pytest.raises(UsageError, match=r"the cost of bad is .*; pass a number of at least 0"):
        compared(costs={"bad": cost})


def test_queries_with_failed_calls_are_counted() -> None:
    inputs = input_from_results(small_results(queries=[f"q{at}" for at in range(40)]))
    counts = {"failed": np.array([1, *[0] * 39]), "given_up": np.array([1, 1, *[0] * 38])}
    failing = replace(inputs, system_runs=tuple(replace(run, counts=counts) for run in inputs.system_runs[:1]))
    found = compared(failing)
    assert found.decision.of("bm25").failed == 0.05
    assert found.decision.detail == "2 of 40 calls of bm25 failed: run it again"


def unjudged_inputs(judged: int) -> AnalysisInput:
    """`new` ranks unjudged documents above the relevant one, `old` non-relevant ones below it."""
    qrels = {f"q{at}": {"target": 1, "no": 0} if at < judged else {"target": 1} for at in range(40)}
    new = {query: {"x1": 5.0, "x2": 4.0, "target": 3.0, "no": 1.0} for query in qrels}
    old = {query: {"no": 5.0, "target": 4.0} for query in qrels}
    return input_of(qrels, {"new": new, "old": old}, ["RR"])


def test_a_choice_that_depends_on_unjudged_documents_is_not_decided_and_says_what_to_judge() -> None:
    found = compared(unjudged_inputs(40)).decision
    assert (found.reason, found.detail) == ("unjudged", "without unjudged documents the choice is new, not old")
    assert found.unjudged == 80
    assert len(found.judge_next) == 10
    assert found.judge_next[0][1] in ("x1", "x2")


def test_without_judged_non_relevant_documents_the_judged_lists_say_nothing() -> None:
    assert compared(unjudged_inputs(19)).decision.decided
    assert not compared(unjudged_inputs(20)).decision.decided


def without_missing(best: list[int], other: list[int], qrels: dict[str, dict[str, int]] = QRELS) -> Comparison:
    runs = {"a": target_at(best), "b": target_at(other)}
    return compared(input_of(qrels, runs, ["nDCG@10"], skip_missing=True))


MORE_QUERIES = {f"q{at}": {"target": 1} for at in range(60)}


def test_a_system_that_lacks_queries_is_not_chosen_on_those_that_it_has() -> None:
    found = without_missing([1] * 53 + [2] * 7, [1] * 30, MORE_QUERIES)
    assert (found.decision.outcome, found.decision.reason, found.n) == ("not_decided", "missing", 60)
    answer, *more = found.decision.sentences
    choices = "with these at their worst the choice is a, without them open"
    assert answer.startswith(f"Not decided: b lacks 50% of the queries; {choices}.")
    assert "b lacks 30 of 60 queries; they count as 0." in more


def test_a_choice_that_stands_without_the_queries_that_a_system_lacks_says_how_many_it_lacks() -> None:
    found = without_missing([1] * 59 + [2], [2] * 30, MORE_QUERIES)
    assert (found.decision.outcome, found.decision.systems) == ("ship", ("a",))
    assert [scenario.systems for scenario in found.decision.scenarios] == [("a",)]
    assert "b lacks 30 of 60 queries; they count as 0." in found.decision.sentences


def test_queries_that_no_system_has_are_left_out_where_the_evaluation_skips_them() -> None:
    found = without_missing([1] * 38, [2] * 38)
    assert (found.n, found.decision.missing) == (38, ())
    assert found.notes[0].startswith("2 of 40 judged queries are left out")


def test_a_comparison_turns_into_json() -> None:
    import json

    plain = json.loads(json.dumps(compared().to_dict(), allow_nan=False))
    assert plain["primary"] == "nDCG@10"
    assert (plain["decision"]["outcome"], plain["decision"]["kind"]) == ("ship", "better")
    assert (plain["decision"]["systems"], plain["decision"]["leader"]) == (["good"], "good")
    assert [one["name"] for one in plain["decision"]["by_system"]] == ["bm25", "good", "bad"]
    assert len(plain["pairs"]) == 9


def test_a_small_risk_is_the_same_in_the_sentence_and_in_the_table() -> None:
    shown = str(compared())
    assert "Risk below 0.1% (limit 5%)" in shown
    assert "<0.1%" in shown
    assert " 0.0%" not in shown
