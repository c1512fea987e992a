"""Which pairs to judge next: chances of grades, slopes of risks, and both against what the decision says with the grade."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankproof._analysis.audit.judge_next import (
    PairOrder,
    decision_data,
    grade_chances,
    judge_next,
    risk_changes,
    risk_slopes,
    unjudged_pairs,
)
from rankproof._analysis.audit.unjudged import UnjudgedDocuments, find_unjudged
from rankproof._analysis.decision.decide import DecisionData, decide
from rankproof._analysis.inputs import input_from_runs
from rankproof._data.arrays import FloatArray
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.options import EvaluateOptions
from rankproof._statistics.decision_rule import Margin
from rankproof._statistics.rank_correlation import kendall_tau
from rankproof.measures import P, nDCG

SYSTEMS = ("a", "b", "c")


def judged_part(queries: int = 40, seed: int = 3, share: float = 0.5) -> tuple[dict[str, dict[str, int]], dict[str, Run]]:
    """Judgements of a part of the documents, and three systems of different quality that retrieve them."""
    draw = np.random.default_rng(seed)
    qrels: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, dict[str, float]]] = {name: {} for name in SYSTEMS}
    for query in (f"q{at:03d}" for at in range(queries)):
        grades = draw.choice(4, size=14, p=(0.6, 0.2, 0.1, 0.1))
        known = draw.random(14) < share
        qrels[query] = {f"d{at}": int(grade) for at, grade in enumerate(grades) if known[at]} or {"d0": int(grades[0])}
        for place, name in enumerate(SYSTEMS):
            scores = grades * (0.55 - 0.05 * place) + draw.normal(size=14)
            runs[name][query] = {f"d{at}": float(score) for at, score in enumerate(scores)}
    return qrels, {name: Run.from_dict(run) for name, run in runs.items()}


def unjudged(share: float = 0.5, seed: int = 3, queries: int = 40, measure: str = "nDCG@5") -> UnjudgedDocuments:
    qrels, runs = judged_part(queries, seed, share)
    return find_unjudged(input_from_runs(qrels, runs, [measure]))


def risks(qrels: Qrels, runs: dict[str, Run], measure: str) -> FloatArray:
    result = evaluate_runs(qrels, runs, [measure], EvaluateOptions())
    values = np.column_stack([system.measures[measure].values for system in result.systems])
    found = decide(DecisionData(result.systems[0].measures[measure].measure, tuple(runs), values))
    return np.array([one.risk for one in found.by_system], dtype=np.float64)


@pytest.mark.slow
def test_the_first_order_change_is_near_that_of_judging_the_pair_and_deciding_again() -> None:
    """Every pair of some queries is given every grade; the decision is made again from the new judgements."""
    qrels, runs = judged_part(30)
    docs = find_unjudged(input_from_runs(qrels, runs, ["nDCG@5"]))
    found = unjudged_pairs(docs, nDCG @ 5)
    chances, ours = grade_chances(docs, found, nDCG @ 5), risk_changes(docs, found, nDCG @ 5)
    assert ours is not None
    before = risks(Qrels.from_dict(qrels), runs, "nDCG@5")
    exact = np.zeros(len(found.pairs))
    for at, (query, doc) in enumerate(found.pairs):
        for place, grade in enumerate(found.grades):
            more = Qrels.from_dict({**qrels, query: {**qrels[query], doc: grade}})
            exact[at] += chances[place, at] * np.abs(risks(more, runs, "nDCG@5") - before).mean()
    assert len(exact) > 60
    assert exact.max() > 0.005
    assert np.abs(ours - exact).mean() < 0.25 * exact.mean()
    assert kendall_tau(ours, exact).tau > 0.75
    first = np.argsort(-ours)[:10]
    assert exact[first].mean() > 0.85 * np.sort(exact)[-10:].mean()


def test_slopes_of_two_systems_are_those_of_the_normal_distribution() -> None:
    """With many queries the difference of two means is normal: its density at the margin is the slope of the risk."""
    draw = np.random.default_rng(5)
    values = np.clip(0.5 + 0.1 * draw.normal(size=(2_000, 2)), 0, 1)
    slopes = risk_slopes(DecisionData(nDCG @ 10, ("a", "b"), values), Margin(0.002))
    apart = values[:, 1] - values[:, 0]
    centre, spread = apart.mean(), apart.std(ddof=1) / np.sqrt(len(apart))
    density = np.exp(-0.5 * ((0.002 - centre) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    assert slopes.by_mean[0, 1] == pytest.approx(density, rel=0.1)
    assert slopes.by_mean[0, 0] == pytest.approx(-density, rel=0.1)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000))
def test_a_shift_of_all_means_changes_no_risk(seed: int) -> None:
    values = np.random.default_rng(seed).random((12, 3))
    slopes = risk_slopes(DecisionData(P @ 5, SYSTEMS, values), Margin(0.02))
    shifted = risk_slopes(DecisionData(P @ 5, SYSTEMS, values + 0.3), Margin(0.02))
    assert shifted.risks == pytest.approx(slopes.risks)
    assert shifted.by_mean == pytest.approx(slopes.by_mean, abs=1e-9)
    pair = risk_slopes(DecisionData(P @ 5, SYSTEMS[:2], values[:, :2]), Margin(0.02))
    assert pair.by_mean.sum(axis=1) == pytest.approx(np.zeros(2), abs=1e-9)
    own = np.diagonal(slopes.by_mean)
    assert (own <= 1e-12).all()


def test_chances_are_shares_of_judged_pairs_that_the_systems_rank_alike() -> None:
    docs = unjudged(queries=120)
    found = unjudged_pairs(docs, nDCG @ 5)
    chances = grade_chances(docs, found, nDCG @ 5)
    assert chances.shape == (4, len(found.pairs))
    assert chances.sum(axis=0) == pytest.approx(np.ones(len(found.pairs)))
    places = [sum(doc in docs.lists[name][query].docs[:2] for name in SYSTEMS) for query, doc in found.pairs]
    high, low = (chances[0, [at for at, place in enumerate(places) if (place == 3) is top]].mean() for top in (True, False))
    assert high < low - 0.1


def test_where_only_relevant_documents_are_listed_lower_ranks_have_lower_chances() -> None:
    qrels, runs = judged_part(80, share=0.6)
    relevant = {query: {doc: grade for doc, grade in docs.items() if grade} or {"d0": 1} for query, docs in qrels.items()}
    docs = find_unjudged(input_from_runs(relevant, runs, ["nDCG@10"]))
    found = unjudged_pairs(docs, nDCG @ 10)
    chances = grade_chances(docs, found, nDCG @ 10)
    assert 0 < chances[0].min() < 1
    best = [min(docs.lists[name][query].docs.index(doc) for name in SYSTEMS) for query, doc in found.pairs]
    first, last = (chances[0, [at for at, place in enumerate(best) if test(place)]].mean() for test in ((0).__eq__, (5).__lt__))
    assert first < last


def test_a_binary_measure_has_two_chances() -> None:
    docs = unjudged(measure="P@5")
    found = unjudged_pairs(docs, P @ 5)
    chances = grade_chances(docs, found, P @ 5)
    assert found.grades == (0, 3)
    assert chances.sum(axis=0) == pytest.approx(np.ones(len(found.pairs)))


def test_the_list_is_ordered_by_risk_and_on_request_by_effect() -> None:
    docs = unjudged()
    by_risk, by_effect = (judge_next(docs, "nDCG@5", 1_000, order) for order in get_args(PairOrder))
    risk = [row["risk change"] for row in by_risk.records()]
    effect = [row["could change"] for row in by_effect.records()]
    assert risk == sorted(risk, reverse=True)  # type: ignore[type-var]
    assert effect == sorted(effect, reverse=True)  # type: ignore[type-var]
    assert (by_risk.facts["order"], by_effect.facts["order"]) == ("risk", "effect")
    assert {(row["query"], row["document"]) for row in by_risk.records()} == {
        (row["query"], row["document"]) for row in by_effect.records()
    }
    assert any("expected to change the risks" in sentence for sentence in by_risk.sentences)
    assert not any("expected to change the risks" in sentence for sentence in by_effect.sentences)


def test_without_a_risk_the_order_is_by_effect() -> None:
    qrels, runs = judged_part(3)
    docs = find_unjudged(input_from_runs(qrels, {"a": runs["a"]}, ["nDCG@5"]))
    table = judge_next(docs, "nDCG@5", 9)
    assert table.facts["order"] == "effect"
    assert {row["risk change"] for row in table.records()} == {None}
    assert decision_data(docs.inputs, nDCG @ 5).systems == ("a",)


def test_the_change_by_a_pair_is_that_of_the_weighted_mean() -> None:
    qrels, run = {"q1": {"d1": 1}, "q2": {"d1": 1}}, {"q1": {"d1": 2.0, "x": 1.0}, "q2": {"d1": 2.0, "y": 1.0}}
    options = EvaluateOptions(weights={"q1": 1.0, "q2": 9.0})
    inputs = input_from_runs(qrels, {"a": run}, ["P@2"], options=options)
    found = unjudged_pairs(find_unjudged(inputs), P(cutoff=2))
    for at, (query, doc) in enumerate(found.pairs):
        more = Qrels.from_dict({**qrels, query: {**qrels[query], doc: 1}})
        after = evaluate_runs(more, {"a": Run.from_dict(run)}, ["P@2"], options).systems[0].measures["P@2"].value
        assert found.changes[1, 0, at] == pytest.approx(after - inputs.result.systems[0].measures["P@2"].value)
    assert [row[:2] for row in judge_next(find_unjudged(inputs), "P@2", 2).rows] == [("q2", "y"), ("q1", "x")]
