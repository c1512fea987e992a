"""Overlap of rankings without judgements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._analysis.overlap import overlap_table, rankings_table
from rankproof._statistics.rank_correlation import rank_biased_overlap
from support.small_results import small_results

RANKINGS = st.lists(st.integers(0, 12).map(str), max_size=9, unique=True)


def summed_agreement(one: Sequence[str], other: Sequence[str], p: float) -> float:
    """RBO as the infinite sum of its definition, with the agreement that the paper assumes beyond the ends."""
    short, long = sorted((one, other), key=len)
    at_short_end = len({*short} & {*long[: len(short)]})
    total = 0.0
    for depth in range(1, 2000):
        seen = len({*short[:depth]} & {*long[:depth]})
        if depth > len(short):
            beyond = min(depth, len(long)) - len(short)
            seen_share = (seen + at_short_end * beyond / len(short)) / min(depth, len(long))
        else:
            seen_share = seen / depth
        total += (1 - p) * p ** (depth - 1) * seen_share
    return total


@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
@given(one=RANKINGS.filter(bool), other=RANKINGS.filter(bool))
def test_rbo_is_the_sum_of_the_definition_with_extrapolated_agreement(one: list[str], other: list[str], p: float) -> None:
    assert rank_biased_overlap(one, other, p) == pytest.approx(summed_agreement(one, other, p), abs=1e-9)


@given(one=RANKINGS, other=RANKINGS)
def test_rbo_is_symmetric_and_between_0_and_1(one: list[str], other: list[str]) -> None:
    found = rank_biased_overlap(one, other)
    assert found == pytest.approx(rank_biased_overlap(other, one))
    assert -1e-12 <= found <= 1 + 1e-12


@given(RANKINGS.filter(bool))
def test_equal_rankings_have_rbo_1_and_disjoint_ones_0(one: list[str]) -> None:
    assert rank_biased_overlap(one, one) == pytest.approx(1)
    assert rank_biased_overlap(one, [f"other {doc}" for doc in one]) == 0
    assert rank_biased_overlap(one, []) == 0


def test_the_first_ten_ranks_have_86_percent_of_the_weight_at_p_09() -> None:
    """Webber, Moffat and Zobel (2010), section 4.2: p = 0.9 gives the first 10 ranks 86% of the weight."""
    p, depth = 0.9, 10
    harmonic = sum(p**i / i for i in range(1, depth))
    weight = 1 - p ** (depth - 1) + (1 - p) / p * depth * (math.log(1 / (1 - p)) - harmonic)
    assert weight == pytest.approx(0.8556, abs=5e-5)


def test_each_pair_of_systems_has_its_overlap_most_alike_first() -> None:
    scores = {"a": {"q1": {"x": 3.0, "y": 2.0}}, "b": {"q1": {"x": 3.0, "y": 2.0}}, "c": {"q1": {"y": 3.0, "z": 2.0}}}
    results = small_results(("a", "b", "c"), ("q1", "q2"), ("x", "y"), scores=scores)
    table = overlap_table(results)
    assert table is not None
    assert [row[:2] for row in table.rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert list(table.rows[0][2:]) == [pytest.approx(1), 2, 1]
    assert list(table.rows[1][2:]) == [pytest.approx(rank_biased_overlap("xy", "yz")), 1, 0]
    assert table.sentences == ("a and b have the same rankings.",)


def test_rankings_are_counted_with_the_queries_that_retrieve_nothing() -> None:
    scores = {"a": {"q1": {"x": 3.0, "y": 2.0}}}
    table = rankings_table(small_results(("a",), ("q1", "q2"), ("x", "y"), scores=scores))
    assert [(record["documents"], record["empty"]) for record in table.records()] == [(1.0, 1)]
    assert table.sentences == (
        "a retrieves nothing for 1 of 2 queries.",
        "Latency: 2 queries, asked one at a time after a warm-up.",
    )


def test_one_system_has_no_overlap() -> None:
    assert overlap_table(small_results(("a",))) is None
