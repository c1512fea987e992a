"""The sign-flip permutation test: laws, comparison with scipy, and the same bits from C and numpy."""

from __future__ import annotations

import math
import os
import sys
from importlib.util import find_spec
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._statistics.deterministic import GOLDEN, StreamUse, random_words, stream_key, to_exact_sum
from rankproof._statistics.permutation import (
    MAX_EXACT_QUERIES,
    MAX_SAMPLED_QUERIES,
    _expected_sums,
    expanded_p,
    fewest_queries,
    randomisation_p,
    signed_sums,
    smallest_label_p,
    smallest_p,
    why_not_significant,
)
from support.examples import examples


@pytest.fixture
def native() -> Any:
    """The native flips; without them the test is skipped, or fails where everything is meant to be there."""
    if find_spec("rankproof._native.permutation") is None:
        (pytest.fail if os.environ.get("RANKPROOF_TESTS") == "whole" else pytest.skip)("the native flips were not built")
    from rankproof._native import permutation

    return permutation


def by_scipy(values: Any, n_resamples: float = np.inf) -> float:
    def statistic(one: Any, other: Any, axis: int) -> Any:
        # Rounded, as sums that are equal but for rounding are ties.
        return np.round(np.abs((one - other).mean(axis=axis)), 12)

    found = stats.permutation_test(
        (values[:, 0], values[:, 1]), statistic, permutation_type="samples", alternative="greater", vectorized=True,
        n_resamples=n_resamples, rng=np.random.default_rng(1),
    )  # fmt: skip
    return float(found.pvalue)


@pytest.mark.parametrize("n", range(2, MAX_EXACT_QUERIES + 1))
def test_few_queries_are_tested_exactly_as_by_scipy(n: int) -> None:
    random = np.random.default_rng(n)
    ranks, hits = random.integers(1, 5, (n, 2)).astype(np.float64), random.integers(0, 2, (n, 2)).astype(np.float64)
    for values in (random.random((n, 2)), 1 / ranks, hits):
        assert randomisation_p(values, 1, 0)[0, 1] == pytest.approx(by_scipy(values), abs=1e-15)


def test_a_textbook_example_gives_its_p() -> None:
    # Fisher's reading of Darwin's maize: 863 of 32768 flips on each side are at least as far out (Fisher 1935, section 21).
    eighths = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48])
    exact = np.abs(((np.arange(2**15)[:, None] >> np.arange(15) & 1) * 2 - 1) @ eighths) >= abs(eighths.sum())
    assert int(exact.sum()) == 1726
    p = float(randomisation_p(np.stack([eighths / 8, eighths * 0.0], 1), 200_000, 3)[0, 1])
    assert p == pytest.approx(1726 / 2**15, abs=3 * np.sqrt(0.0527 * 0.9473 / 200_000))


@pytest.mark.parametrize("n", [15, 40, 225])
def test_p_of_many_queries_is_within_three_standard_errors_of_scipy(n: int) -> None:
    random = np.random.default_rng(n)
    for shift in (0.0, 0.05, 0.1):
        values = random.random((n, 2)) + np.array([shift, 0])
        ours, theirs = float(randomisation_p(values, 20_000, 7)[0, 1]), by_scipy(values, 9_999)
        error = np.sqrt(max(theirs, 1e-3) * (1 - theirs) * (1 / 20_000 + 1 / 9_999))
        assert abs(ours - theirs) <= 3 * error


MATRIX = st.integers(2, 30).flatmap(
    lambda n: st.lists(st.lists(st.sampled_from([0, 0.1, 1 / 3, 0.5, 1]), min_size=3, max_size=3), min_size=n, max_size=n)
)


@given(MATRIX)
@examples(50)
def test_p_is_above_0_at_most_1_and_the_same_both_ways(rows: list[list[float]]) -> None:
    p = randomisation_p(np.array(rows), 500, 0)
    assert (p == p.T).all()
    assert (p > 0).all()
    assert (p <= 1).all()
    assert (np.diag(p) == 1).all()


