"""Tied documents: a choice that depends on their order is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import rankproof as rp
from rankproof._analysis.decision.record import Decision
from rankproof._data.run import Run, RunRow
from rankproof._evaluation.value_ranges import values_of_reversed_ties
from rankproof.measures import parse_measure
from support.qrels_and_runs import Grades, Scores, aligned, qrels_of, runs

QUERIES = [f"q{at:02}" for at in range(60)]
GRADES = {query: {"z": 1, **dict.fromkeys("abc", 0)} for query in QUERIES}
SOLID = {query: {"a": 4.0, "z": 3.0, "b": 2.0, "c": 1.0} for query in QUERIES}
Runs = dict[str, dict[str, dict[str, float]]]


def decided(tied: dict[str, dict[str, float]], **options: Any) -> Decision:
    return rp.compare(GRADES, {"tied": tied, "solid": SOLID}, "nDCG@10", samples=100, **options).decision


def scenarios_of(decision: Decision) -> dict[str, tuple[str, ...]]:
    return {scenario.name: scenario.systems for scenario in decision.scenarios}


def tied_on(queries: list[str]) -> dict[str, dict[str, float]]:
    """Four tied documents on these queries, of which the relevant one has the last id; the relevant one first on the others."""
    return {query: dict.fromkeys("zabc", 1.0) if query in queries else {"z": 2.0, "a": 1.0} for query in QUERIES}


def test_a_system_whose_lead_is_the_order_of_its_ties_is_not_shipped() -> None:
    decision = decided(tied_on(QUERIES))
    assert (decision.outcome, decision.reason, decision.systems) == ("not_decided", "ties", ())
    assert decision.sentences[:2] == (
        "Not decided: with tied documents in the opposite order the choice is solid, not tied.",
        "Next: give tied documents scores of their own, or pass --order rank if users see them in the order of ranks.",
    )
    assert decision.risk is not None
    assert decision.limit is not None
    assert decision.risk > decision.limit
    assert scenarios_of(decision)["with tied documents in the opposite order"] == ("solid",)


def test_ties_that_change_no_choice_decide_and_are_a_scenario() -> None:
    decision = decided(tied_on(QUERIES[:6]))
    assert (decision.outcome, decision.kind, decision.systems) == ("ship", "better", ("tied",))
    assert scenarios_of(decision)["with tied documents in the opposite order"] == ("tied",)


def test_a_system_that_is_better_in_one_order_of_ties_alone_is_not_called_better() -> None:
    decision = decided(tied_on(QUERIES[:36]), margin=0.3)
    assert (decision.outcome, decision.kind, decision.systems) == ("ship", "safe", ("tied",))
    assert decision.sentences[0].endswith(
        "With tied documents in the opposite order it is not shown to be better than every other system."
    )


@pytest.mark.parametrize("measure", ["nDCG@3", "RR", "AP", "Success@2", "P@2"])
@given(qrels=qrels_of(lowest=0), run=runs())
def test_the_opposite_order_of_ties_is_that_of_scores_which_rise_with_the_document_id(
    measure: str, qrels: Grades, run: Scores
) -> None:
    order = {query: sorted(docs, key=lambda doc: (-docs[doc], doc)) for query, docs in run.items()}
    apart = {query: {doc: -float(place) for place, doc in enumerate(docs)} for query, docs in order.items()}
    parsed = parse_measure(measure)
    assert np.array_equal(values_of_reversed_ties(parsed, aligned(qrels, run)), parsed.values(aligned(qrels, apart)))


def test_documents_without_ties_have_no_scenario() -> None:
    assert [*scenarios_of(decided({query: {"z": 2.0, "a": 1.0} for query in QUERIES}))] == ["without unjudged documents"]


def test_a_gate_whose_outcome_is_the_order_of_ties_is_unsure() -> None:
    now, before = (rp.evaluate(GRADES, {"s": run}, "nDCG@10") for run in (tied_on(QUERIES), SOLID))
    outcome = rp.gate(now, baseline=before, thresholds=["nDCG@10>=0.9"])
    assert outcome.outcome == "unsure"
    unsure = [check.sentence for check in outcome.checks if check.result == "unsure"]
    assert len(unsure) == 2
    assert all(text.endswith("unsure: the check passes; with tied documents in the opposite order it fails.") for text in unsure)
    few = rp.evaluate(GRADES, {"s": tied_on(QUERIES[:6])}, "nDCG@10")
    assert rp.gate(few, baseline=before).outcome == "passed"


def runs_of(lengths: dict[str, int]) -> dict[str, dict[str, list[str]]]:
    """Rankings of two systems, of which `good` has the relevant documents earlier, cut at these lengths."""
    whole = {"good": [*"zyx", *"abcdefg", *"wv"], "poor": [*"abc", *"zyx", *"wv", *"defg"]}
    return {name: dict.fromkeys(QUERIES, docs[: lengths[name]]) for name, docs in whole.items()}


def test_a_system_is_not_better_because_its_run_is_longer() -> None:
    grades = {query: {**dict.fromkeys("zyxwv", 1), **dict.fromkeys("abcdefg", 0)} for query in QUERIES}
    decision = rp.compare(grades, runs_of({"good": 3, "poor": 12}), "R@10", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "depth")
    assert decision.sentences[:2] == (
        "Not decided: with all rankings cut at the length of the shortest the choice is good, not poor.",
        "Next: pass rankings of the same length, or --depth N if users see N documents.",
    )
    for measure, lengths in (("R@3", {"good": 3, "poor": 12}), ("R@12", {"good": 12, "poor": 5})):
        decision = rp.compare(grades, runs_of(lengths), measure, samples=100).decision
        assert (decision.outcome, decision.systems) == ("ship", ("good",))
    assert scenarios_of(decision)["with all rankings cut at the length of the shortest"] == ("good",)


def test_a_run_whose_ranks_contradict_its_scores_keeps_the_decision_open(tmp_path: Path) -> None:
    def written(name: str, docs: str, sign: int) -> str:
        rows = (
            f"{query} Q0 {doc} {rank} {-sign * rank}.0 {name}\n" for query in QUERIES for rank, doc in enumerate(docs, start=1)
        )
        (tmp_path / f"{name}.run").write_text("".join(rows))
        return str(tmp_path / f"{name}.run")

    grades = {query: {"z": 1, **dict.fromkeys("abc", 0)} for query in QUERIES}
    runs = {"distances": written("distances", "zabc", -1), "scores": written("scores", "bzca", 1)}
    decision = rp.compare(grades, runs, "RR", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "ranks")
    assert decision.sentences[:2] == (
        "Not decided: with documents in the order of their ranks, which contradict their scores, the choice is distances,"
        " not scores.",
        "Next: --lower-is-better if the scores are distances, or --order rank if users see the order of ranks.",
    )
    by_rank = rp.compare(rp.evaluate(grades, runs, "RR", order="rank"), samples=100).decision
    assert (by_rank.outcome, by_rank.systems) == ("ship", ("distances",))


def test_a_run_without_a_rank_in_one_row_is_compared_by_its_scores() -> None:
    rows = [RunRow(query, doc, float(rank), rank) for query in QUERIES for rank, doc in enumerate("zab", start=1)]
    unranked = [RunRow(rows[0].query, rows[0].doc, rows[0].score, None), *rows[1:]]
    other = {query: ["b", "z", "c"] for query in QUERIES}
    grades = {query: {"z": 1, **dict.fromkeys("abc", 0)} for query in QUERIES}
    for own, reason in ((rows, "ranks"), (unranked, None)):
        runs = {"distances": Run.from_rows(own), "scores": other}
        assert rp.compare(grades, runs, "RR", samples=100).decision.reason == reason
