"""Measures as values, and corner cases of their definitions."""

from __future__ import annotations

import gc
import weakref
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rankproof.errors import UsageError
from rankproof.measures import (
    ERR,
    F1,
    GMAP,
    MEASURES,
    RBP,
    RR,
    IPrec,
    Measure,
    P,
    R,
    SetF,
    Unjudged,
    nDCG,
    parse_measure,
    parse_measures,
)
from rankproof.measures._answers import token_set_f1
from rankproof.measures._registry import all_measures
from support.qrels_and_runs import aligned, ranked


def value(name: str, grades: dict[str, int], docs: list[str]) -> float:
    return float(parse_measure(name).values(aligned({"q": grades}, {"q": ranked(docs)}))[0])


def test_a_measure_is_called_with_parameters_and_cut_with_at() -> None:
    assert str(nDCG(gain="exp") @ 10) == "nDCG(gain='exp')@10"
    assert nDCG(gain={2: 9, 1: 3}) == nDCG(gain={1: 3.0, 2: 9.0})
    assert P(rel=2)(cutoff=np.int64(5)) == P(rel=2, cutoff=5)
    assert len({nDCG @ 10, nDCG @ 10, nDCG @ 5}) == 2
    assert P @ 5 != R @ 5


def test_a_measure_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        (P @ 5).cutoff = 10  # type: ignore[attr-defined]


@pytest.mark.parametrize("cutoff", [0, -1, 2.5, float("nan"), float("inf"), True, "5", 2**63])
def test_a_cutoff_is_a_whole_number_of_at_least_1(cutoff: float) -> None:
    with pytest.raises(UsageError):
        P @ cutoff


def test_a_measure_that_needs_a_cutoff_says_so_when_it_is_used() -> None:
    hits = aligned({"q": {"a": 1}}, {"q": ranked(["a"])})
    measures: list[Measure] = [P, R, F1, Unjudged, IPrec]
    for measure in measures:
        with pytest.raises(UsageError, match="needs a"):
            measure.values(hits)


def test_a_rel_that_is_set_is_not_overridden() -> None:
    assert (P(rel=1) @ 5).with_rel(2) == P(rel=1) @ 5
    assert parse_measure("P(rel=1)@5").with_rel(2) == P(rel=1) @ 5
    assert (P @ 5).with_rel(2) == P(rel=2) @ 5


def test_a_rel_of_1_that_is_set_is_part_of_the_name() -> None:
    assert P(rel=1) @ 5 != P @ 5
    assert [str(measure) for measure in parse_measures(["P@5", "P(rel=1)@5"])] == ["P@5", "P(rel=1)@5"]
    assert str((P @ 5).with_rel(1)) == "P@5"
    assert value("P@2", {"a": 1}, ["a"]) == value("P(rel=1)@2", {"a": 1}, ["a"]) == 0.5


def test_rel_never_changes_gains() -> None:
    assert nDCG.with_rel(3) == nDCG
    assert value("nDCG", {"a": 1, "b": 3}, ["b", "a"]) == 1.0


def test_precision_divides_by_k_also_when_fewer_were_retrieved() -> None:
    assert value("P@10", {"a": 1}, ["a"]) == 0.1


def test_average_precision_divides_by_all_relevant_also_with_a_cutoff() -> None:
    assert value("AP@1", {"a": 1, "b": 1, "c": 1, "d": 1}, ["a", "b"]) == 0.25


def test_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    grades, docs = {"a": 1, "b": 1, "c": 1}, ["a", "x", "b", "y"]
    precision, recall = value("P@6", grades, docs), value("R@6", grades, docs)
    assert value("F1@6", grades, docs) == pytest.approx(2 * precision * recall / (precision + recall))


def test_the_weight_of_recall_in_set_f_is_not_squared() -> None:
    grades, docs = {"a": 1, "b": 1, "c": 1}, ["a", "x"]
    precision, recall = 1 / 2, 1 / 3
    assert value("SetF(beta=2)", grades, docs) == pytest.approx(3 * precision * recall / (2 * precision + recall))
    assert value("set_F.2", grades, docs) == value(str(SetF(beta=2)), grades, docs)


def test_given_gains_order_the_ideal_ranking() -> None:
    grades = {"a": 1, "b": 2, "c": 4}
    assert value("nDCG(gain={1:3,2:9,4:4.5})", grades, ["b", "c", "a"]) == pytest.approx(1.0)
    assert value("nDCG(gain={1:3,2:9,4:4.5})", grades, ["c", "b", "a"]) < 1.0


def test_a_grade_without_a_given_gain_is_its_own_gain() -> None:
    assert value("DCG(gain={1:3})@1", {"a": 2}, ["a"]) == 2.0


def test_the_largest_grade_can_have_a_gain() -> None:
    assert value("DCG(gain={1000:3})@1", {"a": 1000}, ["a"]) == 3.0


