"""Measures of user models against plain loops, Compat against every ideal ranking, and measures of judged documents only."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

import rankproof as rp
from rankproof._align.hits import Hits
from rankproof.errors import UsageError
from rankproof.measures import Measure, parse_measure, parse_measures
from rankproof.measures._base import Advice, BinaryCutoffMeasure, SummedMeasure
from rankproof.measures._relevant import SumParts, equal_parts, relevant_found
from support.examples import examples
from support.qrels_and_runs import Grades, Scores, aligned, by_query, qrels_of, ranked, runs

Continuation = Callable[[int, float, float], float]
"""The probability to go on after rank i, from its gain and the gain up to it."""

MODELS: dict[str, Continuation] = {
    "SDCG@3": lambda i, gain, so_far: math.log(i + 1) / math.log(i + 2) * (i < 3),
    "INST": lambda i, gain, so_far: ((i + 2 - so_far - 1) / (i + 2 - so_far)) ** 2,
    "INST(T=2.5)": lambda i, gain, so_far: ((i + 5 - so_far - 1) / (i + 5 - so_far)) ** 2,
    "INSQ": lambda i, gain, so_far: ((i + 1) / (i + 2)) ** 2,
    "BPM@3": lambda i, gain, so_far: float(so_far < 1 and i < 3),
    "BPM(T=2)": lambda i, gain, so_far: float(so_far < 2),
    "NERR8@3": lambda i, gain, so_far: (1 - gain) * (i < 3),
    "NERR9@3": lambda i, gain, so_far: i / (i + 1) * (1 - gain) * (i < 3),
    "NERR10": lambda i, gain, so_far: 0.9 * (1 - gain),
    "NERR11(T=2)": lambda i, gain, so_far: ((i + 3) / (i + 4)) ** 2 * (1 - gain),
}


def expected_gain(gains: list[float], goes_on: Continuation) -> float:
    """The gain per document of a user who reads 1,000 documents at most."""
    weight, weights, gained, so_far = 1.0, 0.0, 0.0, 0.0
    for rank in range(1, 1001):
        gain = gains[rank - 1] if rank <= len(gains) else 0.0
        so_far += gain
        gained, weights = gained + weight * gain, weights + weight
        weight *= goes_on(rank, gain, so_far)
    return gained / weights


@examples(25)
@given(qrels=qrels_of(lowest=-2, highest=4), run=runs())
def test_a_user_model_is_the_expected_gain_of_its_user(qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    most = max(1, *(grade for docs in qrels.values() for grade in docs.values()))
    for name, goes_on in MODELS.items():
        found = by_query(hits, parse_measure(name).values(hits))
        for query, docs in qrels.items():
            order = sorted(run.get(query, {}).items(), key=lambda one: (one[1], one[0]), reverse=True)
            gains = [max(docs.get(doc, 0), 0) / most for doc, _ in order]
            assert found[query] == pytest.approx(expected_gain(gains, goes_on), abs=1e-12), name


def value(name: str, grades: dict[str, int], docs: list[str]) -> float:
    return float(parse_measure(name).values(aligned({"q": grades}, {"q": ranked(docs)}))[0])


def test_gains_are_scaled_between_the_lowest_and_the_highest_grade() -> None:
    grades = {"a": 3, "b": 1, "c": -2}
    assert value("SDCG(max_rel=3)@1", grades, ["b"]) == pytest.approx(1 / 3)
    assert value("SDCG(max_rel=3,min_rel=1)@1", grades, ["b"]) == 0
    assert value("SDCG(max_rel=2)@1", grades, ["a"]) == value("SDCG@1", grades, ["a"]) == 1
    assert value("SDCG@1", grades, ["c"]) == 0
    with pytest.raises(UsageError, match=r"^max_rel 2 is not above min_rel 2; give the grades of gain 0 and 1$"):
        parse_measure("INST(min_rel=2,max_rel=2)")


def test_normalised_err_is_err_divided_by_that_of_the_best_order() -> None:
    grades = {"a": 2, "b": 1, "c": 0, "d": -1}
    best = value("ERR@2", grades, ["a", "b"])
    assert value("nERR@2", grades, ["c", "b", "a"]) == pytest.approx(value("ERR@2", grades, ["c", "b"]) / best)
    assert value("nERR", {"c": 0}, ["c"]) == 0


def overlap(ranking: list[str], ideal: list[str], p: float) -> float:
    depth = max(len(ranking), len(ideal))
    weights = [p**at for at in range(depth)]
    shares = [len({*ranking[: at + 1]} & {*ideal[: at + 1]}) / (at + 1) for at in range(depth)]
    return sum(weight * share for weight, share in zip(weights, shares, strict=True)) / sum(weights)


@pytest.mark.parametrize("ranking", ["x a b d y c", "c b a", "x y", "d c a b e f g h", "b"])
def test_the_ideal_ranking_of_compat_is_the_one_closest_to_the_run(ranking: str) -> None:
    grades = {"a": 2, "b": 2, "c": 1, "d": 1, "e": 1, "f": 0, "g": -1}
    docs = ranking.split()
    ideals = [[*high, *low] for high in itertools.permutations("ab") for low in itertools.permutations("cde")]
    for p in (0.5, 0.95):
        closest = max(ideals, key=lambda ideal: overlap(docs, ideal, p))
        assert value(f"Compat(p={p},normalize=False)", grades, docs) == pytest.approx(overlap(docs, closest, p))
        best = sum(weight * min(1, 5 / (at + 1)) for at, weight in enumerate(p**at for at in range(max(len(docs), 5))))
        total = sum(p**at for at in range(max(len(docs), 5)))
        assert value(f"Compat(p={p})", grades, docs) == pytest.approx(overlap(docs, closest, p) * total / best)


def test_accuracy_is_the_share_of_pairs_in_the_right_order() -> None:
    grades = {"a": 1, "b": 1, "c": 0}
    assert value("Accuracy", grades, ["x", "a", "c", "b"]) == 1 / 4
    assert value("Accuracy@2", grades, ["a", "b"]) == 1
    assert value("Accuracy", grades, ["c", "x"]) == value("Accuracy", grades, []) == 0


@examples(40)
@given(qrels=qrels_of(), run=runs())
def test_judged_only_is_the_measure_of_rankings_without_unjudged_documents(qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    for name in ("nDCG@3", "AP", "P@2", "RR", "IPrec@0.5", "INST", "Compat", "SetF", "ERR", "R(rel=2)@5"):
        measure = parse_measure(name)
        assert measure(judged_only=True).values(hits).tolist() == measure.values(hits.judged_only()).tolist(), name


@pytest.mark.parametrize("name", ["nDCG(judged_only=True)@10", "P(rel=2,judged_only=True)@5", "AP(judged_only=True)"])
def test_judged_only_is_a_parameter_that_prints_parses_compares_and_pickles(name: str) -> None:
    measure = parse_measure(name)
    assert str(measure) == name
    assert parse_measure(str(measure)) == measure != parse_measure(name.replace("judged_only=True", "").replace("()", ""))
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert hash(measure) == hash(parse_measure(name))
    plain = measure(judged_only=False)
    assert "judged_only" not in plain.parameters()
    assert isinstance(measure, type(plain))


def test_a_measure_of_a_user_takes_judged_only_and_its_name_says_so() -> None:
    class Found(SummedMeasure, BinaryCutoffMeasure):
        name = "Found"
        title = "Found documents"
        definition = "Relevant documents in the top k."
        source = "this test"
        advice = Advice("finding", "you test judged_only.", "you test anything else.")

        def parts(self, hits: Hits) -> SumParts:
            return equal_parts(hits, relevant_found(hits, self.least).at_within(self.depth), np.ones(len(hits.queries)))

    hits = aligned({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}})
    whole, judged = Found() @ 1, Found()(judged_only=True) @ 1
    assert (str(whole), str(judged)) == ("Found@1", "Found(judged_only=True)@1")
    assert whole != judged
    assert (whole.values(hits).tolist(), judged.values(hits).tolist()) == ([0], [1])


def test_judged_only_is_checked_and_has_no_bounds_of_unjudged_documents() -> None:
    with pytest.raises(UsageError, match="judged_only is 3; choose"):
        parse_measure("nDCG(judged_only=3)@10")
    with pytest.raises(UsageError, match="NumQ has no parameter judged_only"):
        parse_measure("NumQ(judged_only=True)")
    run = {"q": {f"x{number}": float(-number) for number in range(20)} | {"a": -30.0}}
    result = rp.evaluate({"q": {"a": 1}}, run, ["P(judged_only=True)@5", "P@5"])
    assert [one for note in result.notes for one in [str(note)] if "P(judged_only" in one] == []
    assert result.means["run"] == {"P(judged_only=True)@5": 0.2, "P@5": 0.0}


def test_every_measure_of_user_models_has_a_loop_here() -> None:
    names: list[Measure] = parse_measures(list(MODELS))
    assert {measure.name for measure in names} == {"SDCG", "INST", "INSQ", "BPM", "NERR8", "NERR9", "NERR10", "NERR11"}


def test_documents_without_a_gain_are_no_parts_of_graded_rank_biased_precision() -> None:
    hits = aligned({"q": {"a": 2, "b": 0, "c": 1, "d": -1}}, {"q": ranked(["b", "a", "d", "x", "c"])})
    parts = rp.measures.GradedRBP.parts(hits)
    assert hits.ranks[parts.at].tolist() == [2, 5]


@pytest.mark.parametrize("equation", ["8@10", "9@10", "10", "11"])
def test_each_nearly_err_names_its_equation(equation: str) -> None:
    measure, number = parse_measure(f"NERR{equation}"), equation.partition("@")[0]
    assert measure.title == f"Nearly ERR, equation {number}"
    assert measure.source.endswith(f"eq. {number}; cwl_eval NERR-EQ{number}")


def test_parts_of_a_ranking_without_unjudged_documents_are_found_in_the_whole_ranking() -> None:
    """Each part is the place of its document among all hits, as grades below 0 are left out with the unjudged ones."""
    hits = aligned({"q": {"a": 2, "b": -1, "c": 1}}, {"q": ranked(["b", "a", "x", "c"])})
    parts = parse_measure("nDCG(judged_only=True)@10").parts(hits)
    assert parts is not None
    assert parts.hits is hits
    assert hits.grades[parts.at].tolist() == [2, 1]
    judged = aligned({"q": {"a": 2, "c": 1}}, {"q": ranked(["a", "c"])})
    parts = parse_measure("nDCG(judged_only=True)@10").parts(judged)
    assert parts is not None
    assert (parts.hits is judged, parts.at.tolist()) == (True, [0, 1])


@pytest.mark.parametrize("name", ["P", "R", "Success", "Rprec_mult", "IPrec", "P_avgjg", "Rprec_mult_avgjg"])
def test_a_measure_without_what_it_needs_has_no_values(name: str) -> None:
    hits = aligned({"q": {"a": 1}}, {"q": ranked(["a"])})
    with pytest.raises(UsageError, match=f"{name} needs a "):
        getattr(rp.measures, name).values(hits)


def test_the_highest_grade_of_binary_judgements_has_the_whole_gain() -> None:
    grades, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": ranked(["a", "x", "c"])}
    hits = aligned(grades, run)
    for name in ("INST", "BPM", "INSQ"):
        assert parse_measure(name).values(hits).tolist() == parse_measure(f"{name}(max_rel=1)").values(hits).tolist()
        assert parse_measure(name).values(hits)[0] > parse_measure(f"{name}(max_rel=2)").values(hits)[0]


def test_a_string_of_grades_has_one_sign_for_grades_above_9() -> None:
    hits = aligned({"q": {"a": 9, "b": 10, "c": 0, "d": -1}}, {"q": ranked(["a", "b", "c", "d", "x"])})
    assert parse_measure("relstring").texts(hits).per_query["q"] == "9>0.-"  # type: ignore[attr-defined]