@given(MATRIX, st.sampled_from([-3.0, 0.5, 10.0]))
@examples(50)
def test_a_constant_added_to_all_systems_changes_no_p(rows: list[list[float]], constant: float) -> None:
    values = np.array(rows)
    assert (randomisation_p(values + constant, 500, 0) == randomisation_p(values, 500, 0)).all()


@given(MATRIX)
@examples(50)
def test_other_systems_change_no_p_of_a_pair(rows: list[list[float]]) -> None:
    values = np.array(rows)
    whole_table, pair = randomisation_p(values, 500, 0), randomisation_p(values[:, 1:], 500, 0)
    assert whole_table[1, 2] == pair[0, 1]


def test_flips_that_equal_the_observed_sum_up_to_rounding_are_hits() -> None:
    # Every flip of thirds and tenths that sums to what was seen ties in arithmetic, and not in floating point.
    apart = np.array([0.1, 0.2, -0.3, 1 / 3, 1 / 6, -0.5, 0.7, 0.1, 0.2, 0.4])
    tenths = np.array([6, 12, -18, 20, 10, -30, 42, 6, 12, 24])
    sums = ((np.arange(2**10)[:, None] >> np.arange(10) & 1) * 2 - 1) @ tenths
    want = np.count_nonzero(np.abs(sums) >= abs(tenths.sum())) / 2**10
    assert randomisation_p(np.stack([apart, np.zeros(10)], 1), 1, 0)[0, 1] == want


