"""Pairs of systems: which one comes first, what each is tested with, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest
from scipy import stats

from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.compare.pairs import (
    PairComparison,
    Verdict,
    compare_named_pairs,
    compare_pairs,
    observe_pairs,
    swapped,
    system_means,
)
from rankproof._analysis.options import CompareOptions
from rankproof._data.arrays import FloatArray
from rankproof._statistics.intervals import bootstrap_interval, mean_interval, resampled_means
from rankproof._statistics.paired import CORRECTIONS, detectable_difference, holm_of_two, queries_needed
from rankproof._statistics.permutation import fewest_queries, randomisation_p
from rankproof.errors import UsageError
from rankproof.measures import parse_measure

NAMES = ("a", "b", "c", "d")
RANDOM = np.random.default_rng(7).random((40, 4))


def joined_of(values: Any, *measures: str, weights: Sequence[float] | None = None) -> JoinedValues:
    """Values by query and system, the same ones for each measure."""
    rows = np.asarray(values, np.float64)
    parsed = tuple(parse_measure(measure) for measure in measures or ("nDCG@10",))
    queries = tuple(f"q{at:02}" for at in range(len(rows)))
    own = None if weights is None else np.array(weights)
    return JoinedValues(queries, NAMES[: rows.shape[1]], parsed, np.stack([rows] * len(parsed)), (), own)


def compared(
    values: Any, baseline: str | None = None, weights: Sequence[float] | None = None, **options: Any
) -> list[PairComparison]:
    return compare_pairs(joined_of(values, weights=weights), baseline, CompareOptions(**{"samples": 500, **options}))


def names(pairs: Sequence[PairComparison]) -> list[tuple[str, str]]:
    return [(pair.observed.one, pair.observed.other) for pair in pairs]


@pytest.mark.parametrize(
    ("first", "second", "measure", "expected"),
    [
        ([0.2, 0.4], [0.1, 0.4], "nDCG@10", ("a", "b")),
        ([0.1, 0.4], [0.2, 0.4], "nDCG@10", ("b", "a")),
        ([0.2, 0.4], [0.1, 0.4], "Hallucination", ("b", "a")),
        ([0.1, 0.4], [0.2, 0.4], "Hallucination", ("a", "b")),
        ([0.2, 0.4], [0.4, 0.2], "nDCG@10", ("a", "b")),
        ([0.2, 0.4], [0.4, 0.2], "Hallucination", ("a", "b")),
        # The means are equal after rounding; the sum of the differences is exact.
        ([1.0, 0.0, 0.0], [1.0, 1e-17, 0.0], "nDCG@10", ("b", "a")),
        ([1.0, 0.0, 0.0], [1.0, 1e-17, 0.0], "Hallucination", ("a", "b")),
    ],
)
def test_the_better_system_of_a_pair_comes_first(
    first: list[float], second: list[float], measure: str, expected: tuple[str, str]
) -> None:
    joined = joined_of(np.column_stack([first, second]), measure)
    assert names(compare_pairs(joined, None, CompareOptions(samples=500))) == [expected]


def test_a_baseline_is_the_second_system_of_each_pair_of_each_measure() -> None:
    joined = joined_of(RANDOM, "nDCG@10", "RR")
    pairs = compare_pairs(joined, "c", CompareOptions(samples=500))
    assert names(pairs) == [("a", "c"), ("b", "c"), ("d", "c")] * 2
    assert [str(pair.observed.measure) for pair in pairs] == ["nDCG@10"] * 3 + ["RR"] * 3


def test_named_pairs_are_compared_in_their_order_without_systems_that_are_left_out() -> None:
    joined = joined_of(RANDOM[:, :3], "nDCG@10", "RR")
    named = [("c", "a"), ("d", "a"), ("a", "d"), ("a", "b")]
    pairs = compare_named_pairs(joined, named, CompareOptions(samples=500))
    assert names(pairs) == [("c", "a"), ("a", "b")] * 2
    assert [str(pair.observed.measure) for pair in pairs] == ["nDCG@10"] * 2 + ["RR"] * 2


def test_each_pair_has_the_means_and_the_tests_of_its_two_systems() -> None:
    weights = np.linspace(1.0, 2.0, 40)
    joined = joined_of(RANDOM, weights=weights.tolist())
    means = [float(np.average(column, weights=weights)) for column in RANDOM.T]
    assert system_means(joined)[0] == pytest.approx(means)
    flips = randomisation_p(RANDOM * (weights / weights.mean())[:, None], 500, 0)
    for pair in compare_pairs(joined, "b", CompareOptions(samples=500)):
        own, other = NAMES.index(pair.observed.one), NAMES.index(pair.observed.other)
        assert (pair.observed.value, pair.observed.other_value) == pytest.approx((means[own], means[other]))
        assert pair.observed.differences.mean == pytest.approx(means[own] - means[other])
        assert pair.observed.randomisation_p == pair.observed.p == flips[own, other]


def test_the_t_test_of_unweighted_queries_is_that_of_scipy() -> None:
    for pair in compared(RANDOM, "b", test="t"):
        own, other = RANDOM[:, NAMES.index(pair.observed.one)], RANDOM[:, NAMES.index(pair.observed.other)]
        wanted = stats.ttest_rel(own, other)
        assert pair.observed.p == pair.observed.t_p == pytest.approx(wanted.pvalue, abs=1e-12)
        assert pair.observed.interval == pytest.approx(tuple(wanted.confidence_interval()), abs=1e-12)


def test_a_constant_difference_has_no_t_test_and_is_tested_by_sign_flips() -> None:
    (pair,) = compared(np.column_stack([np.full(12, 0.5), np.full(12, 0.25)]), test="t")
    assert pair.observed.t_p is None
    assert pair.observed.p == pair.observed.randomisation_p == pytest.approx(2**-11)
    assert pair.observed.interval is None


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 1.5, 40)])
def test_a_bootstrap_interval_is_that_of_the_differences(method: Any, weights: FloatArray | None) -> None:
    own = None if weights is None else weights.tolist()
    (pair,) = compared(RANDOM[:, :2], weights=own, interval=method, resamples=400, alpha=0.1, seed=3)
    apart = RANDOM[:, NAMES.index(pair.observed.one)] - RANDOM[:, NAMES.index(pair.observed.other)]
    mean = float(np.average(apart, weights=weights))
    # To first order a weighted mean is the plain mean of these values.
    centred = apart if weights is None else mean + (apart - mean) * weights / weights.mean()
    wanted = bootstrap_interval(centred, resampled_means(centred[:, None], 400, 3)[:, 0], method, 0.9)
    assert pair.observed.interval == pytest.approx(wanted)


def test_an_interval_has_the_level_of_alpha_and_stays_within_the_range_of_differences() -> None:
    (pair,) = compared(RANDOM[:, :2], alpha=0.2)
    apart = RANDOM[:, 0] - RANDOM[:, 1] if names([pair]) == [("a", "b")] else RANDOM[:, 1] - RANDOM[:, 0]
    assert pair.observed.interval == pytest.approx(mean_interval(apart, level=0.8))
    steep = np.zeros((11, 2))
    steep[1:, 0] = np.linspace(0.9, 1.0, 10)
    steep[0, 1] = 1.0
    (pair,) = compared(steep, alpha=0.001)
    assert pair.observed.interval is not None
    assert pair.observed.interval[1] == 1.0


def test_simultaneous_intervals_stay_within_the_range_of_differences() -> None:
    values = np.zeros((12, 3))
    values[:, 0], values[:, 2] = 1.0, np.linspace(0.0, 1.0, 12)
    values[0] = 0.0, 1.0, 0.0
    intervals = {names([pair])[0]: pair.observed.interval for pair in compared(values, "b", test="tukey", alpha=0.001)}
    high = intervals["a", "b"]
    assert high is not None
    assert (high[0] < 0.8, high[1]) == (True, 1.0)
    back = compare_named_pairs(joined_of(values), [("b", "a")], CompareOptions(test="tukey", alpha=0.001, samples=500))
    assert back[0].observed.interval == pytest.approx((-1.0, -high[0]))


@pytest.mark.parametrize(("test", "n"), [("randomisation", 6), ("t", 2), ("wilcoxon", 6), ("sign", 6)])
def test_power_starts_at_the_fewest_queries_with_which_the_test_can_be_significant(test: Any, n: int) -> None:
    assert (fewest_queries(0.05) if test != "t" else 2) == n
    wide = np.column_stack([np.linspace(0.5, 1.0, n), np.zeros(n)])
    (pair,) = compared(wide, test=test)
    deviation = pair.observed.differences.deviation
    assert pair.detectable == detectable_difference(deviation, n, 0.05)
    assert pair.needed == max(n, queries_needed(pair.observed.differences.mean, deviation, 0.05) or 0)
    if test == "randomisation":
        assert compared(wide[:5])[0].detectable is None
        assert compared(wide[:5])[0].needed == 6


def test_the_power_of_a_pair_is_at_the_level_that_its_family_leaves() -> None:
    for correction, level in (("holm", 0.05 / 6), ("none", 0.05), ("bonferroni", 0.05 / 6)):
        for pair in compared(RANDOM, correction=correction):
            assert pair.detectable == detectable_difference(pair.observed.differences.deviation, 40, level)
    # With `bh` each further significant pair raises the level of the others.
    shifted = RANDOM + np.array([0.0, 0.0, 2.0, 4.0])
    pairs = compared(shifted, correction="bh")
    significant = sum(pair.p <= 0.05 for pair in pairs)
    assert 0 < significant < 6
    level = 0.05 * (significant + 1) / 6
    assert pairs[0].detectable == detectable_difference(pairs[0].observed.differences.deviation, 40, level)


def test_equal_systems_need_no_queries() -> None:
    (pair,) = compared(np.column_stack([RANDOM[:, 0], RANDOM[:, 0]]))
    assert (pair.verdict, pair.needed, pair.p) == ("same", None, 1.0)


def test_equivalence_is_one_family_with_the_differences_by_holm_and_another_one_else() -> None:
    near = np.column_stack([np.full(40, 0.5), 0.5 + RANDOM[:, 0] / 50, 0.5 + RANDOM[:, 1] / 100])
    for correction in ("holm", "bh", "bonferroni"):
        pairs = compared(near, "a", correction=correction, equivalence=0.01)
        p = np.array([pair.observed.p for pair in pairs])
        margins = np.array([pair.observed.equivalence_p for pair in pairs], np.float64)
        correct = CORRECTIONS[correction]
        wanted = holm_of_two(p, margins) if correction == "holm" else (correct(p), correct(margins))
        assert [pair.p for pair in pairs] == wanted[0].tolist()
        assert [pair.equivalence_p for pair in pairs] == wanted[1].tolist()
    assert {(pair.equivalence_p, pair.observed.equivalence_p) for pair in compared(near, "a")} == {(None, None)}


def test_a_significant_pair_within_the_margin_is_equivalent_and_one_beyond_it_is_better() -> None:
    small = np.column_stack([0.5 + np.linspace(0.001, 0.003, 40), np.full(40, 0.5)])
    verdicts = {margin: compared(small, equivalence=margin)[0].verdict for margin in (0.01, 0.0015)}
    assert verdicts == {0.01: "equivalent", 0.0015: "better"}


@pytest.mark.parametrize(("measure", "verdict"), [("nDCG@10", "better"), ("Hallucination", "worse")])
def test_a_higher_mean_is_better_unless_lower_is(measure: str, verdict: Verdict) -> None:
    values = np.column_stack([np.linspace(0.5, 1.0, 40), np.linspace(0.0, 0.5, 40)])
    joined = joined_of(values, measure)
    (pair,) = compare_named_pairs(joined, [("a", "b")], CompareOptions(samples=500))
    assert pair.verdict == verdict
    (back,) = compare_named_pairs(joined, [("b", "a")], CompareOptions(samples=500))
    assert back.verdict == swapped(verdict)


def test_a_p_of_exactly_alpha_is_significant() -> None:
    (pair,) = compared(np.column_stack([np.linspace(0.5, 1.0, 6), np.zeros(6)]), alpha=2**-5)
    assert (pair.p, pair.verdict) == (2**-5, "better")
    (pair,) = compared(np.column_stack([np.linspace(0.5, 1.0, 6), np.zeros(6)]), alpha=0.9 * 2**-5)
    assert pair.verdict == "not significant"


def test_a_swapped_verdict_is_that_of_the_other_system() -> None:
    opposite = {"better": "worse", "worse": "better"}
    assert {verdict: swapped(verdict) for verdict in get_args(Verdict)} == {
        verdict: opposite.get(verdict, verdict) for verdict in get_args(Verdict)
    }


def test_tests_of_ranks_see_a_pair_under_each_measure() -> None:
    joined = joined_of(RANDOM, "nDCG@10", "RR")
    observed = observe_pairs(joined, [(0, 2, 1), (1, 3, 0)], CompareOptions(test="wilcoxon", samples=500))
    for difference, (own, other) in zip(observed, ((2, 1), (3, 0)), strict=True):
        assert (difference.one, difference.other) == (NAMES[own], NAMES[other])
        wanted = stats.wilcoxon(RANDOM[:, own] - RANDOM[:, other], method="exact").pvalue
        assert difference.p == pytest.approx(wanted, rel=1e-9)


def test_more_systems_than_can_be_compared_with_each_other_need_a_baseline() -> None:
    names = tuple(f"s{at:03}" for at in range(501))
    values = np.random.default_rng(1).random((1, 30, len(names)))
    joined = JoinedValues(tuple(f"q{at}" for at in range(30)), names, (parse_measure("AP"),), values, (), None)
    with pytest.raises(UsageError, match="501 systems make 125,250 pairs; at most 500"):
        compare_pairs(joined, None, CompareOptions(samples=100))
    assert len(compare_pairs(joined, "s000", CompareOptions(samples=100))) == 500
