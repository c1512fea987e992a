"""The best reranking: at the depth that a reranker reorders, and without gains from unjudged documents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rankproof._analysis.baselines import upper_bounds
from rankproof._analysis.diagnose.diagnose import diagnose
from rankproof._analysis.inputs import AnalysisInput
from rankproof._results.experiment_result import SystemRun
from support.analysis_inputs import input_of

QRELS = {"q": {"a": 1, "b": 0, "c": 0}}


def reranked(top: int, docs: list[str]) -> AnalysisInput:
    """A reranker of the first `top` documents."""
    inputs = input_of(QRELS, {"reranker": {"q": {doc: float(-at) for at, doc in enumerate(docs)}}}, measures=["RR@10"])
    stage = {"kind": "Rerank", "top": top}
    one = SystemRun("reranker", "rerank", stage, inputs.runs["reranker"], {}, 0.0, 0, None, None, {})
    return replace(inputs, system_runs=(one,))


@pytest.mark.parametrize(("top", "best"), [(2, 1 / 3), (3, 1.0), (100, 1.0)])
def test_a_rerankers_ceiling_is_at_the_depth_that_it_reorders(top: int, best: float) -> None:
    bound = upper_bounds(reranked(top, ["b", "c", "a"]), ["RR@10"])["RR@10"]
    assert bound.by_system["reranker"] == pytest.approx(best)


@pytest.mark.parametrize(
    ("docs", "words"),
    [
        (["b", "a"], "50.0 pp more by a better order. The other 0.0 pp need better retrieval."),
        (
            ["x", "a"],
            "0.0 pp more by a better order of judged documents, 50.0 pp more by ranking unjudged documents lower (some may be",
        ),
        (["x", "b", "a"], "50.0 pp more by a better order of judged documents, 16.7 pp more by ranking unjudged documents lower"),
    ],
)
def test_a_gain_by_unjudged_documents_is_not_one_of_order_alone(docs: list[str], words: str) -> None:
    tables = {table.name: table for table in diagnose(reranked(10, docs))}
    assert words in tables["moves"].sentences[-1]
