"""Analyses of measures that need judgements for subtopics, and of measures of judged documents only."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankproof as rp
from rankproof._api.datasets import convert

LINES = ("q1 1 a 2", "q1 1 b 1", "q1 2 a 1", "q1 2 c 2", "q1 3 c 1", "q1 3 e 0", "q2 1 x 1", "q2 2 y 1", "q3 1 m 1", "q3 2 n 2")
RUNS = {
    "one": {"q1": {"c": 5.0, "d": 4.0, "a": 3.0}, "q2": {"y": 2.0}, "q3": {"n": 2.0, "m": 1.0}},
    "two": {"q1": {"a": 5.0, "b": 4.0}, "q2": {"x": 2.0, "y": 1.0}, "q3": {"o": 1.0}},
}


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    path = tmp_path / "qrels.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


def test_systems_are_compared_by_a_measure_of_diversity(qrels: Path) -> None:
    text = str(rp.compare(qrels, RUNS, "alpha_nDCG@5"))
    assert "one leads with 0.824 alpha_nDCG@5; n = 3." in text


def test_an_audit_leaves_subtopics_in_the_judgements(qrels: Path) -> None:
    text = str(rp.audit(qrels, RUNS, "alpha_nDCG@5"))
    assert "There are no bounds for alpha_nDCG@5." in text
    assert "The largest loss without a system's own documents is 0.4762 (alpha_nDCG@5 of one)." in text


def test_a_value_of_judged_documents_shows_the_ranks_of_the_whole_ranking(qrels: Path) -> None:
    rows = str(rp.explain(qrels, {"one": RUNS["one"]}, "P(judged_only=True)@5", query="q1")).splitlines()
    assert [line.split()[:3] for line in rows if line.startswith(">")] == [[">", "1", "c"], [">", "3", "a"]]


def test_a_conversion_counts_the_rows_of_all_subtopics(qrels: Path, tmp_path: Path) -> None:
    assert convert(qrels, tmp_path / "qrels.csv").rows == len(LINES)
