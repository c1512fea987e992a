"""What a decision needs besides values: the words of its notes, and the numbers at which they change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankproof._analysis.compare import decision_data
from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.compare.decision_data import (
    answering_notes,
    default_baseline,
    failed_calls,
    has_non_relevant,
    judged_only_values,
    left_out_notes,
    left_out_queries_note,
    only_systems,
    same_systems,
    system_costs,
    systems_with_rankings,
    systems_without_documents,
    timing_notes,
    unknown_cost_notes,
    with_copies,
    with_judge_noise,
    with_pairs_to_judge,
    with_relevant_documents,
    without_copies,
)
from rankproof._analysis.compare.joined_values import JoinedValues, join_systems
from rankproof._analysis.decision.record import Costs, Decision, PairDifference, SystemRisk
from rankproof._analysis.inputs import AnalysisInput, input_from_results
from rankproof._analysis.options import CompareOptions
from rankproof._data.claims import JudgeNoise
from rankproof._data.qrels import Qrels
from rankproof._data.validation import ReadOptions
from rankproof._results.experiment_result import SystemRun
from rankproof.errors import UsageError
from rankproof.measures import parse_measure
from support.analysis_inputs import input_of
from support.small_results import small_results

UNKNOWN_COST = "is unknown; cost does not decide where one of them is good enough (--cost NAME=N gives it)"
QUERIES = [f"q{at}" for at in range(10)]


def experiment(names: Sequence[str] = ("a", "b"), **changes: Mapping[str, Any]) -> AnalysisInput:
    """An experiment with ten queries; `changes` replace fields of systems."""
    results = small_results(names, QUERIES)
    own = tuple(replace(run, **changes.get(run.name, {})) for run in results.system_runs)
    return input_from_results(replace(results, system_runs=own))


def judged(grades: Mapping[str, Mapping[str, int]], rel: int = 1) -> AnalysisInput:
    run = {query: {"d1": 1.0} for query in grades}
    return replace(input_of(grades, {"a": run, "b": run}, ["nDCG@10"]), rel=rel)


@pytest.mark.parametrize(
    ("empty", "named", "baseline", "notes"),
    [
        ((), "a", "b", []),
        (("a",), None, "b", ["a retrieved nothing and is left out"]),
        (("a", "b"), "c", "c", ["a, b retrieved nothing and are left out"]),
        (("a",), "a", None, ["a retrieved nothing and is left out"]),
        (("a",), "a", "b", ["a retrieved nothing and is left out", "the baseline is b, as a retrieved nothing"]),
    ],
)
def test_systems_that_retrieved_nothing_are_named(
    empty: tuple[str, ...], named: str | None, baseline: str | None, notes: list[str]
) -> None:
    assert list(left_out_notes(empty, named, baseline)) == notes


@pytest.mark.parametrize(
    ("costs", "notes"),
    [
        (Costs(), []),
        (Costs("ms", {"a": 1.0, "b": 2.0, "c": 3.0}), []),
        (Costs("ms", {"a": 1.0, "b": 2.0}), [f"the latency of c {UNKNOWN_COST}"]),
        (Costs("money", {"a": 0.0, "b": None}), [f"the price of b, c {UNKNOWN_COST}"]),
        (Costs("given", {"a": 1.0, "c": 0.0}), [f"the cost of b {UNKNOWN_COST}"]),
    ],
)
def test_systems_without_a_cost_beside_others_with_one_are_named(costs: Costs, notes: list[str]) -> None:
    assert list(unknown_cost_notes(costs, ("a", "b", "c"))) == notes


def test_times_of_different_runs_are_a_note_unless_costs_are_known() -> None:
    apart = replace(experiment(), timed_apart="a and b were timed in different runs")
    (note,) = timing_notes(apart, Costs())
    assert note == (
        "latency is not comparable: a and b were timed in different runs;"
        " run the systems in one experiment to compare it (or pass --cost)"
    )
    assert list(timing_notes(apart, Costs("given", {"a": 1.0}))) == []
    assert list(timing_notes(experiment(), Costs())) == []


def test_systems_with_the_ranking_of_another_are_named() -> None:
    assert list(answering_notes(())) == []
    assert list(answering_notes(("x",))) == ["x has the ranking of another system and is not compared here"]
    assert list(answering_notes(("x", "y"))) == ["x, y have the ranking of another system and are not compared here"]


def empty_run(inputs: AnalysisInput, *names: str) -> AnalysisInput:
    """The input in which these systems have no documents."""
    nothing: dict[str, Any] = {query: {} for query in QUERIES}
    results = small_results(inputs.systems, QUERIES, scores=dict.fromkeys(names, nothing))
    return input_from_results(results)


@pytest.mark.parametrize(
    ("systems", "empty", "baseline"),
    [
        (("a", "bm25"), (), "bm25"),
        (("a", "bm25"), ("bm25",), "a"),
        (("a", "b", "c"), ("a",), "b"),
        (("a", "b"), (), "a"),
        (("a", "b"), ("a", "b"), None),
    ],
)
def test_the_usual_baseline_is_bm25_else_the_first_system_that_retrieves(
    systems: tuple[str, ...], empty: tuple[str, ...], baseline: str | None
) -> None:
    inputs = empty_run(experiment(systems), *empty)
    assert systems_without_documents(inputs) == empty
    assert default_baseline(inputs) == baseline


def test_an_empty_run_of_no_experiment_is_found_by_its_values() -> None:
    runs: dict[str, Any] = {"a": {"q0": {}, "q1": {}}, "b": {"q0": {"d": 1.0}}, "c": {"q0": {"x": 1.0}}}
    assert systems_without_documents(input_of({"q0": {"d": 1}, "q1": {"d": 1}}, runs, ["nDCG@10"])) == ("a",)


def test_an_answering_system_is_not_compared_by_the_ranking_that_it_takes() -> None:
    answering = experiment(("a", "b", "c"), c={"kind": "answer", "builds_on": "a"})
    assert systems_with_rankings(answering) == ["a", "b"]
    alone = experiment(("a", "b", "c"), c={"kind": "answer", "builds_on": None})
    assert systems_with_rankings(alone) == ["a", "b", "c"]
    assert systems_with_rankings(replace(answering, system_runs=answering.system_runs[:1])) == ["a", "b", "c"]
    assert systems_with_rankings(replace(answering, system_runs=())) == ["a", "b", "c"]


@pytest.mark.parametrize("cost", [-0.1, math.inf, math.nan, "1", True, None])
def test_a_cost_is_a_number_of_at_least_0(cost: Any) -> None:
    with pytest.raises(UsageError, match=r"the cost of b is .*; pass a number of at least 0, such as 1\.4"):
        system_costs(experiment(), {"a": 1, "b": cost})


def test_given_costs_are_the_costs_and_need_no_value_for_each_system() -> None:
    assert system_costs(experiment(), {"b": 0, "a": 2}) == Costs("given", {"b": 0.0, "a": 2.0})
    with pytest.raises(UsageError, match="no system is called x; choose from: a, b"):
        system_costs(experiment(), {"x": 1})
    with pytest.raises(UsageError, match=r"costs cannot be a list; pass \{system: cost\}"):
        system_costs(experiment(), [1.0])  # type: ignore[arg-type]


def calls(**counts: Sequence[int]) -> dict[str, Any]:
    return {name: np.array(values) for name, values in counts.items()}


def test_money_per_query_is_the_cost_once_a_system_spent_any() -> None:
    paid = {"money": 5.0, "counts": calls(tokens_in=[7] * 10)}
    assert system_costs(experiment(a=paid)) == Costs("money", {"a": 0.5, "b": 0.0})
    unpriced = {"counts": calls(tokens_in=[7] * 10)}
    assert system_costs(experiment(a=paid, b=unpriced)) == Costs("money", {"a": 0.5, "b": None})
    assert system_costs(experiment(b=unpriced)).unit == "ms"


def test_money_of_a_system_that_was_not_timed_is_shared_by_its_ranked_queries() -> None:
    untimed = {"money": 5.0, "times": {}}
    assert system_costs(experiment(a=untimed)).of("a") == 0.5
    assert system_costs(experiment(a={**untimed, "stored_run": None})).of("a") == 5.0


def test_latencies_of_one_run_are_the_costs_with_the_number_of_timed_queries() -> None:
    inputs = experiment(("a", "b", "c"), b={"times": {}})
    found = system_costs(inputs)
    by_name = {run.name: run for run in inputs.system_runs}
    assert found.unit == "ms"
    assert found.by_system == {name: np.median(by_name[name].times["total"]) for name in ("a", "c")}
    assert found.timed == {"a": 10, "c": 10}
    assert system_costs(replace(inputs, timed_apart="different runs")) == Costs()
    assert system_costs(only_systems(inputs, ["b"])) == Costs()


def test_times_that_are_all_zero_are_no_costs() -> None:
    nothing = {"times": {"total": np.zeros(10)}}
    assert system_costs(experiment(a=nothing, b=nothing)) == Costs()
    assert system_costs(experiment(a=nothing)).unit == "ms"


def test_a_query_with_two_failed_calls_counts_once() -> None:
    inputs = experiment(
        ("a", "b", "c", "d"),
        a={"counts": calls(failed=[0, 2, 1, 0], given_up=[1, 0, 3, 0])},
        b={"counts": calls(given_up=[0, 0, 0])},
        c={"counts": calls(asked=[1, 1])},
        d={"counts": calls(failed=[])},
    )
    assert failed_calls(inputs) == {"a": (3, 4), "b": (0, 3)}


@pytest.mark.parametrize(
    ("grades", "rel", "holds"),
    [
        ([{"a": 1, "b": 0}], 1, True),
        ([{"a": 1, "b": 1, "c": 0}], 1, False),
        ([{"a": 1, "b": 1}], 1, False),
        ([{"a": 1, "b": 1, "c": 0}], 2, True),
        ([{"a": 1, "b": -1}], 1, False),
        ([{"a": 1, "b": 0, "c": -1, "d": -1}], 1, True),
        ([{"a": 1, "b": 0}, {"a": 1}], 1, True),
        ([{"a": 1, "b": 0}, {"a": 1}, {"a": 1}], 1, False),
        ([{"a": -1}], 1, False),
    ],
)
def test_a_query_has_enough_documents_that_are_not_relevant_if_they_are_half(
    grades: list[dict[str, int]], rel: int, holds: bool
) -> None:
    named = {f"q{at}": docs for at, docs in enumerate(grades)}
    assert has_non_relevant(judged(named, rel), list(named)) is holds


@pytest.mark.parametrize(
    ("measure", "rel", "counted"),
    [
        ("nDCG@10", 1, [True, True, False]),
        ("nDCG@10", 2, [True, True, False]),
        ("RR", 1, [True, True, False]),
        ("RR", 2, [False, True, False]),
        ("RR(rel=3)", 1, [True, True, True]),
        ("RR(rel=2)", 1, [False, True, False]),
        ("Judged@10", 1, [True, True, True]),
    ],
)
def test_a_query_counts_if_it_has_a_document_that_the_measure_calls_relevant(measure: str, rel: int, counted: list[bool]) -> None:
    inputs = judged({"q0": {"d1": 1}, "q1": {"d1": 2}, "q2": {"d1": 0}}, rel)
    assert with_relevant_documents(inputs, parse_measure(measure), ("q0", "q1", "q2")) == counted


def joined_of(values: Mapping[str, Sequence[float]], weights: Sequence[float] | None = None) -> JoinedValues:
    rows = np.array([*values.values()], np.float64).T[None]
    queries = tuple(f"q{at}" for at in range(rows.shape[1]))
    own = None if weights is None else np.array(weights)
    return JoinedValues(queries, tuple(values), (parse_measure("nDCG@10"),), rows, (), own)


def test_queries_without_a_relevant_document_are_counted_beside_the_means_over_all() -> None:
    joined = joined_of({"a": [1.0, 0.5, 0.0], "b": [0.5, 0.25, 0.0]})
    assert list(left_out_queries_note(joined, [True] * 3)) == []
    assert list(left_out_queries_note(joined, [True, True, False])) == [
        "1 query has no relevant document and no part in the decision; nDCG@10 over all 3: a 0.5000, b 0.2500"
    ]
    assert list(left_out_queries_note(joined, [True, False, False])) == [
        "2 queries have no relevant document and no part in the decision; nDCG@10 over all 3: a 0.5000, b 0.2500"
    ]
    weighted = joined_of({"a": [1.0, 0.5, 0.0]}, [2.0, 1.0, 1.0])
    assert next(left_out_queries_note(weighted, [True, True, False])).endswith("over all 3: a 0.6250")


def open_decision(difference: float, n: int = 200, **more: Any) -> Decision:
    rows = (SystemRisk("a", 0.5, 0.1, 0.05, "b", None, 0.0), SystemRisk("b", 0.4, 0.2, 0.05, "a", None, 0.0))
    against = (PairDifference("a", "b", difference, None, 3, False),)
    usual: dict[str, Any] = {"leader": "a", "reason": "risk", "against": against, "rival": "b"}
    return Decision("not_decided", parse_measure("nDCG@10"), 0.02, n, n, rows, **{**usual, **more})


@pytest.mark.parametrize(("difference", "noise"), [(0.1, 0.0625), (-0.1, 0.0625), (0.125, None), (-0.125, None), (0.2, None)])
def test_noise_of_the_judge_counts_above_half_of_the_difference(difference: float, noise: float | None) -> None:
    inputs = judged({"q0": {"d1": 1}})
    noisy = replace(
        inputs,
        result=replace(
            inputs.result,
            noise=tuple(JudgeNoise("tiny", name, 9, 3, value, None) for name, value in (("RR", 5.0), ("nDCG@10", 0.125))),
        ),
    )
    assert with_judge_noise(noisy, open_decision(difference, n=8)).judge_noise == noise
    assert with_judge_noise(inputs, open_decision(difference, n=8)).judge_noise is None
    assert with_judge_noise(noisy, open_decision(difference, n=0)).judge_noise is None
    assert with_judge_noise(noisy, open_decision(difference, n=8, against=())).judge_noise is None


def unjudged_inputs(documents: int = 3, depth: int | None = None) -> AnalysisInput:
    """Two systems that rank one judged document and many unjudged ones, each its own."""
    qrels = {f"q{at}": {"d": 1, "e": 0} for at in range(3)}
    runs = {
        name: {query: {"d": 1.0, **{f"{name}{at}": 0.5 - at / 100 for at in range(documents)}} for query in qrels}
        for name in ("a", "b", "c")
    }
    return replace(input_of(qrels, runs, ["nDCG@10"]), read_options=ReadOptions(depth=depth))


def test_the_pairs_to_judge_are_the_ten_that_matter_most_of_the_two_best_systems() -> None:
    found = with_pairs_to_judge(unjudged_inputs(), open_decision(0.03))
    assert (len(found.judge_next), found.unjudged) == (10, 18)
    assert {doc for _, doc in found.judge_next[:6]} == {"a0", "b0"}
    assert not {doc for _, doc in found.judge_next} & {"c0", "c1", "c2"}


def test_documents_below_the_cutoff_of_the_measure_or_of_the_reader_need_no_judgement() -> None:
    assert with_pairs_to_judge(unjudged_inputs(20), open_decision(0.03)).unjudged == 2 * 3 * 9
    assert with_pairs_to_judge(unjudged_inputs(20, depth=4), open_decision(0.03)).unjudged == 2 * 3 * 3
    without_cutoff = open_decision(0.03)
    whole = replace(without_cutoff, measure=parse_measure("nDCG"))
    assert with_pairs_to_judge(unjudged_inputs(20), whole).unjudged == 2 * 3 * 20


def test_no_pairs_to_judge_are_named_where_none_can_be() -> None:
    inputs, decision = unjudged_inputs(), open_decision(0.03)
    for left_out in (
        with_pairs_to_judge(inputs, replace(decision, leader=None)),
        with_pairs_to_judge(inputs, replace(decision, against=())),
        with_pairs_to_judge(replace(inputs, read_options=ReadOptions(judged_only=True)), decision),
        with_pairs_to_judge(replace(inputs, runs={"a": inputs.runs["a"]}), decision),
        with_pairs_to_judge(inputs, replace(decision, measure=parse_measure("F1"))),
        with_pairs_to_judge(inputs, replace(decision, measure=parse_measure("alpha_nDCG@10"))),
    ):
        assert (left_out.judge_next, left_out.unjudged) == ((), 0)


def test_pairs_to_judge_are_left_out_where_finding_them_takes_longer_than_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_data, "_MAX_LISTS", 6)
    assert with_pairs_to_judge(unjudged_inputs(), open_decision(0.03)).unjudged == 18
    monkeypatch.setattr(decision_data, "_MAX_LISTS", 5)
    assert with_pairs_to_judge(unjudged_inputs(), open_decision(0.03)).unjudged == 0


def test_only_the_named_systems_and_their_runs_are_left() -> None:
    inputs = only_systems(experiment(("a", "b", "c")), ["c", "a"])
    assert inputs.systems == ("a", "c")
    assert [run.name for run in inputs.system_runs] == ["a", "c"]
    with pytest.raises(UsageError, match="no system is called x; choose from: a, b, c"):
        only_systems(experiment(("a", "b", "c")), ["x"])


def copies_of(names: Sequence[str], costs: Costs, baseline: str | None) -> Mapping[str, str]:
    run = {query: {"d1": 1.0} for query in QUERIES}
    inputs = input_of({query: {"d1": 1} for query in QUERIES}, dict.fromkeys(names, run), ["nDCG@10"])
    return same_systems(inputs, join_systems(inputs.result, None), costs, baseline)


@pytest.mark.parametrize(
    ("costs", "baseline", "first"),
    [
        (Costs(), None, "a"),
        (Costs(), "b", "b"),
        (Costs(), "other", "a"),
        (Costs("given", {"a": 3.0, "b": 2.0, "c": 1.0}), None, "c"),
        (Costs("given", {"a": 3.0, "b": 2.0, "c": 1.0}), "a", "c"),
        (Costs("given", {"a": 1.05, "b": 1.0, "c": 1.1}), "a", "a"),
        (Costs("given", {"a": 1.0, "b": 1.0, "c": 1.0}), None, "a"),
        (Costs("given", {"a": 3.0, "b": 2.0}), None, "a"),
        (Costs("given", {"a": 3.0, "b": 2.0}), "c", "c"),
        (Costs("ms", {"a": 0.9, "b": 0.1, "c": 0.5}), "a", "a"),
    ],
)
def test_the_cheapest_of_equal_systems_stands_for_them_or_the_baseline_at_equal_costs(
    costs: Costs, baseline: str | None, first: str
) -> None:
    names = ("a", "b", "c")
    assert copies_of(names, costs, baseline) == {name: first for name in names if name != first}


def test_a_copy_has_its_own_cost_and_failures_and_the_risk_of_its_system() -> None:
    joined = joined_of({"a": [1.0, 0.0], "copy": [1.0, 0.0], "b": [0.5, 0.25]}, [3.0, 1.0])
    costs = Costs("ms", {"a": 5.0, "copy": 7.0, "b": 1.0}, {"a": 2, "copy": 2})
    decision = open_decision(0.03)
    found = with_copies(decision, {"copy": "a"}, joined, costs, {"copy": (1, 4)})
    assert [system.name for system in found.by_system] == ["a", "copy", "b"]
    assert found.by_system[1] == SystemRisk("copy", 0.75, 0.1, 0.05, "b", 7.0, 0.25, 2, same_as="a")
    assert (found.by_system[0], found.by_system[2]) == decision.by_system
    assert with_copies(decision, {"copy": "a"}, joined, costs, {}).by_system[1].failed == 0.0
    kept = without_copies(joined, {"copy": "a"})
    assert (kept.systems, kept.values.tolist()) == (("a", "b"), [[[1.0, 0.5], [0.0, 0.25]]])
    assert kept.missing is None


def test_the_table_of_a_decision_names_copies_only_where_there_are_any() -> None:
    decision = open_decision(0.03)
    columns = ["system", "value", "risk", "limit", "rival", "cost"]
    assert [column.name for column in decision._view().tables[0].columns] == columns
    copy = replace(decision.by_system[0], name="copy", same_as="a")
    copied = replace(decision, by_system=(*decision.by_system, copy))
    assert [column.name for column in copied._view().tables[0].columns] == [*columns, "same as"]
    unchecked = replace(decision, judge="tiny", outcome="judge_leads", reason="judge_not_checked")
    assert [column.name for column in unchecked._view().tables[0].columns] == ["system", "value", "cost"]
    assert replace(decision, by_system=(), reason="no_system")._view().tables == ()


def test_unjudged_documents_are_removed_only_where_runs_and_judgements_allow_it() -> None:
    inputs = unjudged_inputs()
    queries = ("q0", "q2")
    found = judged_only_values(inputs, inputs.result, "nDCG@10", queries)
    assert found is not None
    assert found.tolist() == [[1.0, 1.0, 1.0]] * 2
    masked = replace(inputs, read_options=ReadOptions(judged_only=True))
    assert judged_only_values(masked, inputs.result, "nDCG@10", queries) is None
    assert judged_only_values(replace(inputs, runs={"a": inputs.runs["a"]}), inputs.result, "nDCG@10", queries) is None
    only_relevant = replace(inputs, qrels=Qrels({query: {"d": 1} for query in inputs.result.queries}))
    assert judged_only_values(only_relevant, inputs.result, "nDCG@10", queries) is None


def test_failed_calls_are_counted_in_the_decision() -> None:
    failing = experiment(a={"counts": calls(failed=[1] * 5 + [0] * 5)})
    found = compare_inputs(failing, options=CompareOptions(samples=1_000))
    assert {system.name: system.failed for system in found.decision.by_system} == {"a": 0.5, "b": 0.0}
    assert isinstance(failing.system_runs[0], SystemRun)
