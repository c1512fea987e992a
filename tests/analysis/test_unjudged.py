"""Unjudged documents: bounds that no completion leaves, pool bias, and pairs to judge next."""

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankproof import evaluate
from rankproof._analysis.audit.judge_next import judge_next, unjudged_pairs
from rankproof._analysis.audit.pool_bias import audit_pool
from rankproof._analysis.audit.unjudged import COMPLETION_RULES, audit_unjudged, bounds_of, find_unjudged
from rankproof.errors import UsageError
from rankproof.measures import Measure, parse_measure
from support.analysis_inputs import input_of
from support.examples import examples
from support.qrels_and_runs import Grades, Scores

MEASURES = [
    *("nDCG@3", "nDCG(gain='exp')@4", "nDCG", "nDCG(gain={1:5,2:1})@4", "DCG@2", "RR", "RR@2", "AP", "AP@3", "P@2", "R@3"),
    *("F1@3", "Success@2", "ERR@3", "RBP", "P(rel=2)@3", "AP(rel=2)"),
]
CASES = [parse_measure(name) for name in MEASURES]
HIGHEST = 3


def _case(seed: int) -> tuple[Grades, dict[str, Scores]]:
    """Two systems over one query of up to eight documents, some of them judged; the highest grade is in use."""
    random = Random(seed)
    docs = [f"d{at}" for at in range(8)]
    judged = random.sample(docs, random.randint(0, 5))
    qrels = {
        "q": {doc: random.randint(0, HIGHEST) for doc in judged} | {"top": random.choice([0, HIGHEST])},
        "other": {"x": HIGHEST},
    }
    runs = {name: {"q": _ranking(random, docs), "other": {"x": 1.0}} for name in "ab"}
    return qrels, runs


def _ranking(random: Random, docs: list[str]) -> dict[str, float]:
    chosen = random.sample(docs, random.randint(1, 6))
    return {doc: float(-place) for place, doc in enumerate(chosen)}


def _completed(random: Random, qrels: Grades, docs: frozenset[str]) -> Grades:
    level = random.choice([0.2, 0.5, 0.9])
    given = {doc: random.randint(0, HIGHEST) if random.random() < level else 0 for doc in docs}
    return {**qrels, "q": {**qrels["q"], **given}}


@pytest.mark.parametrize("measure", CASES, ids=str)
@examples(60)
@given(seed=st.integers(0, 2**32))
def test_no_completion_of_the_judgements_leaves_the_bounds(measure: Measure, seed: int) -> None:
    qrels, runs = _case(seed)
    unjudged_docs = find_unjudged(input_of(qrels, runs, [str(measure)]))
    random = Random(seed)
    bounds = {system: [float(bound[0]) for bound in bounds_of(measure, unjudged_docs, system)] for system in runs}
    for _ in range(12):
        result = evaluate(_completed(random, qrels, unjudged_docs.docs["q"]), runs, measure)
        for system, (low, high) in bounds.items():
            assert low - 1e-12 <= result.per_query(system)[str(measure)]["q"] <= high + 1e-12


@pytest.mark.parametrize("name", ["nDCG@3", "nDCG(gain='exp')@3", "AP", "R@2", "F1@2"])
@examples(25)
@given(seed=st.integers(0, 2**32))
def test_the_bounds_are_reached_by_some_completion(name: str, seed: int) -> None:
    from itertools import product

    qrels, runs = _case(seed)
    unjudged_docs = find_unjudged(input_of(qrels, runs, [name]))
    open_docs = sorted(unjudged_docs.docs["q"])
    assume(len(open_docs) <= 5)
    grades = range(HIGHEST + 1) if name.startswith("nDCG") else (0, 1)
    seen = []
    for chosen in product(grades, repeat=len(open_docs)):
        filled = {**qrels, "q": {**qrels["q"], **dict(zip(open_docs, chosen, strict=True))}}
        seen.append(evaluate(filled, {"a": runs["a"]}, name).per_query("a")[name]["q"])
    low, high = bounds_of(parse_measure(name), unjudged_docs, "a")
    assert low[0] == pytest.approx(min(seen), abs=1e-12)
    assert high[0] == pytest.approx(max(seen), abs=1e-12)


def test_every_measure_of_the_default_set_has_bounds() -> None:
    from rankproof.measures import default_measures

    assert {measure.name for measure in default_measures(2)} <= set(COMPLETION_RULES)


