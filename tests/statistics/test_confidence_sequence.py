"""Intervals and tests that are valid at every look."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankproof._statistics.confidence_sequence import (
    SRM_ALARM,
    changing_share_evidence,
    decision_chance,
    growth_needed,
    interval_width,
    sequence_interval,
    share_evidence,
)
from support.paths import GOLDEN

_WIDTHS = json.loads((GOLDEN / "online/confidence_sequences.json").read_text())["asymptotic multiplier of the standard error"]


@pytest.mark.parametrize("case", _WIDTHS, ids=lambda case: f"{case['users']}-{case['tuned_for']}")
def test_the_width_is_that_of_the_golden_values_and_near_the_normal_mixture_of_confseq(case: dict[str, float]) -> None:
    width = interval_width(case["users"], int(case["tuned_for"]), case["alpha"])
    assert width == pytest.approx(case["multiplier"])
    assert width == pytest.approx(case["confseq normal_mixture_bound(t)/sqrt(t)"], rel=0.045)


@given(value=st.floats(0.001, 0.2), error=st.floats(0.001, 0.2), users=st.integers(100, 5000))
def test_at_the_traffic_that_decides_the_interval_just_excludes_0(value: float, error: float, users: int) -> None:
    growth = growth_needed(value, error, users)
    if growth is not None and growth > 1:
        low, _, _ = sequence_interval(value, error / math.sqrt(growth), users * growth)
        assert low == pytest.approx(0, abs=1e-6)


@settings(max_examples=30)
@given(value=st.floats(-0.1, 0.1), error=st.floats(0.001, 0.1), users=st.integers(100, 5000), margin=st.floats(0, 0.05))
def test_a_chance_is_between_0_and_1(value: float, error: float, users: int, margin: float) -> None:
    chances = [decision_chance(value, error, users, times, margin=margin) for times in (1.0, 1.5, 4.0, 100.0)]
    assert all(-1e-12 <= chance <= 1 + 1e-12 for chance in chances)


def test_the_chance_of_a_decision_is_that_of_drawn_futures() -> None:
    value, error, users, times = 0.02, 0.01, 1000, 6.0
    rng = np.random.default_rng(1)
    truth = rng.normal(value, error, 200_000)
    later = (value + (times - 1) * rng.normal(truth, error / math.sqrt(times - 1))) / times
    half = interval_width(users * times) * error / math.sqrt(times)
    assert decision_chance(value, error, users, times) == pytest.approx(float((abs(later) > half).mean()), abs=0.004)


@pytest.mark.parametrize(("value", "margin"), [(0.0, 0.03), (0.004, 0.02), (0.02, 0.05), (-0.004, 0.02), (0.0, 0.08)])
def test_the_chance_of_a_decision_counts_differences_that_lie_within_the_margin(value: float, margin: float) -> None:
    error, users, times = 0.01, 1000, 4.0
    rng = np.random.default_rng(2)
    later = value + error * math.sqrt(1 - 1 / times) * rng.standard_normal(200_000)
    half = interval_width(users * times) * error / math.sqrt(times)
    decided = (abs(later) > half) | (abs(later) + half < margin)
    assert decision_chance(value, error, users, times, margin=margin) == pytest.approx(float(decided.mean()), abs=0.004)


@pytest.mark.parametrize(
    ("value", "margin", "chance"), [(0.0, 0.0, 0.0), (0.05, 0.0, 1.0), (-0.05, 0.0, 1.0), (0.0, 0.05, 1.0), (0.02, 0.04, 0.0)]
)
def test_the_chance_that_the_traffic_of_today_decides_is_0_or_1(value: float, margin: float, chance: float) -> None:
    half = interval_width(1000) * 0.01
    assert 0.02 < half < 0.05
    assert decision_chance(value, 0.01, 1000, 1.0, margin=margin) == chance


@pytest.mark.parametrize(
    ("value", "margin", "chance"), [(0.01, 0.0, 0.8), (0.01, 0.0, 0.5), (0.0, 0.03, 0.8), (-0.01, 0.02, 0.8)]
)
def test_the_traffic_that_decides_with_a_chance_has_that_chance(value: float, margin: float, chance: float) -> None:
    growth = growth_needed(value, 0.01, 1000, margin=margin, chance=chance)
    assert growth is not None
    assert growth > 1
    assert decision_chance(value, 0.01, 1000, growth, margin=margin) == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize(("value", "margin"), [(0.01, 0.0), (-0.01, 0.0), (0.002, 0.02), (-0.002, 0.02), (0.015, 0.02)])
def test_the_traffic_that_decides_excludes_0_or_leaves_the_margin(value: float, margin: float) -> None:
    growth = growth_needed(value, 0.01, 1000, margin=margin)
    assert growth is not None
    low, high, _ = sequence_interval(value, 0.01 / math.sqrt(growth), 1000 * growth)
    ends = (abs(low), abs(high), abs(low + margin), abs(high - margin))
    assert min(ends) == pytest.approx(0, abs=1e-9)


def test_traffic_that_decides_today_needs_no_growth_and_more_than_ten_million_users_are_not_asked_for() -> None:
    assert growth_needed(0.1, 0.01, 1000) == 1.0
    assert growth_needed(0.1, 0.01, 1000, chance=0.8) == 1.0
    assert growth_needed(0.1, 0.0, 1000) is None
    assert growth_needed(0.1, 0.01, 20_000_000) == 1.0
    error = 0.01
    least = interval_width(10_000_000) * error / math.sqrt(10_000)
    assert growth_needed(0.999 * least, error, 1000) is None
    assert growth_needed(1.001 * least, error, 1000) == pytest.approx(10_000, rel=0.01)


def test_evidence_against_shares_is_that_of_a_dirichlet_mixture() -> None:
    """Two of three users in the first half, by hand: B(a + 2, a + 1) / B(a, a) / (1/2)^3 with a = 500."""
    by_hand = (500 * 501 * 500) / (1000 * 1001 * 1002) * 8
    assert share_evidence([2, 1], [0.5, 0.5]) == pytest.approx(by_hand, rel=1e-9)
    assert share_evidence([2, 1], [0.5, 0.5], 2.0) == pytest.approx((1 * 2 * 1) / (2 * 3 * 4) * 8, rel=1e-9)
    assert share_evidence([100_000, 0], [0.5, 0.5]) == math.exp(700.0)


def test_the_evidence_is_that_of_ssrm_test_with_its_concentration() -> None:
    """Its concentration is 10,000, and its p is the smallest 1 / evidence so far."""
    peer = json.loads((GOLDEN / "online/statistics.json").read_text())["srm"]
    counts = np.cumsum(peer["batches"], axis=0).tolist()
    evidence = [share_evidence(own, peer["expected"], 10_000.0) for own in counts]
    smallest = np.minimum.accumulate([min(1.0, 1.0 / value) for value in evidence])
    assert smallest == pytest.approx(peer["sequential_p"], rel=1e-9)


def test_no_difference_needs_a_margin_to_decide() -> None:
    assert growth_needed(0.0, 0.01, 1000) is None
    assert growth_needed(0.0, 0.01, 1000, margin=0.01) == pytest.approx(11, rel=0.1)


def test_counts_of_equal_shares_are_no_evidence_and_uneven_ones_are() -> None:
    assert share_evidence([5000, 5000], [0.5, 0.5]) < 1
    assert share_evidence([5400, 4600], [0.5, 0.5]) > SRM_ALARM
    assert share_evidence([5400, 4600], [0.54, 0.46]) < 1


def test_the_evidence_against_a_share_rarely_ever_alarms() -> None:
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(100):
        firsts = np.cumsum(rng.random(2000) < 0.5)[99::100]
        alarms += any(
            share_evidence([int(first), 100 * at - int(first)], [0.5, 0.5]) >= SRM_ALARM for at, first in enumerate(firsts, 1)
        )
    assert alarms <= 0.04 * 100


def test_equal_shares_of_parts_are_hardly_ever_an_alarm_at_any_look_and_changed_ones_mostly() -> None:
    random = np.random.default_rng(3)

    def days(*shares: float) -> list[list[int]]:
        return [[int(own := random.binomial(100, share)), 100 - int(own)] for share in shares]

    for share in (0.5, 0.1):
        logs = [days(*[share] * 30) for _ in range(60)]
        ever = [any(changing_share_evidence(log[:look], (0.5, 0.5)) >= SRM_ALARM for look in range(2, 31, 4)) for log in logs]
        assert sum(ever) <= 2
    changed = [changing_share_evidence(days(*[0.4] * 7, *[0.6] * 7), (0.5, 0.5)) >= SRM_ALARM for _ in range(60)]
    assert sum(changed) >= 50