@pytest.mark.parametrize("gain", [-1, float("nan"), float("inf"), 1.1e15, 10**400, Fraction(10**400), "1", None, True])
def test_a_gain_is_a_number_from_0_to_the_limit(gain: Any) -> None:
    with pytest.raises(UsageError, match="gain"):
        nDCG(gain={1: gain})


@pytest.mark.parametrize("gain", [(1, 2), ((1,),), {}, {None: 1}, {1.5: 1}, {10**400: 1}, [1]])
def test_gains_that_are_not_pairs_are_rejected(gain: Any) -> None:
    with pytest.raises(UsageError):
        nDCG(gain=gain)


def test_the_largest_gains_are_summed_and_the_least_is_printed_as_0() -> None:
    hits = aligned({f"q{at}": {"a": 1} for at in range(1000)}, {f"q{at}": ranked(["a"]) for at in range(1000)})
    largest = parse_measure("DCG(gain={1:1e15})")
    assert largest.summarise(largest.values(hits)) == 1e15
    assert str(nDCG(gain={1: -0.0})) == "nDCG(gain={1:0})"


def test_the_ideal_ranking_has_all_judged_documents() -> None:
    assert value("nDCG@1", {"a": 1, "b": 3}, ["a"]) == pytest.approx(1 / 3)


def test_a_negative_grade_gains_nothing_and_counts_as_unjudged() -> None:
    grades, docs = {"a": 1, "junk": -2, "no": 0}, ["junk", "a", "no", "x"]
    clean = {"a": 1, "no": 0}
    for name in ("nDCG", "AP", "RR", "bpref", "Judged@4", "Unjudged@4"):
        assert value(name, grades, docs) == value(name, clean, docs), name
    assert value("Judged@4", grades, docs) == 0.5
    assert value("infAP", grades, docs) > value("infAP", clean, docs)


def test_judged_divides_by_what_was_retrieved_and_unjudged_by_k() -> None:
    grades, docs = {"a": 1}, ["x", "a"]
    assert value("Judged@10", grades, docs) == 0.5
    assert value("Judged", grades, docs) == 0.5
    assert value("Unjudged@10", grades, docs) == 0.1


def test_bpref_without_judged_nonrelevant_documents_is_recall() -> None:
    assert value("bpref", {"a": 1, "b": 1}, ["x", "a"]) == 0.5


def test_bpref_counts_at_most_as_many_nonrelevant_documents_as_are_relevant() -> None:
    grades = {"a": 1, "n1": 0, "n2": 0, "n3": 0}
    assert value("bpref", grades, ["n1", "n2", "n3", "a"]) == 0.0
    assert value("bpref", grades | {"b": 1}, ["n1", "a", "b"]) == 0.5


def test_interpolated_precision_rounds_the_documents_needed_half_up() -> None:
    grades, docs = {f"r{number}": 1 for number in range(5)}, ["r0", "x", "r1", "r2"]
    assert value("IPrec@0.1", grades, docs) == 1.0
    assert value("IPrec@0.3", grades, docs) == 0.75
    assert value("IPrec@0.8", grades, docs) == 0.0


def test_the_geometric_mean_has_a_floor() -> None:
    assert GMAP.summarise(np.array([1.0, 0.0])) == pytest.approx(1e-5**0.5)
    assert GMAP.summarise(np.array([])) == 0.0


def test_err_takes_the_largest_grade_of_all_queries() -> None:
    hits = aligned({"q": {"a": 1}, "other": {"b": 2}}, {"q": ranked(["a"]), "other": ranked(["x", "b"])})
    assert ERR.values(hits).tolist() == [0.25, 0.375]


def test_err_stops_at_a_satisfied_user() -> None:
    first, second = 3 / 4, 1 / 4
    assert value("ERR", {"a": 2, "b": 1}, ["a", "x", "b"]) == pytest.approx(first + (1 - first) * second / 3)
    assert value("ERR@2", {"a": 2, "b": 1}, ["a", "x", "b"]) == pytest.approx(first)


def test_err_takes_the_largest_grade_as_a_parameter() -> None:
    first, second = 3 / 16, 1 / 16
    wanted = first + (1 - first) * second / 3
    assert value("ERR(max_grade=4)@20", {"a": 2, "b": 1}, ["a", "x", "b"]) == pytest.approx(wanted)
    assert str(ERR(max_grade=4) @ 20) == "ERR(max_grade=4)@20"
    assert value("ERR(max_grade=2)", {"a": 2, "b": 1}, ["a"]) == value("ERR", {"a": 2, "b": 1}, ["a"])
    with pytest.raises(UsageError, match=r"ERR\(max_grade=1\) and a judgement has grade 2; give max_grade=2 or more"):
        value("ERR(max_grade=1)", {"a": 2}, ["a"])
    with pytest.raises(UsageError, match="max_grade"):
        parse_measure("ERR(max_grade=0)")