def test_judged_share_and_bounds_are_in_the_table() -> None:
    qrels = {"q": {"d1": 1}}
    inputs = input_of(qrels, {"a": {"q": {"d1": 3.0, "x": 2.0}}, "b": {"q": {"y": 2.0, "d1": 1.0}}}, ["RR@2", "infAP"])
    table = audit_unjudged(inputs, find_unjudged(inputs))
    rows = {str(row["system"]): row for row in table.records()}
    assert (rows["a"]["judged"], rows["a"]["lowest"], rows["a"]["highest"]) == (0.5, 1.0, 1.0)
    assert (rows["b"]["judged"], rows["b"]["lowest"], rows["b"]["highest"]) == (0.5, 0.5, 1.0)
    assert table.sentences[0] == "By RR@2, a leads for all possible grades of the unjudged documents."
    assert "There are no bounds for infAP." in table.sentences
    assert table.facts["n"] == 1


def test_a_system_without_its_own_documents_is_evaluated_on_the_same_queries() -> None:
    qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    runs: dict[str, Scores] = {"a": {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}, "b": {"q1": {"x": 1.0}, "q2": {"d2": 1.0}}}
    inputs = input_of(qrels, runs, ["RR"])
    rows = {str(row["system"]): row for row in audit_pool(inputs, find_unjudged(inputs)).records()}
    assert (rows["a"]["judged alone"], rows["a"]["relevant"]) == (1, 1)
    assert (rows["a"]["value"], rows["a"]["without"], rows["a"]["change"]) == (1.0, 0.5, -0.5)
    assert rows["b"]["change"] == 0.0


def test_pool_bias_needs_two_systems() -> None:
    inputs = input_of({"q": {"d": 1}}, {"a": {"q": {"d": 1.0}}}, ["RR"])
    table = audit_pool(inputs, find_unjudged(inputs))
    assert (table.rows, table.sentences) == ((), ("Pool bias needs two systems or more.",))


@pytest.mark.parametrize("name", ["nDCG@3", "RR", "AP", "R@3"])
@examples(30)
@given(seed=st.integers(0, 2**32))
def test_what_a_pair_could_change_is_what_judging_it_changes(name: str, seed: int) -> None:
    qrels, runs = _case(seed)
    inputs = input_of(qrels, runs, [name])
    found = unjudged_pairs(find_unjudged(inputs), parse_measure(name))
    before = inputs.result.means
    for at, (query, doc) in enumerate(found.pairs):
        spreads = []
        for grade in range(HIGHEST + 1):
            after = evaluate({**qrels, query: {**qrels[query], doc: grade}}, runs, name).means
            changes = [after[system][name] - before[system][name] for system in runs]
            spreads.append(max(changes) - min(changes))
            if grade in found.grades:
                assert found.changes[found.grades.index(grade), :, at].tolist() == pytest.approx(changes, abs=1e-12)
        assert found.spread[at] == pytest.approx(max(spreads), abs=1e-12)


def test_a_lower_grade_than_the_highest_may_change_more_and_is_the_one_named() -> None:
    qrels: Grades = {"q": {"f": 3, "e": 2, "d": 2}}
    runs: dict[str, Scores] = {
        "a": {"q": {"d": 4.0, "x": 3.0, "z": 2.0, "f": 1.0}},
        "b": {"q": {"y": 4.0, "z": 3.0, "x": 2.0, "e": 1.0}},
    }
    table = judge_next(find_unjudged(input_of(qrels, runs, ["nDCG@3"])), "nDCG@3", 9)
    before = evaluate(qrels, runs, "nDCG@3").means
    after = evaluate({"q": {**qrels["q"], "x": 2}}, runs, "nDCG@3").means
    changes = [after[system]["nDCG@3"] - before[system]["nDCG@3"] for system in runs]
    (row,) = (row for row in table.records() if row["document"] == "x")
    assert row["with grade"] == 2
    assert row["could change"] == pytest.approx(max(changes) - min(changes))


def test_tied_systems_do_not_lead() -> None:
    runs: dict[str, Scores] = {"a": {"q": {"d": 2.0, "x": 1.0}}, "b": {"q": {"d": 2.0, "x": 1.0}}, "c": {"q": {"z": 1.0}}}
    inputs = input_of({"q": {"d": 1}}, runs, ["RR"])
    unjudged_docs = find_unjudged(inputs)
    assert audit_unjudged(inputs, unjudged_docs).sentences[0] == "By RR, a and b tie at 1.0000."
    sentence = judge_next(unjudged_docs, "RR", 3).sentences[1]
    assert sentence == "a and b tie; no listed pair favours b."


