"""Steps of an experiment from their values, on the figures of the ranking stack and of the tutorial."""

import pytest

from rankproof._analysis.diagnose.steps import Step, describe_recall, gains_table, stage_measures_table
from rankproof._analysis.pareto import Gain

STACK = [
    Step("BM25", "retrieval", {"nDCG@10": 0.585, "RR@10": 0.812, "R@100": 0.741}),
    Step("dense", "retrieval", {"nDCG@10": 0.611, "RR@10": 0.808, "R@100": 0.825}, "BM25"),
    Step("hybrid", "fusion", {"nDCG@10": 0.628, "RR@10": 0.834, "R@100": 0.842}, "dense"),
    Step("cross-encoder", "rerank", {"nDCG@10": 0.645, "RR@10": 0.860, "R@100": 0.842}, "hybrid", "hybrid"),
    Step("LLM", "rerank", {"nDCG@10": 0.717, "RR@10": 0.901, "R@100": 0.842}, "cross-encoder", "cross-encoder"),
]


def test_the_gains_of_the_stack_are_those_of_its_table() -> None:
    gained = [row["pp gained"] for row in gains_table(STACK, "nDCG@10", "R@100").records()]
    assert gained == [None, *(pytest.approx(points, abs=1e-9) for points in (2.6, 1.7, 1.7, 7.2))]


def test_unchanged_recall_after_retrieval_is_described() -> None:
    (sentence,) = gains_table(STACK, "nDCG@10", "R@100").sentences
    assert "R@100 stays at 0.842: retrieval sets the upper bound" in sentence


def test_a_reranker_that_changes_recall_is_described() -> None:
    moved = [*STACK[:4], Step("LLM", "rerank", {"nDCG@10": 0.7, "R@100": 0.85}, "cross-encoder", "cross-encoder")]
    (sentence,) = describe_recall(moved, "R@100")
    assert "changes from 0.842 to 0.850 at LLM" in sentence


def test_without_rerankers_there_is_no_sentence_on_recall() -> None:
    assert describe_recall(STACK[:3], "R@100") == []


def test_the_tutorials_improvements_are_25_and_8_points() -> None:
    assert [Gain(0.73, 0.48).points, Gain(0.81, 0.73).points] == [pytest.approx(25.0), pytest.approx(8.0)]
    assert str(Gain(0.73, 0.48)) == "+25.0 pp (+52.1% relative)"


def test_a_gain_over_nothing_has_no_relative_size() -> None:
    assert Gain(0.2, 0.0).relative is None
    assert str(Gain(0.2, 0.0)) == "+20.0 pp"


def test_every_stage_has_its_measures_and_systems() -> None:
    retrieval, reranking, generation = stage_measures_table(STACK).records()
    assert (retrieval["measures"], retrieval["systems"]) == ("R@100", "BM25, dense, hybrid")
    assert (reranking["measures"], reranking["systems"]) == ("nDCG@10, RR@10", "cross-encoder, LLM")
    assert generation["systems"] is None
