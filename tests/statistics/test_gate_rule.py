"""The rule of the gate: its three outcomes, its alarm against the first baseline, and the drop that it detects."""

from __future__ import annotations

import numpy as np
import pytest

from rankproof._statistics.decision_rule import PairEstimates
from rankproof._statistics.gate_rule import PairedChange, change_of_pair, detectable_drop, paired_change, raises_alarm


def change_of(difference: float, deviation: float, n: int) -> PairedChange:
    """A change whose differences have this mean and standard deviation."""
    spread = deviation * np.sqrt((n - 1) / n)
    return paired_change(0.5 + difference + np.tile([spread, -spread], n // 2), np.full(n, 0.5))


@pytest.mark.parametrize(("n", "points"), [(50, 6.1), (100, 4.3), (200, 3.0), (400, 2.1)])
def test_the_detectable_drop_is_2_8_standard_errors(n: int, points: float) -> None:
    assert 100 * change_of(0.0, 0.15, n).detectable == pytest.approx(points, abs=0.15)


@pytest.mark.parametrize(
    ("difference", "n", "outcome"),
    [(0.0, 400, "passed"), (0.0, 100, "unsure"), (-0.03, 400, "failed"), (-0.03, 50, "unsure"), (0.02, 100, "passed")],
)
def test_the_outcome_depends_on_the_difference_and_the_queries(difference: float, n: int, outcome: str) -> None:
    assert change_of(difference, 0.15, n).outcome(0.02) == outcome


def test_the_degrees_of_freedom_are_those_of_the_pair() -> None:
    differences, errors = np.array([[0.0, 0.25], [-0.25, 0.0]]), np.array([[1.0, 0.125], [0.125, 1.0]])
    freedom = np.array([[3.0, 7.0], [7.0, 4.0]])
    assert change_of_pair(PairEstimates(differences, errors, freedom, 8)) == PairedChange(0.25, 0.125, 7.0)
    assert change_of_pair(PairEstimates(differences, errors, 9.0, 8)) == PairedChange(0.25, 0.125, 9.0)


def test_a_change_within_the_margin_passes_although_it_is_significant() -> None:
    change = change_of(-0.005, 0.02, 200)
    assert change.p < 0.01
    assert change.outcome(0.02) == "passed"


def test_equal_values_on_few_queries_are_not_shown_to_be_equal() -> None:
    ones = np.ones(30)
    assert paired_change(ones, ones).outcome(0.02) == "unsure"
    assert paired_change(np.ones(100), np.ones(100)).outcome(0.02) == "passed"


@pytest.mark.parametrize(("difference", "n", "alarm"), [(-0.03, 400, True), (-0.019, 400, False), (-0.03, 50, False)])
def test_the_alarm_needs_the_margin_and_two_standard_errors(difference: float, n: int, alarm: bool) -> None:
    change = change_of(difference, 0.15, n)
    assert raises_alarm(-change.difference, change.p, 0.02) is alarm


@pytest.mark.parametrize("n", [50, 100, 400])
@pytest.mark.parametrize("perfect", [1.0, 0.97, 0.6])
def test_a_gate_fails_lost_values_of_the_detectable_drop_with_80_percent_chance(n: int, perfect: float) -> None:
    draws, failed = np.random.default_rng(n), 0
    for _ in range(200):
        values = (draws.random(n) < perfect).astype(float)
        lost = draws.random(n) < detectable_drop(values, None, 0.2) / values.mean()
        failed += paired_change(np.where(lost, 0.0, values), values).outcome(0.02) == "failed"
    assert failed / 200 >= 0.77


def test_a_detectable_drop_of_values_that_move_is_that_of_their_standard_error() -> None:
    values = np.tile([0.9, 0.1], 200)
    whole = paired_change(values, np.full(400, 0.5)).detectable
    assert detectable_drop(values) == pytest.approx(whole, rel=0.01)
    assert detectable_drop(values, None, 0.2) == pytest.approx(whole * np.sqrt(0.2), rel=0.01)
    assert detectable_drop(values, np.ones(400)) == pytest.approx(detectable_drop(values))
    assert detectable_drop(np.zeros(50)) == 0


@pytest.mark.parametrize("value", [0.3, 0.5, 0.9])
def test_the_detectable_drop_of_equal_values_solves_its_equation(value: float) -> None:
    """A share x / v of the queries loses v: the squares have mean v x - x² around the drop x, and a further query adds v²."""
    drop = detectable_drop(np.full(10, value))
    assert drop**2 == pytest.approx(2.8**2 / (10 * 9) * (10 * (value * drop - drop**2) + value**2))


@pytest.mark.parametrize(
    ("p", "drop", "alarm"), [(0.0455, 0.02, True), (0.0456, 0.02, False), (0.01, 0.0199, False), (0.04, 0.02, True)]
)
def test_the_alarm_is_raised_from_the_p_of_two_standard_errors_on(p: float, drop: float, alarm: bool) -> None:
    assert raises_alarm(drop, p, 0.02) is alarm