def test_overlapping_bounds_come_with_a_caveat() -> None:
    """b's bounds overlap those of a, yet whatever the grade of x and y is, b is never ahead."""
    runs: dict[str, Scores] = {"a": {"q": {"x": 2.0, "d": 1.0}}, "b": {"q": {"x": 3.0, "y": 2.0, "d": 1.0}}}
    inputs = input_of({"q": {"d": 1}}, runs, ["RR"])
    sentences = audit_unjudged(inputs, find_unjudged(inputs)).sentences
    assert sentences[0] == "By RR, a leads, but its bounds overlap those of the other system."
    assert sentences[1].startswith("Bounds are for each system alone.")
    for grades in ({"x": 1}, {"y": 1}, {"x": 1, "y": 1}):
        means = evaluate({"q": {"d": 1, **grades}}, runs, "RR").means
        assert means["b"]["RR"] <= means["a"]["RR"]
    apart: dict[str, Scores] = {"a": {"q": {"d": 1.0}}, "b": {"q": {"x": 1.0}}}
    sure = input_of({"q": {"d": 1}}, apart, ["RR"])
    assert not any("alone" in sentence for sentence in audit_unjudged(sure, find_unjudged(sure)).sentences)


def test_a_lead_too_small_for_four_decimals_is_not_shown_as_0() -> None:
    qrels = {f"q{at}": {"d": 1} for at in range(300)}
    whole: Scores = {query: {"d": 1.0} for query in qrels}
    ranked = {"x" + str(at): float(100 - at) for at in range(34)} | {"d": 1.0}
    runs: dict[str, Scores] = {"a": {**whole, "q0": ranked}, "b": {**whole, "q0": {"x": 200.0, **ranked}}}
    sentence = judge_next(find_unjudged(input_of(qrels, runs, ["RR"])), "RR", 1).sentences[1]
    assert sentence.startswith("a leads b by less than 0.0001;")


def test_a_negative_grade_counts_as_unjudged_as_in_judged_at_k() -> None:
    qrels: Grades = {"q": {"d": 1, "x": -1, "y": -1}}
    runs: dict[str, Scores] = {"a": {"q": {"x": 2.0, "d": 1.0}}, "b": {"q": {"d": 2.0}}}
    inputs = input_of(qrels, runs, ["RR@2", "nDCG@2"])
    unjudged_docs = find_unjudged(inputs)
    assert unjudged_docs.docs == {"q": frozenset({"x"})}
    first = audit_unjudged(inputs, unjudged_docs).records()[0]
    assert (first["judged"], first["value"], first["highest"]) == (0.5, 0.5, 1.0)
    assert audit_pool(inputs, unjudged_docs).records()[0]["judged alone"] == 0
    (row,) = judge_next(unjudged_docs, "nDCG@2", 5).records()
    after = evaluate({"q": {**qrels["q"], "x": 1}}, runs, "nDCG@2").means
    changes = [after[system]["nDCG@2"] - inputs.result.means[system]["nDCG@2"] for system in runs]
    assert row["could change"] == pytest.approx(max(changes) - min(changes))


def test_the_new_lead_is_computed_over_the_queries_of_each_system() -> None:
    qrels: Grades = {"q1": {"d1": 1}, "q2": {"d2": 1}, "q3": {"d3": 1}}
    runs: dict[str, Scores] = {
        "a": {"q1": {"d1": 1.0}, "q2": {"x": 2.0, "d2": 1.0}, "q3": {"d3": 1.0}},
        "b": {"q2": {"y": 2.0, "d2": 1.0}},
    }
    inputs = input_of(qrels, runs, ["RR"], skip_missing=True)
    table = judge_next(find_unjudged(inputs), "RR", 9)
    after = evaluate({**qrels, "q2": {"d2": 1, "y": 1}}, runs, "RR", skip_missing=True).means
    lead = after["b"]["RR"] - after["a"]["RR"]
    assert f"b would lead by {lead:.4f}" in table.sentences[1]


def test_the_pair_with_the_largest_change_comes_first_and_marks_a_new_winner() -> None:
    qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    runs: dict[str, Scores] = {
        "a": {"q1": {"d1": 1.0}, "q2": {"z": 2.0, "d2": 1.0}},
        "b": {"q1": {"x": 2.0, "d1": 1.0}, "q2": {"y": 3.0, "z": 2.0, "d2": 1.0}},
    }
    table = judge_next(find_unjudged(input_of(qrels, runs, ["RR"])), "RR", 2)
    rows = table.records()
    assert [(row["query"], row["document"]) for row in rows] == [("q2", "y"), ("q1", "x")]
    assert rows[0]["could change"] == pytest.approx(1 / 3)
    assert (rows[0]["for"], rows[0]["new winner"]) == ("b", False)
    assert "b would lead" in table.sentences[1]


