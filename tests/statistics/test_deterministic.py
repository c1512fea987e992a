"""Random words, variates, logarithms and exact sums that have the same bits on every machine."""

from __future__ import annotations

import math
import sys
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from rankproof._statistics.deterministic import (
    StreamUse,
    VariateStream,
    log,
    products,
    random_words,
    stream_key,
    to_exact_sum,
)

SEEDS = [0, 1, 1234567, 2**63 - 1, 2**64 - 1]


def test_words_are_those_of_splitmix64() -> None:
    """The first words of seed 1234567 as published with implementations of the generator (Rosetta Code, "Splitmix64")."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert random_words(1234567, 0, 5).tolist() == published


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**62), st.integers(0, 40), st.integers(0, 40))
def test_words_can_be_read_from_any_index_on(key: int, first: int, skipped: int, count: int) -> None:
    whole = random_words(key, first, skipped + count)
    assert random_words(key, first + skipped, count).tolist() == whole[skipped:].tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_each_use_of_a_seed_has_a_word_of_its_own_as_key(seed: int) -> None:
    """The words of the generator that is seeded with the first word of the seed, in the order of the uses."""
    uses: tuple[StreamUse, ...] = get_args(StreamUse)
    (first,) = random_words(seed, 0, 1).tolist()
    assert [stream_key(seed, use) for use in uses] == random_words(first, 0, len(uses)).tolist()


def test_uniform_variates_are_the_upper_53_bits_of_the_words_in_turn() -> None:
    stream = VariateStream(7, "normals")
    words = random_words(stream_key(7, "normals"), 0, 8).tolist()
    drawn = [*stream.uniforms(5).tolist(), *stream.uniforms(3).tolist()]
    assert drawn == [(word >> 11) / 2**53 for word in words]


def test_normal_variates_have_the_normal_distribution_and_continue_where_the_last_ones_ended() -> None:
    stream = VariateStream(1, "normals")
    first, second = stream.normals(20_000), stream.normals(50_000)
    for drawn in (first, second):
        assert stats.kstest(drawn, "norm").pvalue > 0.001
    assert (len(first), len(second)) == (20_000, 50_000)
    assert not set(first.tolist()) & set(second.tolist())
    # Neighbours come from one point of the plane, and are independent all the same.
    assert abs(np.corrcoef(first[::2], first[1::2])[0, 1]) < 0.03


def test_normal_variates_of_a_seed_are_the_points_of_the_polar_method() -> None:
    """Marsaglia and Bray (1964): points of the square that lie in the circle, each with two variates."""
    words = random_words(stream_key(3, "normals"), 0, 1 << 15)
    across, up = (words >> np.uint64(11)).astype(np.float64).reshape(2, -1) / 2**52 - 1
    wanted: list[float] = []
    for point in zip(across[:200].tolist(), up[:200].tolist(), strict=True):
        square = point[0] ** 2 + point[1] ** 2
        if 0 < square < 1:
            wanted += (side * math.sqrt(-2 * math.log(square) / square) for side in point)
    assert VariateStream(3, "normals").normals(100).tolist() == pytest.approx(wanted[:100], rel=1e-14)


@pytest.mark.parametrize("freedom", [2.0, 2.5, 3.0, 7.3, 40.0, 500.0])
def test_chi_square_variates_have_their_distribution(freedom: float) -> None:
    drawn = VariateStream(2, "gammas").chi_squares(20_000, freedom)
    assert len(drawn) == 20_000
    assert stats.kstest(drawn, stats.chi2(freedom).cdf).pvalue > 0.001


@pytest.mark.parametrize("freedom", [0.5, 1.0, 1.99])
def test_below_two_degrees_of_freedom_chi_square_variates_are_squares_of_normal_ones(freedom: float) -> None:
    drawn = VariateStream(2, "gammas").chi_squares(500, freedom)
    assert drawn.tolist() == (VariateStream(2, "gammas").normals(500) ** 2).tolist()


def test_logarithms_are_those_of_the_library_to_the_last_digits() -> None:
    values = np.concatenate([np.geomspace(1e-300, 1e300, 2_001), np.linspace(0.5, 2.0, 1_001), [math.sqrt(0.5), 5e-324]])
    assert log(values).tolist() == pytest.approx([math.log(value) for value in values.tolist()], rel=4e-16, abs=4e-16)
    assert log(np.array([1.0])).tolist() == [0.0]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
@example([5e-324])
def test_an_exact_sum_rounds_each_value_to_the_unit_of_the_largest(values: list[float]) -> None:
    exact = to_exact_sum(np.array([values]).T)
    largest = max(map(abs, values)) or 1.0
    assert 2**47 <= largest / exact.unit <= 2**48 or exact.unit == sys.float_info.min
    assert math.frexp(exact.unit)[0] == 0.5
    assert np.abs(exact.numbers[:, 0] * exact.unit - values).max() <= exact.unit / 2
    assert exact.rounding_slack == 2 * len(values)


@pytest.mark.parametrize(("n", "bits"), [(1_023, 48), (1_024, 47), (2_047, 47), (2_048, 46)])
def test_the_unit_of_many_values_keeps_their_sum_below_58_bits(n: int, bits: int) -> None:
    values = np.full((n, 1), 1.0 - 2**-50)
    exact = to_exact_sum(values)
    assert exact.unit == 2.0**-bits
    assert int(np.abs(exact.numbers).sum()) < 2**58


def test_an_exact_sum_of_differences_has_the_unit_of_the_values() -> None:
    values, against = np.array([[3.0, 1.0], [0.5, 2.0]]), np.array([[1.0], [2.0]])
    exact = to_exact_sum(values, against)
    assert exact.unit == to_exact_sum(values).unit == 2.0**-46
    assert (exact.numbers * exact.unit).tolist() == [[2.0, 0.0], [-1.5, 0.0]]
    assert to_exact_sum(np.zeros((2, 1))).numbers.tolist() == [[0], [0]]


@given(st.lists(st.integers(-(2**48), 2**48), min_size=6, max_size=6), st.lists(st.integers(0, 200), min_size=6, max_size=6))
def test_products_of_small_and_large_integers_are_exact(numbers: list[int], rows: list[int]) -> None:
    columns = np.array(numbers, np.int64).reshape(3, 2)
    found = products(np.array(rows, np.float64).reshape(2, 3), columns)
    wanted = [[sum(rows[3 * row + at] * numbers[2 * at + column] for at in range(3)) for column in range(2)] for row in range(2)]
    assert found.tolist() == wanted
