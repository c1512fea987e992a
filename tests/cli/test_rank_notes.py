"""What `rankproof eval` says of rankings that end before a measure's cutoff."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.inputs import cutoff_notes
from rankproof._cli.main import main

QRELS = {"q1": {"d0": 1}, "q2": {"d1": 1}, "q3": {"d2": 1}}


def run_of(lengths: dict[str, int]) -> dict[str, dict[str, float]]:
    return {query: {f"d{at}": float(-at) for at in range(length)} for query, length in lengths.items()}


def told(lengths: dict[str, int], *measures: str) -> list[str]:
    return cutoff_notes(rp.evaluate(QRELS, run_of(lengths), list(measures)))


def test_rankings_that_end_before_the_cutoff_are_noted() -> None:
    assert told({"q1": 20, "q2": 20, "q3": 7}, "R@20", "R@100", "P@50") == [
        "all systems: no ranking has more than 20 documents, so R@100, P@50 cannot look deeper"
    ]


@pytest.mark.parametrize(
    ("lengths", "measure"),
    [
        ({"q1": 20, "q2": 20, "q3": 20}, "R@20"),
        ({"q1": 20, "q2": 20, "q3": 20}, "AP"),
        ({"q1": 20, "q2": 19, "q3": 18}, "R@100"),
        ({"q1": 20}, "R@100"),
        ({"q1": 9, "q2": 9, "q3": 9}, "R@100"),
    ],
)
def test_rankings_of_different_depths_are_not_noted(lengths: dict[str, int], measure: str) -> None:
    assert told(lengths, measure) == []


def test_the_sample_says_that_its_rankings_are_twenty_deep(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--sample", "-m", "R@100"]) == 0
    assert "all systems: no ranking has more than 20 documents, so R@100" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["compare", "segments", "baselines", "audit", "diagnose"])
def test_a_missing_results_folder_is_named(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by = ["--by", "category"] if verb == "segments" else []
    assert main([verb, str(tmp_path / "nowhere"), *by]) == 2
    assert "nowhere: no such file or folder; specify a folder" in capsys.readouterr().err
    assert main([verb, str(tmp_path), *by]) == 2
    assert "is not a results folder; specify a folder" in capsys.readouterr().err