def test_lists_that_are_judged_in_full_leave_nothing_to_judge() -> None:
    table = judge_next(find_unjudged(input_of({"q": {"d": 1}}, {"a": {"q": {"d": 1.0}}}, ["RR"])), "RR", 3)
    assert (table.rows, table.sentences) == ((), ("All documents within the cutoff are judged.",))


LACKING: dict[str, Scores] = {
    "a": {"q1": {"d1": 1.0}, "q2": {"x": 2.0, "d2": 1.0}},
    "b": {"q2": {"d2": 2.0, "y": 1.0}},
}
TWO: Grades = {"q1": {"d1": 1}, "q2": {"d2": 1}}


def test_pool_bias_is_over_the_queries_of_each_system_with_skip_missing() -> None:
    inputs = input_of(TWO, LACKING, ["RR"], skip_missing=True)
    table = audit_pool(inputs, find_unjudged(inputs))
    rows = {str(row["system"]): row for row in table.records()}
    assert (rows["b"]["value"], rows["b"]["without"], rows["b"]["change"], rows["b"]["n"]) == (1.0, 1.0, 0.0, 1)
    assert (rows["a"]["value"], rows["a"]["without"], rows["a"]["n"]) == (0.75, 0.25, 2)
    assert "n = 1 to 2 queries" in table.title


def test_bounds_have_the_n_of_each_system_where_missing_queries_are_left_out() -> None:
    inputs = input_of(TWO, LACKING, ["RR"], skip_missing=True)
    table = audit_unjudged(inputs, find_unjudged(inputs))
    assert [(row["system"], row["n"], row["highest"]) for row in table.records()] == [("a", 2, 1.0), ("b", 1, 1.0)]


@pytest.mark.parametrize("name", ["nDCG@3", "RR", "AP", "R@3"])
def test_a_pair_changes_the_mean_over_the_queries_that_the_system_has(name: str) -> None:
    inputs = input_of(TWO, LACKING, [name], skip_missing=True)
    found = unjudged_pairs(find_unjudged(inputs), parse_measure(name))
    for at, (query, doc) in enumerate(found.pairs):
        after = evaluate({**TWO, query: {**TWO[query], doc: 1}}, LACKING, name, skip_missing=True).means
        changes = [after[system][name] - inputs.result.means[system][name] for system in LACKING]
        assert found.changes[-1, :, at].tolist() == pytest.approx(changes, abs=1e-12)


def test_a_pool_without_bias_is_described() -> None:
    inputs = input_of({"q": {"d": 1}}, {"a": {"q": {"d": 1.0}}, "b": {"q": {"d": 1.0}}}, ["RR"])
    assert audit_pool(inputs, find_unjudged(inputs)).sentences == ("No system loses.",)


def test_the_system_that_loses_most_is_named_in_visible_characters() -> None:
    runs: dict[str, Scores] = {"a\x1b": {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}, "b": {"q1": {"x": 1.0}, "q2": {"d2": 1.0}}}
    inputs = input_of(TWO, runs, ["RR"])
    (sentence,) = audit_pool(inputs, find_unjudged(inputs)).sentences
    assert sentence == "The largest loss without a system's own documents is 0.5000 (RR of a\\x1b)."


@pytest.mark.parametrize("name", ["NumRelRet", "GMAP"])
def test_judge_next_refuses_a_measure_that_is_not_a_mean(name: str) -> None:
    unjudged_docs = find_unjudged(input_of(TWO, LACKING, [name]))
    with pytest.raises(UsageError, match=f"{name} is not a mean over queries"):
        judge_next(unjudged_docs, name, 2)


def test_where_lower_is_better_the_lower_system_leads_and_gains_by_a_fall() -> None:
    runs: dict[str, Scores] = {"holey": {"q": {"x": 2.0, "y": 1.0}}, "judged": {"q": {"d": 2.0, "z": 1.0}}}
    table = judge_next(find_unjudged(input_of({"q": {"d": 1}}, runs, ["Unjudged@2"])), "Unjudged@2", 9)
    assert "judged leads holey by 0.5000" in table.sentences[1]
    assert {str(row["document"]): row["for"] for row in table.records()} == {"x": "holey", "y": "holey", "z": "judged"}
