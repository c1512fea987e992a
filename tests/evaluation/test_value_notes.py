"""The notes on unjudged documents and ties: when they are given, and the bounds in them."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankproof as rp
from rankproof._analysis.audit.ties import tie_report
from rankproof._analysis.audit.unjudged import bounds_of, find_unjudged
from rankproof._analysis.values import all_hits, ranked_lists
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.notes import FEW_JUDGED, JUDGED_ONLY, TIED_SCORES, value_notes
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.value_ranges import own_bounds, value_range
from rankproof.measures import Measure, parse_measure
from support.analysis_inputs import input_of
from support.examples import examples
from support.qrels_and_runs import Grades, Scores

BOUNDED = [
    *("nDCG@3", "nDCG(gain='exp')@4", "nDCG(gain={1:5,2:1})@4", "nDCG@10", "RR@2", "RR"),
    *("P@2", "P(rel=2)@3", "R@3", "Success@2"),
]
TIED = ["nDCG@3", "nDCG(gain='exp')", "RR", "AP", "P@2", "P(rel=2)@3", "R@3", "Success@2", "ERR@3", "RBP", "bpref", "Judged@3"]
ADVICE = "unjudged documents count as not relevant: leave them out with judged_only=True, or grade them with rankproof judge"


def _case(seed: int, *, levels: int) -> tuple[Grades, Scores]:
    """Four queries with up to thirteen documents, some of them judged and some tied."""
    random = Random(seed)
    docs = [f"d{at}" for at in range(14)]
    queries = [f"q{at}" for at in range(4)]
    qrels = {query: {doc: random.randint(-1, 3) for doc in random.sample(docs, random.randint(1, 8))} for query in queries}
    chosen = {query: random.sample(docs, random.randint(1, 13)) for query in queries if query == "q0" or random.random() < 0.9}
    run = {query: {doc: float(random.randrange(levels)) for doc in found} for query, found in chosen.items()}
    return {query: {**grades, "top": random.choice([0, 3])} for query, grades in qrels.items()}, run


@pytest.mark.parametrize("measure", [parse_measure(name) for name in BOUNDED], ids=str)
@examples(40)
@given(seed=st.integers(0, 2**32))
def test_the_bounds_of_one_system_are_those_of_audits_completions(measure: Measure, seed: int) -> None:
    qrels, run = _case(seed, levels=1_000_000)
    unjudged = find_unjudged(input_of(qrels, {"a": run}, [str(measure)]))
    found = own_bounds(measure, unjudged.hits["a"])
    assert found is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankproof._analysis.audit.unjudged.value_bounds", lambda *_: None)
        completed = bounds_of(measure, unjudged, "a")
    for own, expected in zip(found, completed, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-12)


@pytest.mark.parametrize("measure", [parse_measure(name) for name in TIED], ids=str)
@examples(40)
@given(seed=st.integers(0, 2**32), levels=st.integers(1, 6))
def test_the_range_over_ties_is_that_of_audit(measure: Measure, seed: int, levels: int) -> None:
    qrels, run = _case(seed, levels=levels)
    inputs = input_of(qrels, {"a": run}, [str(measure)])
    hits, expected = all_hits(inputs)["a"], tie_report(measure, all_hits(inputs)["a"], ranked_lists(inputs, "a"))
    for own, other in zip(value_range(measure, hits), (expected.worst, expected.best), strict=True):
        np.testing.assert_allclose(own, other, atol=1e-12)


def _ranking(judged: int, unjudged: int) -> tuple[Grades, Scores]:
    docs = [f"j{at}" for at in range(judged)] + [f"u{at}" for at in range(unjudged)]
    return {"q": dict.fromkeys(docs[:judged], 1)}, {"q": {doc: float(-at) for at, doc in enumerate(docs)}}


@pytest.mark.parametrize(("judged", "is_noted"), [(10, False), (8, False), (7, True), (1, True)])
def test_fewer_than_80_percent_of_the_top_10_judged_is_noted(judged: int, is_noted: bool) -> None:
    qrels, run = _ranking(judged, 20)
    notes = rp.evaluate(qrels, run, "P@10").notes["run"]
    assert [note.code for note in notes] == [FEW_JUDGED] * is_noted
    if is_noted:
        (note,) = notes
        assert note.count == 10 - judged
        assert note.text == f"Judged@10 is {judged}0%, so P@10 is between 0.{judged}000 and 1.0000; {ADVICE}"
    assert [note.code for note in rp.evaluate(qrels, run, "P@10", judged_only=True).notes["run"]] == [JUDGED_ONLY]


def test_missing_queries_are_no_unjudged_documents() -> None:
    qrels, run = _ranking(10, 0)
    assert [note.code for note in rp.evaluate({**qrels, "gone": {"x": 1}}, run, "P@10").notes["run"]] == ["missing-queries"]


def test_a_measure_without_bounds_names_audit() -> None:
    qrels, run = _ranking(1, 9)
    (note,) = rp.evaluate(qrels, run, "AP").notes["run"]
    assert note.text == f"Judged@10 is 10% (audit(unjudged=True) has the bounds of the values); {ADVICE}"


def test_the_notes_of_all_systems_are_one_text() -> None:
    (qrels, one), (_, other) = _ranking(5, 5), _ranking(5, 15)
    notes = value_notes(rp.evaluate(qrels, {"one": one, "other": other}, "P@10").systems)
    advice = ADVICE.replace("judged_only=True", "-J")
    assert notes == [f"all systems: Judged@10 is 50%, so P@10 is between 0.5000 and 1.0000; {advice}"]
    shorter = {"q": {doc: score for doc, score in one["q"].items() if doc not in ("j0", "u0")}}
    (line,) = value_notes(rp.evaluate(qrels, {"one": one, "short": shorter}, "P@10").systems)
    assert line.count(advice) == 1
    assert "one: Judged@10 is 50%" in line
    assert "short: Judged@10 is 50%, so P@10 is between 0.4000 and 0.8000" in line


def _tied(relevant: int, ties: int, queries: int = 1) -> tuple[Grades, Scores]:
    """Queries of which the first has ties between one relevant document and others."""
    docs = [f"d{at}" for at in range(ties)]
    qrels = {f"q{at}": {doc: int(doc == f"d{relevant}") for doc in docs} for at in range(queries)}
    falling = {doc: float(-at) for at, doc in enumerate(docs)}
    return qrels, {query: dict.fromkeys(docs, 1.0) if query == "q0" else falling for query in qrels}


def test_ties_that_change_a_value_are_noted_with_its_range() -> None:
    qrels, run = _tied(0, 4)
    (note,) = rp.evaluate(qrels, run, "RR").notes["run"]
    assert (note.code, note.count) == (TIED_SCORES, 4)
    assert (
        note.text == "RR is between 0.2500 and 1.0000 depending on the order of ties; ties are ordered by document id, descending"
    )


def test_ties_that_change_little_are_not_noted() -> None:
    qrels, run = _tied(0, 4, queries=200)
    assert rp.evaluate(qrels, run, "RR").notes["run"] == ()


def test_ties_that_change_the_order_of_systems_are_noted() -> None:
    qrels, run = _tied(0, 4, queries=200)
    better = {**run, "q0": {"d0": 0.0, "d1": 1.0, "d2": -1.0, "d3": -2.0}}
    notes = rp.evaluate(qrels, {"tied": run, "plain": better}, "RR").notes
    assert notes["plain"] == ()
    assert [note.text for note in notes["tied"]] == [
        "RR is between 0.9962 and 1.0000 depending on the order of ties, which changes the order of the systems;"
        " ties are ordered by document id, descending"
    ]


def test_ties_that_change_nothing_that_is_printed_are_not_noted() -> None:
    """RR is 1 - 0.75 / 20000 and 1 - 0.5 / 20000: both, and the ends of the range, are printed as 1.0000."""
    qrels, run = _tied(0, 4, queries=20_000)
    better = {**run, "q0": {"d0": 0.0, "d1": 1.0, "d2": -1.0, "d3": -2.0}}
    result = rp.evaluate(qrels, {"tied": run, "plain": better}, "RR")
    tied, plain = (values["RR"] for values in result.means.values())
    assert tied != plain
    assert f"{tied:.4f}" == f"{plain:.4f}"
    assert result.notes == {"tied": (), "plain": ()}


@pytest.mark.parametrize("judged_only", [True, False])
def test_ties_are_of_the_ranking_that_is_evaluated(judged_only: bool) -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "x": 1.0, "b": 1.0, "y": 0.5}}
    notes = rp.evaluate(qrels, run, "RR", judged_only=judged_only).notes["run"]
    (text,) = [note.text for note in notes if note.code == TIED_SCORES]
    assert text.startswith(f"RR is between {'0.5000' if judged_only else '0.3333'} and 1.0000")


def test_the_note_on_unjudged_documents_has_the_bounds_of_the_measure_that_decides() -> None:
    qrels = Qrels.from_dict({"q1": {"d1": 1}})
    run = Run.from_dict({"q1": {f"d{at}": 20.0 - at for at in range(1, 11)}})
    for primary, first in ((None, "nDCG@10"), ("RR@10", "RR@10"), ("AP", "P@10")):
        found = evaluate_runs(qrels, {"one": run}, ["P@10", "RR@10", "nDCG@10", "AP"], EvaluateOptions(primary=primary))
        (note,) = (note for note in found.systems[0].notes if note.code == "few-judged")
        assert re.search(rf"Judged@10 is 10%, (so|which cannot change) {re.escape(first)}", note.text), note.text
