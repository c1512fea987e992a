"""Corrections for many tests, by worked examples and by laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankproof._statistics.options import Correction, SamplingOptions
from rankproof._statistics.paired import CORRECTIONS, holm_of_two, level_of
from rankproof.errors import UsageError

FIVE = [0.01, 0.04, 0.03, 0.005, 0.2]
PS = st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=30)

# Worked by hand: sorted .005 .01 .03 .04 .2; Holm times 5 4 3 2 1, running maximum; Benjamini-Hochberg times 5/1 5/2 5/3 5/4 5/5,
# running minimum from the end.
WORKED: dict[Correction, list[float]] = {
    "holm": [0.04, 0.09, 0.09, 0.025, 0.2],
    "bonferroni": [0.05, 0.2, 0.15, 0.025, 1.0],
    "bh": [0.025, 0.05, 0.05, 0.025, 0.2],
    "none": FIVE,
}


@pytest.mark.parametrize("name", WORKED)
def test_a_family_worked_by_hand(name: Correction) -> None:
    assert CORRECTIONS[name](np.array(FIVE)).tolist() == pytest.approx(WORKED[name], abs=1e-15)


@given(PS)
def test_benjamini_hochberg_equals_that_of_scipy(p: list[float]) -> None:
    np.testing.assert_allclose(CORRECTIONS["bh"](np.array(p)), stats.false_discovery_control(p), rtol=1e-12)


@given(PS, st.randoms())
def test_the_order_of_tests_never_matters(p: list[float], random: object) -> None:
    order = list(range(len(p)))
    random.shuffle(order)  # type: ignore[attr-defined]
    for correct in CORRECTIONS.values():
        np.testing.assert_array_equal(correct(np.array(p)[order]), correct(np.array(p))[order])


@given(PS)
def test_corrected_p_lies_between_its_own_and_bonferronis(p: list[float]) -> None:
    plain, most = np.array(p), CORRECTIONS["bonferroni"](np.array(p))
    holm, bh = CORRECTIONS["holm"](plain), CORRECTIONS["bh"](plain)
    assert (plain <= bh * (1 + 1e-12)).all()
    assert (bh <= holm * (1 + 1e-12)).all()
    assert (holm <= most * (1 + 1e-12)).all()
    assert (most <= 1).all()


@given(st.floats(1e-9, 1.0))
def test_one_test_alone_is_not_corrected(p: float) -> None:
    assert all(correct(np.array([p])).tolist() == [p] for correct in CORRECTIONS.values())


def test_two_tests_of_each_comparison_are_corrected_for_the_number_of_possibly_true_hypotheses() -> None:
    p, other = np.array([0.01, 0.02, 0.6]), np.array([0.03, 0.9, 0.04])
    # Sorted: .01 .02 .03 .04 .6 .9; three things are open until both tests of the first one have succeeded, at .03.
    differ, equal = holm_of_two(p, other)
    assert differ.tolist() == pytest.approx([0.03, 0.06, 1.0])
    assert equal.tolist() == pytest.approx([0.09, 1.0, 0.09])


def test_benjamini_hochberg_needs_a_larger_p_where_others_are_significant() -> None:
    assert level_of(0.05, 10, "bh") == pytest.approx(0.005)
    assert level_of(0.05, 10, "bh", 4) == pytest.approx(0.025)
    assert level_of(0.05, 10, "bh", 10) == 0.05
    assert level_of(0.05, 10, "holm", 10) == pytest.approx(0.005)
    assert level_of(0.05, 10, "none") == 0.05


@pytest.mark.parametrize(
    "setting", [{"alpha": 1e-9}, {"alpha": 0.499}, {"samples": 100}, {"samples": 10_000_000}, {"seed": 2**63 - 1}]
)
def test_settings_at_their_limits_are_kept_as_they_are(setting: dict[str, Any]) -> None:
    options = SamplingOptions(**setting)
    assert {name: getattr(options, name) for name in setting} == setting


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ({"alpha": 0}, "alpha is 0; choose a number above 0 and below 0.5"),
        ({"alpha": 0.5}, "alpha is 0.5; choose a number above 0 and below 0.5"),
        ({"alpha": True}, "alpha is True; choose a number above 0 and below 0.5"),
        ({"alpha": "0.05"}, "alpha is 0.05; choose a number above 0 and below 0.5"),
        ({"samples": 99}, "samples is 99; choose a whole number from 100 to 10,000,000"),
        ({"samples": 10_000_001}, "samples is 10000001; choose a whole number from 100 to 10,000,000"),
        ({"samples": 1e5}, "samples is 100000.0; choose a whole number from 100 to 10,000,000"),
        ({"seed": -1}, "seed is -1; choose a whole number from 0 to 9,223,372,036,854,775,807"),
        ({"seed": 2**63}, f"seed is {2**63}; choose a whole number from 0 to 9,223,372,036,854,775,807"),
        ({"seed": True}, "seed is True; choose a whole number from 0 to 9,223,372,036,854,775,807"),
    ],
)
def test_settings_out_of_range_are_refused_with_the_range(setting: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError) as refused:
        SamplingOptions(**setting)
    assert str(refused.value) == what


def test_the_usual_settings_are_a_level_of_5_percent_and_100000_samples() -> None:
    usual = SamplingOptions()
    assert (usual.alpha, usual.samples, usual.seed, usual.percent) == (0.05, 100_000, 0, "95%")
