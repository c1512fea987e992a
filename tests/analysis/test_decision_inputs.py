"""Copies of queries, turns of conversations, short rankings, ties, ranks and logged costs, as a decision takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankproof._analysis.compare.counted_queries import (
    _number_documents,
    by_conversation,
    conversations,
    conversations_note,
    copied_queries,
    repeated_queries_note,
)
from rankproof._analysis.compare.decision_data import (
    equally_long_values,
    reversed_tie_values,
    system_costs,
    top_rows,
    values_by_rank,
    with_repeats,
)
from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.decision.record import Costs, Decision, PairDifference, SystemRisk
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import SESSION_FIELD, Answer, Answers, AnswerUsage
from rankproof._data.dataset import Queries, Query
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import ReadOptions
from rankproof.measures import parse_measure
from support.analysis_inputs import input_of

Runs = Mapping[str, Mapping[str, Mapping[str, float]]]


def of_runs(qrels: Mapping[str, Mapping[str, int]], runs: Runs, measure: str = "nDCG@10") -> tuple[AnalysisInput, JoinedValues]:
    """The input, and the values of its systems by one measure."""
    inputs = input_of(qrels, runs, [measure])
    return inputs, joined_systems(inputs, measure)


def joined_systems(inputs: AnalysisInput, measure: str) -> JoinedValues:
    values = np.stack([system.measures[measure].values for system in inputs.result.systems], axis=1)
    return JoinedValues(tuple(inputs.result.queries), inputs.systems, (parse_measure(measure),), values[None], ())


@pytest.mark.parametrize(
    ("different", "queries", "copies"),
    [
        (80, 100, "80 different queries"),
        (81, 100, None),
        (1, 2, "1 different query"),
        (100, 100, None),
        (4, 5, "4 different queries"),
    ],
)
def test_queries_are_said_to_be_copies_if_at_most_four_fifths_differ(different: int, queries: int, copies: str | None) -> None:
    expected = f"the {queries:,} queries are {copies}: give copies one id if they are repeats, so that they count once"
    numbers = np.minimum(np.arange(queries), different - 1)
    assert list(repeated_queries_note(numbers)) == ([] if copies is None else [expected])


def with_texts(texts: Mapping[str, Query], answers: Mapping[str, Answers] | None = None) -> AnalysisInput:
    inputs, _ = of_runs({query: {"d": 1} for query in "abc"}, {"x": {query: {"d": 1.0} for query in "abc"}})
    return replace(
        inputs,
        texts=Queries([replace(query, id=name) for name, query in texts.items()]),
        given_answers=answers or {},
        contexts={"p1": "the same", "p2": "the same", "p3": "another"},
    )


def query(text: str, **fields: Any) -> Query:
    return Query("q", text=text, fields=fields)


def different_queries(inputs: AnalysisInput) -> int:
    copies = copied_queries(inputs, joined_systems(inputs, "nDCG@10"))
    return len(inputs.result.queries) if copies is None else len({*copies.tolist()})


@pytest.mark.parametrize(
    ("texts", "different"),
    [
        ({}, 3),
        ({"a": query("t"), "b": query("u"), "c": query("v")}, 3),
        ({"a": query("t"), "b": query("t"), "c": query("t")}, 1),
        ({"a": query("t"), "b": query("t")}, 2),
        ({"a": query(" "), "b": query(" "), "c": query(" ")}, 3),
        ({"a": query("t", reference="r"), "b": query("t", reference="s"), "c": query("t", reference="r")}, 2),
        ({"a": query("t", kind="r"), "b": query("t", kind="s"), "c": query("t")}, 1),
    ],
)
def test_queries_differ_by_text_and_reference(texts: Mapping[str, Query], different: int) -> None:
    assert different_queries(with_texts(texts)) == different


def test_queries_of_one_text_differ_by_their_judgements_and_by_the_contexts_of_their_answers() -> None:
    same = {name: query("t") for name in "abc"}
    inputs = with_texts(same)
    other = input_of({"a": {"d": 1}, "b": {"d": 2}, "c": {"d": 1}}, {"x": {"a": {"d": 1.0}}}, ["nDCG@10"])
    assert different_queries(replace(inputs, qrels=other.qrels)) == 2
    for given, different in ((("p1", "p2", "p1"), 1), (("p1", "p2", "p3"), 2), (("p1", None, None), 2)):
        answers = {name: Answer("yes", given=None if doc is None else (doc,)) for name, doc in zip("abc", given, strict=True)}
        assert different_queries(with_texts(same, {"x": Answers(answers)})) == different


def test_turns_of_a_conversation_have_one_number_and_other_queries_one_of_their_own() -> None:
    texts = {
        "a": query("t", **{SESSION_FIELD: "s2"}),
        "b": query("t", **{SESSION_FIELD: "s1"}),
        "c": query("t", **{SESSION_FIELD: "s2"}),
        "d": query("t"),
    }
    groups = conversations(with_texts(texts), ("a", "b", "c", "d", "e"))
    assert groups is not None
    assert groups.tolist() == [1, 0, 1, 5, 6]
    assert conversations(with_texts(texts), ("a", "b", "d", "e")) is None
    assert conversations(with_texts({}), ("a", "b")) is None
    assert list(conversations_note(groups, "they count")) == ["the 5 questions are of 4 conversations: they count"]
    assert list(conversations_note(np.zeros(2, np.int64), "it counts")) == ["the 2 questions are of 1 conversation: it counts"]
    assert list(conversations_note(None, "they count")) == []


def joined_of(values: Mapping[str, Sequence[float]], weights: Sequence[float] | None = None) -> JoinedValues:
    rows = np.array([*values.values()], np.float64).T[None]
    queries = tuple(f"q{at}" for at in range(rows.shape[1]))
    own = None if weights is None else np.array(weights)
    return JoinedValues(queries, tuple(values), (parse_measure("nDCG@10"),), rows, (), own)


def test_a_conversation_has_the_mean_of_its_turns_and_their_weight() -> None:
    joined = joined_of({"x": [1.0, 0.0, 0.5], "y": [0.2, 0.4, 0.6]})
    counted = by_conversation(joined, np.array([1, 0, 1]))
    assert counted.queries == ("conversation 0", "conversation 1")
    np.testing.assert_allclose(counted.values, [[[0.0, 0.4], [0.75, 0.4]]])
    assert counted.weights is not None
    assert (counted.weights / counted.weights[0]).tolist() == [1.0, 2.0]
    even = by_conversation(joined_of({"x": [1.0, 0.0, 0.5, 0.5]}), np.array([0, 0, 3, 3]))
    assert (even.weights, even.values.tolist()) == (None, [[[0.5], [0.5]]])
    weighted = by_conversation(joined_of({"x": [1.0, 0.0, 0.5]}, [3.0, 1.0, 4.0]), np.array([0, 0, 1]))
    assert (weighted.weights, weighted.values.tolist()) == (None, [[[0.75], [0.5]]])
    assert by_conversation(joined, None) is joined
    assert by_conversation(joined, np.array([2, 0, 1])) is joined


def run_of(*queries: Sequence[float]) -> Run:
    rows = [RunRow(f"q{at}", f"d{at}-{place}", score) for at, scores in enumerate(queries) for place, score in enumerate(scores)]
    return Run.from_rows(rows, queries=[f"q{at}" for at in range(len(queries))])


@pytest.mark.parametrize(
    ("scores", "depth", "lengths"),
    [
        ([[3, 2, 1]], 2, [2]),
        ([[3, 2, 1]], 3, [3]),
        ([[3, 2, 1]], 9, [3]),
        ([[3, 2, 1], [9, 8, 7, 6]], 2, [2, 2]),
        ([[3, 2, 1], [9]], 1, [1, 1]),
        ([[9], [], [3, 2, 1]], 1, [1, 0, 1]),
        ([[], [3, 2], []], 1, [0, 1, 0]),
        ([[3, 2, 2]], 2, [3]),
        ([[2, 2, 1]], 2, [2]),
        ([[3, 2, 1, 1]], 2, [2]),
        ([[3, 2, 1], [3, 2, 2]], 2, [3, 3]),
        ([[3, 1, 2]], 2, [3]),
        ([[3, 2, 1], [1, 2]], 2, [3, 2]),
        ([[1], [2, 1, 0]], 2, [1, 2]),
    ],
)
def test_a_run_is_cut_where_its_scores_fall_and_no_tie_is_cut(scores: list[list[float]], depth: int, lengths: list[int]) -> None:
    run = run_of(*scores)
    assert np.diff(top_rows(run, ReadOptions(), depth).offsets).tolist() == lengths


@pytest.mark.parametrize(
    "options", [{"order": "rank"}, {"on_duplicate": "keep-best"}, {"lower_is_better": True}, {"judged_only": True}]
)
def test_a_run_that_is_read_in_another_way_stays_whole(options: dict[str, Any]) -> None:
    run = run_of([3, 2, 1])
    assert top_rows(run, ReadOptions(**options), 2) is run
    assert top_rows(run, ReadOptions(), None) is run


def rankings(*docs: str) -> dict[str, dict[str, float]]:
    """The ranking of these documents, for two queries."""
    return {query: {doc: float(len(docs) - place) for place, doc in enumerate(docs)} for query in "qr"}


def test_runs_of_other_lengths_are_cut_at_the_shortest() -> None:
    qrels = {query: {"c": 1} for query in "qr"}
    runs = {"short": rankings("a", "b"), "long": rankings("a", "b", "c")}
    for measure in ("nDCG@10", "nDCG@3", "AP"):
        inputs, joined = of_runs(qrels, runs, measure)
        values = equally_long_values(inputs, joined)
        assert values is not None
        assert (joined.values[0][0, 1] > 0, values.tolist()) == (True, [[0.0, 0.0]] * 2)
    inputs, joined = of_runs(qrels, runs, "nDCG@2")
    assert equally_long_values(inputs, joined) is None
    inputs, joined = of_runs({query: {"a": 1} for query in "qr"}, runs)
    assert equally_long_values(inputs, joined) is None
    inputs, joined = of_runs(qrels, {"x": runs["long"], "y": rankings("c", "a", "b")})
    assert equally_long_values(inputs, joined) is None


def test_a_system_without_documents_does_not_cut_the_others_and_runs_that_are_not_stored_are_not_cut() -> None:
    runs: Runs = {"empty": {"q": {}, "r": {}}, "short": rankings("a"), "long": rankings("a", "c")}
    inputs, joined = of_runs({query: {"c": 1} for query in "qr"}, runs)
    values = equally_long_values(inputs, joined)
    assert values is not None
    assert values.tolist() == [[0.0, 0.0, 0.0]] * 2
    assert equally_long_values(replace(inputs, runs={"long": inputs.runs["long"]}), joined) is None


def test_ties_are_reversed_only_in_systems_that_have_them() -> None:
    qrels = {"q": {"a": 1}, "r": {"a": 1}}
    tied = {"q": {"a": 1.0, "b": 1.0}, "r": {"a": 1.0, "b": 0.5}}
    plain = {"q": {"b": 2.0, "a": 1.0}, "r": {"b": 2.0, "a": 1.0}}
    inputs, joined = of_runs(qrels, {"tied": tied, "plain": plain}, "RR")
    assert joined.values[0].tolist() == [[0.5, 0.5], [1.0, 0.5]]
    values = reversed_tie_values(inputs, joined)
    assert values is not None
    assert values.tolist() == [[1.0, 0.5], [1.0, 0.5]]
    assert reversed_tie_values(replace(inputs, runs={"plain": inputs.runs["plain"]}), joined) is None
    inputs, joined = of_runs(qrels, {"plain": plain}, "RR")
    assert reversed_tie_values(inputs, joined) is None


def test_runs_whose_ranks_contradict_their_scores_are_read_by_rank() -> None:
    rows = [RunRow(name, f"d{rank}", score, rank) for name in "qr" for rank, score in ((1, 0.1), (2, 0.2), (3, 0.3))]
    distances = Run.from_rows(rows, name="distances")
    similar = Run.from_rows([row._replace(score=-row.score) for row in rows], name="similar")
    qrels = {name: {"d1": 1} for name in "qr"}
    inputs = input_of(qrels, {"distances": distances, "similar": similar}, ["RR"])  # type: ignore[dict-item]
    joined = joined_systems(inputs, "RR")
    assert np.allclose(joined.values[0], [[1 / 3, 1.0]] * 2)
    values = values_by_rank(inputs, joined)
    assert values is not None
    assert values.tolist() == [[1.0, 1.0]] * 2
    unranked = Run.from_rows([row._replace(rank=None) for row in rows], name="distances")
    assert values_by_rank(replace(inputs, runs={**inputs.runs, "distances": unranked}), joined) is None
    assert values_by_rank(replace(inputs, runs={"similar": inputs.runs["similar"]}), joined) is None
    alone = input_of(qrels, {"similar": similar}, ["RR"])  # type: ignore[dict-item]
    assert values_by_rank(alone, joined_systems(alone, "RR")) is None


def logged(*usages: AnswerUsage | None) -> Answers:
    return Answers({f"q{at}": Answer("yes", usage=usage) for at, usage in enumerate(usages)})


USAGE = AnswerUsage


@pytest.mark.parametrize(
    ("own", "other", "costs"),
    [
        ([USAGE(cost=0.5), USAGE(cost=1.5)], [USAGE()], Costs("money", {"a": 1.0, "b": None})),
        (
            [USAGE(latency_ms=1.0), USAGE(latency_ms=4.0)],
            [USAGE(latency_ms=3.0)],
            Costs("ms", {"a": 2.5, "b": 3.0}, {"a": 2, "b": 1}),
        ),
        ([USAGE(latency_ms=1.0), USAGE()], [USAGE(latency_ms=3.0)], Costs("ms", {"a": None, "b": 3.0}, {"a": 1, "b": 1})),
        ([USAGE(latency_ms=1.0)], [USAGE()], Costs("ms", {"a": 1.0, "b": None}, {"a": 1})),
        ([USAGE(cost=0.0, latency_ms=2.0)], [USAGE()], Costs("ms", {"a": 2.0, "b": None}, {"a": 1})),
        ([USAGE()], [USAGE()], Costs()),
        ([USAGE(latency_ms=0.0)], [USAGE(latency_ms=0.0)], Costs()),
    ],
)
def test_logs_say_money_else_latency(own: list[AnswerUsage], other: list[AnswerUsage], costs: Costs) -> None:
    inputs, _ = of_runs({"q": {"d": 1}}, {name: {"q": {"d": 1.0}} for name in ("a", "b")})
    assert (
        system_costs(replace(inputs, given_answers={"a": logged(*own), "b": logged(*other), "other": logged(USAGE(cost=9.0))}))
        == costs
    )


def test_repeats_are_of_the_chosen_system_and_its_rival_else_of_the_next_pair() -> None:
    inputs, joined = of_runs({query: {"d": 1} for query in "qr"}, {name: rankings("d") for name in "abc"})
    values = {query: np.array([1.0, 0.5]) for query in "qr"}
    repeated = tuple(
        replace(system, measures={name: replace(measured, repeats=values) for name, measured in system.measures.items()})
        for system in inputs.result.systems
    )
    inputs = replace(inputs, result=replace(inputs.result, systems=repeated))
    rows = (SystemRisk("a", 0.5, 0.1, 0.05, "b", None, 0.0),)
    against = (PairDifference("a", "c", 0.1, None, 3, False),)
    decision = Decision(
        "not_decided", parse_measure("nDCG@10"), 0.02, 1, 1, rows, leader="a", reason="risk", against=against, rival="b"
    )
    for own, pair in (
        ({}, ("a", "b")),
        ({"rival": None}, ("a", "c")),
        ({"rival": None, "against": ()}, None),
        ({"leader": None}, None),
    ):
        found = with_repeats(inputs, replace(decision, **own), joined).repeats
        assert found is not None
        assert (found.system, found.rival) == (pair or (None, None))


@pytest.mark.parametrize(("shared", "alike", "expected"), [(6, 2, True), (6, 1, False), (5, 3, False), (10, 3, True)])
def test_queries_number_their_documents_if_half_of_the_neighbours_share_more_than_half(
    shared: int, alike: int, expected: bool
) -> None:
    """Four queries with ten documents each, of which so many neighbours have so many in common."""
    shown = [{f"{at} {rank}" for rank in range(10)} for at in range(4)]
    for at in range(alike):
        shown[at + 1] = {*sorted(shown[at])[:shared], *sorted(shown[at + 1])[: 10 - shared]}
    assert _number_documents([[frozenset(documents)] for documents in shown]) == expected
