"""Ties: expected, worst and best value, against every order of small lists."""

from collections.abc import Iterator
from itertools import permutations, product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._analysis.audit import ties as ties_expected
from rankproof._analysis.audit.ties import audit_ties, tie_report
from rankproof._analysis.chance import expected_value as by_chance
from rankproof._analysis.values import all_hits, ranked_lists
from rankproof._evaluation.value_ranges import can_tie
from rankproof.measures import Measure, parse_measure
from support.analysis_inputs import input_of
from support.examples import examples
from support.qrels_and_runs import Grades, Scores, aligned

MEASURES = [
    *("nDCG@3", "nDCG(gain='exp')", "nDCG(gain={1:5,2:1})@4", "DCG@2", "RR", "RR@2", "AP", "AP@3", "P@2", "R@3", "F1@3"),
    *("Success@1", "Success@3", "ERR", "ERR@2", "RBP@3", "Judged@2", "bpref", "Rprec", "P(rel=2)@2"),
]
CASES = [parse_measure(name) for name in MEASURES]


def _case(seed: int) -> tuple[Grades, Scores]:
    """One query with up to six documents on up to three scores, some judged."""
    random = Random(seed)
    docs = [f"d{at}" for at in range(random.randint(1, 6))]
    judged = random.sample([*docs, "missing"], random.randint(1, len(docs)))
    grades = {doc: random.randint(-1, 3) for doc in judged}
    return {"q": {**grades, "other": 1}}, {"q": {doc: float(random.randint(1, 3)) for doc in docs}}


def _orders(scores: dict[str, float]) -> Iterator[Scores]:
    """The run in every order that its scores allow, as scores without ties."""
    levels = sorted(set(scores.values()), reverse=True)
    groups = [[doc for doc, score in scores.items() if score == level] for level in levels]
    for chosen in product(*(permutations(group) for group in groups)):
        docs = [doc for group in chosen for doc in group]
        yield {"q": {doc: float(len(docs) - place) for place, doc in enumerate(docs)}}


@pytest.mark.parametrize("measure", CASES, ids=str)
@examples(40)
@given(seed=st.integers(0, 2**32))
def test_expected_worst_and_best_are_those_of_all_orders(measure: Measure, seed: int) -> None:
    qrels, run = _case(seed)
    inputs = input_of(qrels, {"a": run}, [str(measure)])
    found = tie_report(measure, all_hits(inputs)["a"], ranked_lists(inputs, "a"))
    every = [measure.values(aligned(qrels, order))[0] for order in _orders(run["q"])]
    assert found.expected[0] == pytest.approx(np.mean(every), abs=1e-12)
    assert found.worst[0] == pytest.approx(min(every), abs=1e-12)
    assert found.best[0] == pytest.approx(max(every), abs=1e-12)


def test_one_relevant_document_among_tied_ones_has_the_textbook_values() -> None:
    qrels = {"q": {"d1": 1}}
    run = {"q": dict.fromkeys((f"d{at}" for at in range(4)), 1.0)}
    rows = audit_ties(input_of(qrels, {"a": run}, ["RR", "P@2", "Success@1"])).records()
    expected = {str(row["measure"]): row["expected"] for row in rows}
    assert expected == {"RR": pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4), "P@2": 0.25, "Success@1": 0.25}
    assert [(row["worst"], row["best"]) for row in rows] == [(0.25, 1.0), (0.0, 0.5), (0.0, 1.0)]


def test_many_orders_are_sampled_with_a_seed_and_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels = {"q": {f"d{at}": at % 3 for at in range(6)}}
    run = {"q": dict.fromkeys(qrels["q"], 1.0)}
    inputs = input_of(qrels, {"a": run}, ["ERR"])
    exact = audit_ties(inputs).records()[0]
    monkeypatch.setattr(ties_expected, "MAX_ORDERS", 1)
    first, second = (audit_ties(inputs).records()[0] for _ in range(2))
    assert exact["method"] == "all orders"
    assert first["method"] == "200 sampled orders in 1 queries, seed 0; else all"
    assert first == second
    assert first["expected"] == pytest.approx(exact["expected"], abs=0.05)
    assert (first["worst"], first["best"]) == (exact["worst"], exact["best"])


def test_scores_without_ties_have_one_value() -> None:
    table = audit_ties(input_of({"q": {"d1": 1}}, {"a": {"q": {"d1": 1.0, "d2": 2.0}}}, ["nDCG@10", "RR"]))
    assert table.rows == ()
    assert table.sentences == ("Ties can change 0 of 2 values of 1 systems over n = 1 query.",)