def test_err_of_a_query_does_not_depend_on_the_others() -> None:
    grades = {f"q{length}": {f"d{rank}": rank % 3 for rank in range(length)} for length in (5, 1, 9, 3)}
    run = {query: ranked(list(docs)) for query, docs in grades.items()}
    together = ERR.values(aligned(grades, run)).tolist()
    rest = {"top": {"t": 2}}
    alone = [float(ERR.values(aligned({query: grades[query]} | rest, {query: run[query]}))[0]) for query in grades]
    assert together == alone


def test_rbp_weighs_ranks_by_persistence() -> None:
    assert value("RBP", {"a": 1, "b": 3}, ["a", "x", "b"]) == pytest.approx(0.2 * (1 + 0.8**2))
    assert value("RBP(p=0.5)@2", {"a": 1, "b": 1}, ["a", "x", "b"]) == pytest.approx(0.5)


def test_a_sum_counts_and_a_mean_of_nothing_is_0() -> None:
    assert parse_measure("NumRet").summarise(np.array([3.0, 4.0])) == 7.0
    assert RR.summarise(np.array([])) == 0.0


def test_cached_values_are_freed_with_their_hits() -> None:
    hits = aligned({"q": {"a": 1, "n": 0}}, {"q": ranked(["n", "a"])})
    for name in ("nDCG", "AP", "bpref", "infAP", "RBP", "DCG", "Judged"):
        parse_measure(name).values(hits)
    watched: list[weakref.ref[Any]] = [weakref.ref(hits), weakref.ref(hits.judged)]
    del hits
    gc.collect()
    assert [one() for one in watched] == [None, None]


def test_every_measure_has_a_title_a_definition_and_a_source() -> None:
    assert len(MEASURES) >= 50
    for name, measure in MEASURES.items():
        assert measure.name == name
        assert measure.title
        assert measure.definition.endswith(".")
        assert measure.source
        assert measure.kind in ("binary", "graded", "count")
        assert measure.summary in ("mean", "sum", "geometric")


def test_answer_f1_is_over_sets_of_words() -> None:
    assert token_set_f1("The capital of France is Paris", "Paris is the capital city of France!") == pytest.approx(12 / 13)
    assert token_set_f1("a a a b", "A, b") == 1.0
    assert token_set_f1("the cat", "the dog", stop_words={"the"}) == 0.0
    assert token_set_f1("", "") == token_set_f1("!?", "x") == 0.0


def test_lower_is_better_for_these_measures_alone_and_counts_have_no_winner() -> None:
    by_direction = {
        wanted: {measure.name for measure in all_measures() if measure.higher_is_better is wanted}
        for wanted in (True, False, None)
    }
    assert by_direction[False] == {"Unjudged", "RBPResid", "Hallucination", "Noise"}
    assert by_direction[None] == {"NumQ", "NumRet", "NumRel", "NumNonrelRet", "NumPrefs", "IDCG", "relstring", "runid"}
    without_winner = {measure.name for measure in all_measures() if not measure.has_winner}
    assert without_winner == by_direction[None] | {"Judged", "Unjudged", "RBPResid", "NumRelRet", "NumPrefsFul"}


def test_only_a_mean_from_0_to_1_has_percentage_points() -> None:
    others = {measure.name for measure in all_measures() if not measure.is_fraction}
    counts = {"NumQ", "NumRet", "NumRel", "NumRelRet", "NumNonrelRet", "NumPrefs", "NumPrefsFul"}
    assert others == {"DCG", "IDCG", "GMAP", "GMbpref", "yaap", "Utility", "Similarity", "relstring", "runid", *counts}


@pytest.mark.parametrize("beta", [0, 0.5, 1, 3])
def test_a_beta_is_at_least_0(beta: float) -> None:
    assert parse_measure(f"SetF(beta={beta})") == SetF(beta=beta)
    with pytest.raises(UsageError, match=r"^beta -0\.5 is below 0; write it like 2$"):
        SetF(beta=-0.5)


def test_a_share_may_be_0_or_1_and_a_persistence_may_not() -> None:
    assert [str(IPrec @ recall) for recall in (0, 1)] == ["IPrec@0", "IPrec@1"]
    for recall in (-0.01, 1.01):
        with pytest.raises(UsageError, match=r"is not between 0 and 1; write it like 0\.5"):
            IPrec @ recall
    for p in (0, 1):
        with pytest.raises(UsageError, match=r"is not between 0 and 1; write it like 0\.8"):
            RBP(p=p)


def test_what_a_document_adds_depends_on_its_own_grade_and_rank_in_these_measures() -> None:
    assert {measure.name for measure in all_measures() if measure.additive} == {
        *("nDCG", "DCG", "P", "R", "F1", "Rprec", "RBP", "SetP", "SetR", "Judged", "NumRelRet", "relative_P", "GradedRBP"),
    }
