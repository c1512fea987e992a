"""A small part of `python -m benchmarks.error_rates`: error rates where the truth is known."""

from __future__ import annotations

import pytest
from benchmarks.error_rates import Check, by_flips, by_t, claims_equivalence, covers, detects, errs, rejects
from benchmarks.simulated_values import LIFTED, NULLS

CHECKS = {
    "a true null is rejected about as often as alpha says": Check(
        "randomisation", "RR", 40, rejects(NULLS[1], 40, by_flips), 0.03, 0.07
    ),
    "so it is by the t-test": Check("t", "RR", 40, rejects(NULLS[1], 40, by_t), 0.03, 0.07),
    "an interval holds the truth": Check("t", "lifted", 60, covers(LIFTED, 60, "t"), 0.92, 0.97),
    "equivalence is not claimed at the margin": Check("margin", "normal", 50, claims_equivalence(50), 0.0, 0.07),
    "a detectable difference is detected": Check("power", "normal", 50, detects(50), 0.76, 0.84),
}


@pytest.mark.parametrize("name", CHECKS)
def test_error_rates_where_the_truth_is_known(name: str) -> None:
    check = CHECKS[name]
    assert check.least <= check.rate(1_000, seed=1) <= check.most


@pytest.mark.parametrize("world", [NULLS[0], LIFTED], ids=lambda world: world.name)
def test_holm_controls_the_family_wise_error_rate(world: object) -> None:
    check = Check("holm", "family", 40, errs(world, 40), 0.0, 0.09)  # type: ignore[arg-type]
    assert check.rate(200, seed=1) <= check.most


def test_without_correction_the_family_wise_error_rate_exceeds_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankproof._statistics import paired

    monkeypatch.setitem(paired.CORRECTIONS, "holm", paired.CORRECTIONS["none"])
    assert Check("holm", "family", 40, errs(NULLS[0], 40), 0, 1).rate(200, seed=1) > 0.1
