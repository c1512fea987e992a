"""Small versions of the simulations on real values, here on generated ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks import decision_rule, family_wise_error, interval_coverage, simulation

VALUES = np.clip(
    np.random.default_rng(3).random((400, 1)) * 0.6
    + np.random.default_rng(4).normal(np.linspace(0, 0.12, 15), 0.2, (400, 15)) * (np.arange(400) % 3 > 0)[:, None],
    0,
    1,
)
"""Systems from worse to better, which are alike on a third of the queries."""


def test_decisions_are_seldom_wrong_and_better_than_keeping_the_baseline() -> None:
    found = decision_rule.simulate(VALUES, 100, 5, 150, np.random.default_rng(0))
    assert decision_rule.wrong(found) <= 0.07
    assert 0.1 < found["decided"] <= 1
    assert found["highest mean"] <= found["baseline"]
    assert found["regret"] < found["baseline"]


def test_fewer_than_thirty_queries_never_decide() -> None:
    assert decision_rule.simulate(VALUES, 29, 3, 20, np.random.default_rng(0))["decided"] == 0


def test_intervals_of_t_hold_the_truth_where_enough_queries_differ() -> None:
    found = interval_coverage.simulate([VALUES], 50, 800, np.random.default_rng(0))
    assert found["shown"] > 0.99
    assert 0.92 <= found["t"] <= 0.975
    assert 0.89 <= found["bca"] <= 0.97
    assert 0.89 <= found["percentile"] <= 0.97


def test_permuted_systems_are_seldom_called_different() -> None:
    found = family_wise_error.simulate(VALUES, 30, 4, 150, np.random.default_rng(0))
    assert found["randomisation"] <= 0.1
    assert found["t"] <= 0.1


def test_a_finished_cell_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "FOLDER", tmp_path / "cells")
    drawn: list[float] = []

    def draw(random: np.random.Generator) -> simulation.Cell:
        drawn.append(float(random.random()))
        return {"share": drawn[-1]}

    first = simulation.StoredCells("coin", "10 rounds").cell("n = 5", draw)
    assert simulation.StoredCells("coin", "10 rounds").cell("n = 5", draw) == first
    assert len(drawn) == 1
    assert simulation.StoredCells("coin", "20 rounds").cell("n = 5", draw) != first
    assert len(drawn) == 2


def test_the_upper_bound_of_a_share_is_above_it() -> None:
    assert simulation.upper_bound(0.0, 100) == pytest.approx(0.0263, abs=1e-3)
    assert 0.05 < simulation.upper_bound(0.05, 2_000) < 0.06
