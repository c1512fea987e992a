"""The paired t-test, equivalence, effect size and power against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankproof._data.arrays import FloatArray
from rankproof._statistics.paired import (
    best_kernel,
    detectable_difference,
    differences,
    equivalence_p,
    pair_statistics,
    paired_statistics,
    pass_all,
    pass_at,
    queries_needed,
    t_test_p,
)

VALUES = st.lists(st.tuples(st.sampled_from([0, 0.2, 0.5, 1 / 3, 1]), st.floats(0, 1)), min_size=2, max_size=40)


def two(pairs: list[tuple[float, float]]) -> tuple[FloatArray, FloatArray]:
    return np.array([one for one, _ in pairs]), np.array([other for _, other in pairs])


@pytest.mark.parametrize("n", [2, 3, 10, 50, 225, 6980])
def test_the_t_test_equals_scipy_to_the_twelfth_digit(n: int) -> None:
    random = np.random.default_rng(n)
    for shift in (0.0, 0.01, 0.1, 0.3):
        one, other = random.random(n) + shift, random.random(n)
        seen = paired_statistics(differences(one, other))
        assert t_test_p(seen) == pytest.approx(stats.ttest_rel(one, other).pvalue, abs=1e-12)
        assert seen.mean == pytest.approx(float((one - other).mean()), abs=1e-15)
        assert seen.deviation == pytest.approx(float((one - other).std(ddof=1)), rel=1e-12)


def test_equivalence_is_two_one_sided_t_tests() -> None:
    random = np.random.default_rng(5)
    for shift in (-0.05, -0.01, 0.0, 0.01, 0.03, 0.2):
        apart = random.normal(shift, 0.05, 60)
        below = stats.ttest_1samp(apart, -0.03, alternative="greater").pvalue
        above = stats.ttest_1samp(apart, 0.03, alternative="less").pvalue
        assert equivalence_p(paired_statistics(apart), 0.03) == pytest.approx(max(below, above), abs=1e-12)


@pytest.mark.skipif(best_kernel() == "numpy", reason="the native statistics were not built")
@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from([2, 3, 7, 8, 9, 64, 65, 200]),
    kind=st.sampled_from(["uniform", "steps", "equal", "tiny", "large", "shifted"]),
)
def test_many_pairs_in_c_have_the_bits_of_one_after_the_other(seed: int, size: int, kind: str) -> None:
    draws = np.random.default_rng(seed)
    kinds: dict[str, FloatArray] = {
        "uniform": draws.random((size, 5)),
        "steps": np.asarray(draws.integers(0, 4, (size, 5)) / 3, np.float64),
        "equal": np.repeat(draws.random((1, 5)), size, axis=0),
        "tiny": np.asarray(0.1 + draws.integers(-2, 3, (size, 5)) * 2.0**-56, np.float64),
        "large": draws.normal(size=(size, 5)) * 10.0 ** draws.integers(-18, 19, (size, 5)),
        "shifted": draws.random((size, 1)) + np.arange(5) / 10,
    }
    values = kinds[kind]
    pairs = [(first, second) for first in range(5) for second in range(5)]
    native, plain = (pair_statistics(values, pairs, kernel=kernel) for kernel in ("native", "numpy"))
    assert repr(native) == repr(plain)
    assert len(native[0]) == 25


@given(VALUES)
def test_swapping_the_systems_changes_signs_and_no_p(pairs: list[tuple[float, float]]) -> None:
    one, other = two(pairs)
    there, back = paired_statistics(differences(one, other)), paired_statistics(differences(other, one))
    assert back.mean == -there.mean
    assert (back.wins, back.ties, back.losses) == (there.losses, there.ties, there.wins)
    assert t_test_p(back) == t_test_p(there)
    assert equivalence_p(back, 0.1) == equivalence_p(there, 0.1)
    assert 0 <= (t_test_p(there) or 0.0) <= 1


@given(VALUES, st.randoms())
def test_the_order_of_differences_changes_no_bit(pairs: list[tuple[float, float]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert paired_statistics(differences(*two(shuffled))) == paired_statistics(differences(*two(pairs)))


def test_a_rounding_error_is_a_tie() -> None:
    one, other = np.array([0.1 + 0.2, 0.5, 1.0]), np.array([0.3, 0.5, 1.0])
    seen = paired_statistics(differences(one, other))
    assert (seen.mean, seen.ties, t_test_p(seen), seen.effect) == (0.0, 3, 1.0, 0.0)


def test_equal_differences_have_no_variance() -> None:
    seen = paired_statistics(np.full(7, 0.1))
    assert (seen.mean, seen.deviation, seen.effect, t_test_p(seen)) == (0.1, 0.0, None, None)
    assert equivalence_p(seen, 0.2) == equivalence_p(seen, 0.05) == 1.0


def test_differences_that_are_equal_up_to_rounding_have_no_variance() -> None:
    base = np.random.default_rng(0).random(30)
    there, back = paired_statistics(differences(base + 0.1, base)), paired_statistics(differences(base, base + 0.1))
    assert there.deviation == 0
    assert t_test_p(there) is None
    assert back.mean == -there.mean == pytest.approx(-0.1)


def test_the_effect_is_the_mean_in_standard_deviations() -> None:
    assert paired_statistics(np.array([1.0, 2.0, 3.0])).effect == pytest.approx(2.0)


@pytest.mark.parametrize("n", [15, 30, 100, 1000])
@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_the_detectable_difference_has_a_power_of_80_percent(n: int, alpha: float) -> None:
    gain = detectable_difference(1.0, n, alpha)
    assert gain is not None
    least = stats.t.ppf(1 - alpha / 2, n - 1)
    assert stats.nct.sf(least, n - 1, gain * np.sqrt(n)) == pytest.approx(0.8, abs=0.02)


def test_as_many_queries_as_needed_detect_the_difference() -> None:
    for difference in (0.001, 0.02, 0.5):
        n = queries_needed(difference, 0.1, 0.05)
        assert n is not None
        assert (detectable_difference(0.1, n, 0.05) or 0) <= difference
        assert n == 2 or (detectable_difference(0.1, n - 1, 0.05) or 1) > difference


def test_a_difference_of_0_is_never_confirmed_and_few_queries_detect_nothing() -> None:
    assert queries_needed(0.0, 0.1, 0.05) is None
    assert detectable_difference(0.1, 2, 0.001) is None


def test_differences_that_cancel_have_a_mean_of_0() -> None:
    assert paired_statistics(np.array([0.3, -0.1, -0.2])).mean == 0.0


@pytest.mark.parametrize("n", [2, 3, 4, 10, 100])
def test_a_detectable_difference_needs_as_many_queries_as_detect_it(n: int) -> None:
    gain = detectable_difference(0.1, n, 0.05)
    assert gain is not None
    assert queries_needed(1.0001 * gain, 0.1, 0.05) == n
    assert n == 2 or queries_needed(0.9999 * gain, 0.1, 0.05) == n + 1
    assert detectable_difference(0.1, 1, 0.05) is None


def test_pass_at_k_and_pass_all_k_by_hand() -> None:
    """Two of four answers are right: of the six pairs, five have a right one and one has two."""
    assert [pass_at(2, 4, k) for k in (1, 2, 3, 4)] == pytest.approx([1 / 2, 5 / 6, 1, 1])
    assert [pass_all(2, 4, k) for k in (1, 2, 3, 4)] == pytest.approx([1 / 2, 1 / 6, 0, 0])