def test_tied_documents_of_equal_gain_have_one_value() -> None:
    table = audit_ties(input_of({"q": {"d1": 1, "d2": 1}}, {"a": {"q": {"d1": 1.0, "d2": 1.0}}}, ["nDCG@10", "RR"]))
    assert table.rows == ()


def test_a_measure_without_tie_analysis_is_named() -> None:
    assert not can_tie(parse_measure("infAP"))
    table = audit_ties(input_of({"q": {"d1": 1}}, {"a": {"q": {"d1": 1.0}}}, ["infAP"]))
    assert "Not computed for infAP." in table.sentences


def _many(random: Random) -> tuple[Grades, Scores]:
    """Queries whose documents share scores in more orders than are enumerated."""
    docs = [f"d{at}" for at in range(9)]
    queries = [f"q{at}" for at in range(4)]
    qrels = {query: {doc: random.randint(0, 3) for doc in docs} | {"d0": 1} for query in queries}
    return qrels, {query: {doc: float(random.randint(1, 2)) for doc in docs} for query in queries}


@examples(15)
@given(seed=st.integers(0, 2**32))
def test_the_order_of_lines_changes_no_value(seed: int) -> None:
    random = Random(seed)
    qrels, run = _many(random)
    queries = random.sample(sorted(qrels), len(qrels))
    shuffled = {query: dict(random.sample(sorted(qrels[query].items()), len(qrels[query]))) for query in queries}
    first, second = (audit_ties(input_of(each, {"a": run}, ["ERR", "bpref", "AP"])) for each in (qrels, shuffled))
    assert first.rows == second.rows


def test_a_query_is_sampled_alike_whatever_other_queries_there_are() -> None:
    qrels, run = _many(Random(3))
    measure = parse_measure("ERR")
    alone = input_of({"q3": qrels["q3"]}, {"a": run}, ["ERR"])
    among = input_of(qrels, {"a": run}, ["ERR"])
    found = [tie_report(measure, all_hits(each)["a"], ranked_lists(each, "a")).expected[-1] for each in (alone, among)]
    assert found[0] == found[1]


RANDOM = ("P@3", "R@3", "Success@3", "RR", "RR@3", "AP", "AP@3", "nDCG", "nDCG@3", "nDCG(gain='exp')@4", "P(rel=2)@2")


@pytest.mark.parametrize("name", RANDOM)
@examples(25)
@given(grades=st.lists(st.integers(0, 3), min_size=1, max_size=8), others=st.integers(0, 8))
def test_a_run_in_which_all_documents_tie_is_expected_to_be_a_random_ranking(name: str, grades: list[int], others: int) -> None:
    qrels = {"q": {f"d{at}": grade for at, grade in enumerate(grades)}}
    run = {"q": dict.fromkeys((*qrels["q"], *(f"x{at}" for at in range(others))), 1.0)}
    inputs = input_of(qrels, {"a": run}, [name])
    found = tie_report(parse_measure(name), all_hits(inputs)["a"], ranked_lists(inputs, "a"))
    assert found.expected[0] == pytest.approx(by_chance(parse_measure(name), grades, len(run["q"])), abs=1e-12)


def test_systems_with_different_queries_each_have_their_n() -> None:
    qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    runs: dict[str, Scores] = {"a": {query: {"d1": 1.0, "x": 1.0} for query in qrels}, "b": {"q1": {"d1": 1.0, "x": 1.0}}}
    table = audit_ties(input_of(qrels, runs, ["RR"], skip_missing=True))
    assert [(row["system"], row["n"], row["queries"]) for row in table.records()] == [("a", 2, 2), ("b", 1, 1)]
    assert table.title.endswith("n = 1 to 2 queries")
    assert table.facts == {"n": 2, "n_by_system": {"a": 2, "b": 1}}


def test_a_spread_that_four_decimals_hide_is_not_printed_as_none() -> None:
    docs = [f"d{at}" for at in range(900)]
    qrels = {"q1": {"d0": 1, "d898": 1}}
    run = {"q1": {doc: -float(min(at, 898)) for at, doc in enumerate(docs)}}
    table = audit_ties(input_of(qrels, {"a": run}, ["AP"]))
    assert "0.0000" not in " ".join(table.sentences)
    assert "below 0.0001 between worst and best" in " ".join(table.sentences)