def test_the_seed_determines_p_and_another_seed_gives_a_similar_one() -> None:
    values = np.random.default_rng(2).random((60, 2))
    first, again, other = (float(randomisation_p(values, 5_000, seed)[0, 1]) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert abs(first - other) < 4 * np.sqrt(first * (1 - first) * 2 / 5_000)


@pytest.mark.parametrize("n", [15, 63, 64, 65, 128, 300])
@pytest.mark.parametrize("columns", [1, 2, 4, 5, 12, 16, 17, 40])
def test_c_and_numpy_give_the_same_bits(native: Any, n: int, columns: int) -> None:
    values = np.random.default_rng(n * columns).normal(size=(n, columns))
    for first, count in ((0, 1), (0, 257), (1_000_003, 64)):
        numbers = to_exact_sum(values).numbers
        both = [signed_sums(numbers, 9, first, count, kernel) for kernel in ("native", "numpy")]
        assert (both[0] == both[1]).all()
    assert (randomisation_p(values, 700, 4, "native") == randomisation_p(values, 700, 4, "numpy")).all()


def test_flips_do_not_depend_on_the_block_size() -> None:
    numbers = to_exact_sum(np.random.default_rng(0).random((100, 3))).numbers
    together = signed_sums(numbers, 5, 0, 90, "numpy")
    parts = [signed_sums(numbers, 5, first, 30, "numpy") for first in (0, 30, 60)]
    assert (np.concatenate(parts, axis=1) == together).all()


@pytest.mark.parametrize(
    ("size", "columns", "first", "count", "words"),
    [
        (10, 0, 0, 1, "columns"),
        (10, 3, 0, 1, "columns"),
        (10, 5, -1, 1, "range"),
        (10, 5, 0, -1, "range"),
        (10, 5, 0, min(2**60, sys.maxsize), "range"),
        (10, min(2**40, sys.maxsize), 0, 1, "columns"),
    ],
)
def test_c_rejects_arguments_out_of_bounds(native: Any, size: int, columns: int, first: int, count: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        native.sums(np.zeros(size, np.int64), columns, 0, first, count)


def test_no_rows_or_no_flips_give_no_sums(native: Any) -> None:
    assert native.sums(np.zeros(0, np.int64), 2, 0, 0, 1) == bytes(16)
    assert native.sums(np.zeros(4, np.int64), 2, 0, 0, 0) == b""


def test_the_words_are_those_of_splitmix64() -> None:
    # The first words of seed 1234567, as the authors' own program gives them.
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert random_words(1234567, 0, 5).tolist() == known
    assert random_words(1234567, 3, 2).tolist() == known[3:]


def test_each_use_and_seed_has_its_own_stream() -> None:
    keys = {stream_key(seed, use) for seed in range(100) for use in ("flips", "resamples")}
    assert len(keys) == 200
    assert GOLDEN % 2 == 1


def test_the_stream_of_a_seed_never_changes() -> None:
    assert {use: stream_key(7, use) for use in get_args(StreamUse)} == {
        "flips": 0xB8B4C2977EABCE45,
        "resamples": 0xA65305FD338EC8FE,
        "labels": 0x8CA3CBB6CA63129B,
        "orders": 0x9AAF21D8296E1E3D,
        "normals": 0x591A5CA9608CC826,
        "gammas": 0x2EAA3ED3CD8991C6,
        "folds": 0xEA69D75D4D7F4FCE,
        "halves": 0xE6E15B9D4E1AF190,
        "grades": 0xDCF66EAFAA622652,
        "questions": 0x2644562515CF5125,
        "traffic": 0xE9A05A4D6EF14D70,
    }


def test_the_smallest_p_is_that_of_all_flips_or_of_the_samples() -> None:
    assert [smallest_p(n, 100_000) for n in (1, 2, 14)] == [1.0, 0.5, 2.0**-13]
    assert smallest_p(14, 99) == 2.0**-13
    assert (smallest_p(15, 99), smallest_p(15, 100_000)) == (0.01, 2.0**-14)
    assert smallest_label_p(5, 2, 100_000) == 0.1
    assert smallest_label_p(50, 25, 99) == 0.01


def test_a_level_needs_so_many_queries() -> None:
    for level in (0.5, 0.05, 0.01, 0.001):
        n = fewest_queries(level)
        assert smallest_p(n, 10**7) <= level < smallest_p(n - 1, 10**7)


def test_a_level_that_no_p_reaches_is_explained_with_what_helps() -> None:
    assert why_not_significant(0.01, 0.01) is None
    assert why_not_significant(0.01, 0.005) == (
        "the smallest p of this test is 0.01, and one test may need 0.005; use more samples: at least 199"
    )
    few = why_not_significant(0.0625, 0.05, n=5)
    assert few is not None
    assert few.endswith("use more queries: at least 6")
    many = why_not_significant(0.0625, 0.05, n=6)
    assert many is not None
    assert many.endswith("use more samples: at least 19")


def signed(sizes: IntArray, z: float) -> FloatArray:
    """The sizes with signs whose sum is about z standard deviations."""
    signs, total, least = np.ones(len(sizes)), int(sizes.sum()), z * math.sqrt(float((sizes**2).sum()))
    for at, size in enumerate(sizes.tolist()):
        if total - 2 * size >= least:
            signs[at], total = -1.0, total - 2 * size
    return signs * sizes


def exact_p(apart: FloatArray) -> float:
    """p over all flips of whole numbers, by adding them one at a time to the distribution of the sum."""
    sizes = np.abs(apart).astype(int)
    chances = np.zeros(2 * sizes.sum() + 1)
    chances[sizes.sum()] = 1.0
    for size in sizes.tolist():
        chances = (np.roll(chances, size) + np.roll(chances, -size)) / 2
    return min(1.0, 2 * float(chances[sizes.sum() + abs(int(apart.sum())) :].sum()))


@pytest.mark.parametrize("z", [0.3, 1.0, 1.96, 2.6, 3.5, 4.4])
@pytest.mark.parametrize("of", [[1], [1, 1, 1, 2, 2, 3], [2, 4], [3, 7, 11]])
def test_the_expansion_equals_the_exact_p(of: list[int], z: float) -> None:
    apart = signed(np.random.default_rng(1).choice(of, 1_000), z)
    for unit in (1.0, 0.1, 1 / 3):
        assert expanded_p(apart * unit) == pytest.approx(exact_p(apart), rel=1e-3)


def test_the_expansion_does_not_depend_on_the_unit_of_the_differences() -> None:
    apart = signed(np.random.default_rng(1).choice([1, 2, 3], 200), 1.5)
    for unit in (0.5, 0.125, 4.0):
        assert expanded_p(apart * unit) == pytest.approx(expanded_p(apart), rel=1e-13)


def test_the_expansion_of_twenty_thousand_differences_equals_the_binomial_p_to_seven_digits() -> None:
    for wins in (10_010, 10_139, 10_250):
        apart = np.repeat([0.2, -0.2], [wins, 20_000 - wins])
        assert expanded_p(apart) == pytest.approx(2 * stats.binom.sf(wins - 1, 20_000, 0.5), rel=1e-7)


@pytest.mark.parametrize("gain", [0.0, 0.004, 0.01])
def test_the_expansion_equals_a_long_run_of_flips(gain: float) -> None:
    values = np.random.default_rng(2).normal(0, 0.25, 3_000) + gain
    flips = 500_000
    p = float(randomisation_p(np.column_stack([values, np.zeros(3_000)]), flips, 0)[0, 1])
    assert expanded_p(values) == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / flips))


