"""The rule of decisions on live traffic in simulated experiments that look again and again."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.online_rule import USERS, one_ratio, two_ratios

from rankproof._analysis.online.interleaved import Preferences

_ROUNDS, _SESSIONS = 400, 2_000


def _users(rng: np.random.Generator, rounds: int = _ROUNDS) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Users who come back, each with an own side that they like."""
    return rng.integers(0, USERS, (rounds, _SESSIONS))


def test_the_estimates_of_the_simulation_are_those_of_the_package() -> None:
    rng = np.random.default_rng(1)
    users = _users(rng, rounds=1)
    signs = rng.choice([-1.0, 0.0, 1.0], users.shape)
    looks = one_ratio(users, signs, signs != 0)
    credit = np.column_stack([np.maximum(-signs[0], 0), np.maximum(signs[0], 0)])
    rows = np.arange(_SESSIONS, dtype=np.int32)
    values = Preferences(("A", "B"), users[0].astype(np.int32), np.zeros(_SESSIONS), rows, credit, rows)
    pair = values.compare(1, 0)
    assert (pair.difference, pair.error, pair.users) == pytest.approx(
        (looks.values[-1, 0], looks.errors[-1, 0], looks.users[-1, 0])
    )


@pytest.mark.slow
def test_twenty_looks_at_users_without_a_preference_rarely_ever_decide() -> None:
    rng = np.random.default_rng(2)
    users = _users(rng)
    likes = rng.normal(0, 1.5, (_ROUNDS, USERS))[np.arange(_ROUNDS)[:, None], users]
    signs = np.where(rng.random(users.shape) < 0.4, np.where(rng.random(users.shape) < 1 / (1 + np.exp(-likes)), 1.0, -1.0), 0.0)
    looks = one_ratio(users, signs, signs != 0)
    assert looks.decides().any(axis=0).mean() <= 0.05
    assert looks.decides(fixed=True).any(axis=0).mean() > 0.1


@pytest.mark.slow
def test_twenty_looks_at_equal_variants_rarely_ever_decide() -> None:
    rng = np.random.default_rng(3)
    users = _users(rng)
    rates = rng.beta(1, 2, (_ROUNDS, USERS))[np.arange(_ROUNDS)[:, None], users]
    clicked = rng.random(users.shape) < rates
    looks = two_ratios(users, clicked.astype(np.float64), clicked)
    assert looks.decides().any(axis=0).mean() <= 0.05
    assert looks.decides(fixed=True).any(axis=0).mean() > 0.1
