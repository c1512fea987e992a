"""A scale on which 1 is the best grade: what prevents a decision, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.decision.record import Decision

QUERIES = [f"q{at:03}" for at in range(120)]


def decided(seed: int, *, reverse: bool, zeros: bool, signal: float = 1.0, judgements: str | None = None) -> Decision:
    """Two systems that rank documents of grades 1 to 4, and of 0 with `zeros`, by their grades and noise."""
    rng = np.random.default_rng(seed)
    grades: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, dict[str, float]]] = {"words": {}, "meaning": {}}
    for query in QUERIES:
        known = rng.integers(0 if zeros else 1, 5, 12)
        grades[query] = {f"d{at}": int(4 - grade + (not zeros) if reverse else grade) for at, grade in enumerate(known)}
        for system, strength in (("words", signal), ("meaning", 2 * signal)):
            scores = strength * known + rng.normal(size=12)
            runs[system][query] = {f"d{at}": float(score) for at, score in enumerate(scores)}
    return rp.compare(grades, runs, "nDCG@10", samples=100, judgements=judgements).decision  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("zeros", [True, False])
def test_reversed_grades_decide_nothing(seed: int, zeros: bool) -> None:
    decision = decided(seed, reverse=True, zeros=zeros)
    assert (decision.outcome, decision.reason, decision.systems) == ("not_decided", "grades", ())
    first = "Not decided: every system ranks lower grades above higher ones, as if 1 were the best grade."
    assert decision.sentences[0] == first
    assert decision.sentences[1].startswith("Next: --grade-map if 1 is the best grade")
    assert decided(seed, reverse=True, zeros=zeros, judgements="complete").outcome == "ship"


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("zeros", [True, False])
def test_grades_in_order_and_systems_that_rank_at_random_are_not_called_reversed(seed: int, zeros: bool) -> None:
    assert decided(seed, reverse=False, zeros=zeros).systems == ("meaning",)
    assert decided(seed, reverse=False, zeros=zeros, signal=0.0).reason != "grades"