def test_many_queries_of_which_few_differ_are_flipped() -> None:
    values = np.zeros((MAX_SAMPLED_QUERIES + 1, 2))
    values[:12, 0] = np.arange(1.0, 13.0)
    assert randomisation_p(values, 1_000, 0)[0, 1] == 2 / 2**12


def test_many_queries_of_which_one_dominates_are_flipped() -> None:
    apart = np.resize([1.0, -1.0], MAX_SAMPLED_QUERIES + 11)
    apart[0] += 1e6
    assert randomisation_p(np.column_stack([apart, np.zeros(len(apart))]), 1_000, 0)[0, 1] == pytest.approx(0.5, abs=0.06)
    assert expanded_p(apart) == pytest.approx(2 * stats.norm.sf(1), abs=0.1)


def test_p_of_many_queries_is_never_below_that_of_the_samples_nor_above_1() -> None:
    random = np.random.default_rng(0)
    base = random.normal(0, 1, MAX_SAMPLED_QUERIES + 10)
    values = np.column_stack([base, base + random.normal(0.5, 1, len(base)), base, -base + 2 * base.mean()])
    p = randomisation_p(values, 999, 0)
    assert p[0, 1] == p[1, 0] == 0.001
    assert p[0, 2] == p[0, 0] == 1.0
    assert p[0, 3] == pytest.approx(1.0, abs=1e-9)


def test_p_changes_little_where_flips_give_way_to_the_expansion() -> None:
    random = np.random.default_rng(4)
    ranks = random.geometric([0.35, 0.36], (MAX_SAMPLED_QUERIES + 1, 2))
    values = np.where(ranks <= 10, 1 / ranks, 0.0)
    flipped, expanded = (randomisation_p(values[:n], 100_000, 0)[0, 1] for n in (MAX_SAMPLED_QUERIES, MAX_SAMPLED_QUERIES + 1))
    assert expanded == pytest.approx(flipped, abs=0.01)


@given(st.integers(2, 7), st.sampled_from([5, 12, 40]), st.integers(0, 1_000), st.data())
def test_the_p_of_a_wanted_pair_does_not_depend_on_which_other_pairs_are_wanted(
    systems: int, queries: int, seed: int, data: st.DataObject
) -> None:
    values = np.random.default_rng(seed).integers(0, 5, (queries, systems)) / 4
    chosen = data.draw(st.lists(st.tuples(st.integers(0, systems - 1), st.integers(0, systems - 1)), max_size=4))
    wanted = np.zeros((systems, systems), np.bool_)
    for first, second in chosen:
        wanted[first, second] = wanted[second, first] = True
    p, whole = randomisation_p(values, 300, 1, wanted=wanted), randomisation_p(values, 300, 1)
    assert (p[wanted] == whole[wanted]).all()
    assert (p[~wanted] == 1).all()


@given(numbers=st.lists(st.integers(-(2**30), 2**30), min_size=2, max_size=12), size=st.integers(1, 11))
def test_the_expected_sum_of_a_segment_is_rounded_to_the_nearest_integer(numbers: list[int], size: int) -> None:
    (expected,) = _expected_sums(np.array(numbers)[:, None], [size])[0]
    assert abs(2 * (int(expected) * len(numbers) - size * sum(numbers))) <= len(numbers)
