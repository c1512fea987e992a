"""The choice of a test in `compare`: what it gives, and where it is refused."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from scipy import stats

import rankproof as rp
from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.compare.significance import TESTS
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.options import CompareOptions, Test
from rankproof._cli.parser import parser_of
from rankproof._data.qrels import Qrels
from rankproof._render.comparison import render_comparison
from rankproof._render.formats import RenderOptions
from rankproof.errors import UsageError
from support.compared_systems import result_of

VALUES = np.random.default_rng(11).random((40, 4)) + np.array([0.0, 0.05, 0.2, 0.5])
NAMES = ("a", "b", "c", "d")


def compared(values: Any, test: Test, **options: Any) -> rp.types.Comparison:
    named = dict(zip(NAMES, np.asarray(values).T, strict=False))
    result = result_of({name: {"RR": column.tolist()} for name, column in named.items()})
    inputs = AnalysisInput("values", "", Qrels({}), {}, result)
    return compare_inputs(inputs, options=CompareOptions(test=test, samples=500, **options))


def pair_of(found: rp.types.Comparison, one: str, other: str) -> Any:
    return next(pair for pair in found.pairs if {pair.system, pair.other} == {one, other})


def test_the_command_offers_every_test() -> None:
    action = next(one for one in parser_of("compare")._actions if one.dest == "test")
    assert tuple(action.choices or ()) == get_args(Test) == tuple(TESTS)


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
def test_tests_of_ranks_and_signs_are_those_of_scipy_with_holm(test: Test) -> None:
    found = compared(VALUES, test)
    apart = VALUES[:, 2] - VALUES[:, 0]
    wins = int((apart > 0).sum())
    want = stats.wilcoxon(apart, method="exact") if test == "wilcoxon" else stats.binomtest(wins, len(apart))
    pair = pair_of(found, "a", "c")
    assert pair.p == pytest.approx(want.pvalue, rel=1e-9)
    assert pair.p < pair.p_adjusted <= 6 * pair.p
    assert TESTS[test].title in found.method


def test_tukey_has_simultaneous_intervals_that_agree_with_p() -> None:
    found = compared(VALUES, "tukey")
    for pair in found.pairs:
        assert pair.p == pair.p_adjusted
        assert pair.ci is not None
        assert (pair.p <= 0.05) == (not pair.ci[0] <= 0 <= pair.ci[1])
    assert "simultaneous 95% intervals of all pairs" in found.method


def test_with_a_baseline_tukey_still_covers_all_pairs() -> None:
    every = {frozenset((pair.system, pair.other)): pair.p for pair in compared(VALUES, "tukey").pairs}
    result = result_of({name: {"RR": column.tolist()} for name, column in zip(NAMES, VALUES.T, strict=True)})
    inputs = AnalysisInput("values", "", Qrels({}), {}, result)
    found = compare_inputs(inputs, baseline="a", options=CompareOptions(test="tukey", samples=500))
    assert {frozenset((pair.system, pair.other)): pair.p for pair in found.pairs}.items() <= every.items()
    assert "p adjusted: Tukey over all pairs." in render_comparison(found, RenderOptions(), details=False)


def test_one_way_tukey_is_that_of_scipy() -> None:
    want = stats.tukey_hsd(*VALUES.T).pvalue
    found = compared(VALUES, "tukey-one-way")
    assert pair_of(found, "a", "d").p == pytest.approx(want[0, 3], abs=1e-10)


def test_no_pair_is_significant_by_nemenyi_unless_friedman_is() -> None:
    found = compared(VALUES, "friedman")
    whole = stats.friedmanchisquare(*VALUES.T)
    assert all(pair.p_adjusted == pytest.approx(max(pair.p, whole.pvalue)) for pair in found.pairs)
    assert any(f"chi-square {whole.statistic:.4g}, 3 degrees of freedom" in note for note in found.notes)


def test_a_test_that_contradicts_the_mean_gives_no_verdict() -> None:
    # The first system wins on 25 of 30 queries by a little, and loses on 5 by a lot: its mean is lower.
    values = np.zeros((30, 2))
    values[:25, 0], values[25:, 1] = 0.01, 0.9
    found = compared(values, "sign")
    (pair,) = found.pairs
    assert pair.p_adjusted < 0.05
    assert pair.verdict == "not significant"
    assert "the sign test and the mean disagree on which system is better (1 significant test): no verdict" in found.notes


def test_effect_sizes_are_cohen_s_and_hedges_own() -> None:
    pair: Any = compared(VALUES[:10, :2], "t").pairs[0]
    apart = VALUES[:10, 1] - VALUES[:10, 0]
    apart = apart if pair.system == "b" else -apart
    assert pair.effect == pytest.approx(apart.mean() / apart.std(ddof=1))
    # J(9) = Gamma(4.5) / (sqrt(4.5) Gamma(4)) = 0.91387.
    assert pair.unbiased_effect == pytest.approx(0.9138746 * pair.effect, rel=1e-6)
    assert pair.swapped().unbiased_effect == -pair.unbiased_effect


def test_two_queries_have_no_hedges_g() -> None:
    (pair,) = compared(VALUES[:2, :2], "t").pairs
    assert pair.effect is not None
    assert pair.unbiased_effect is None


@pytest.mark.parametrize(
    ("values", "test", "message"),
    [
        (VALUES[:, :2], "tukey", 'test="tukey" needs 3 systems, and there are 2; use test="t", which is the same test'),
        (VALUES[:, :2], "friedman", 'test="friedman" needs 3 systems, and there are 2; use test="sign"'),
        (VALUES[:9], "friedman", 'test="friedman" needs 10 queries for its approximation, and there are 9; use test="randomis'),
        (VALUES[:5], "wilcoxon", 'test="wilcoxon" is never significant with 5 queries at alpha 0.05; compare at least 6 queries'),
        (VALUES[:5], "sign", 'test="sign" is never significant with 5 queries at alpha 0.05; compare at least 6 queries'),
        (
            VALUES[:, :1] + np.array([0, 0.1, 0.2]),
            "tukey",
            'test="tukey" has no variance: by RR the systems differ by the same amount on every query; use test="randomisation"',
        ),
    ],
)
def test_a_test_that_does_not_apply_is_refused_with_one_that_does(values: Any, test: Test, message: str) -> None:
    with pytest.raises(UsageError) as error:
        compared(values, test)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("test", [name for name in TESTS if name not in ("randomisation", "t")])
def test_weights_of_queries_are_refused_by_tests_that_have_none(test: Test) -> None:
    qrels = {f"q{at:02}": {"d": 1} for at in range(12)}
    runs = {name: {query: {"d": 1.0} for query in qrels} for name in NAMES}
    with pytest.raises(UsageError, match='has no weights of queries; use test="randomisation"'):
        rp.compare(qrels, runs, ["RR"], test=test, weights={query: 1.0 + at for at, query in enumerate(qrels)})


def test_a_test_of_all_pairs_takes_no_other_correction_equivalence_or_interval() -> None:
    for option, fix in (
        ({"correction": "bh"}, "leave out correction="),
        ({"equivalence": 0.01}, "leave out equivalence="),
        ({"interval": "bca"}, "leave out interval="),
    ):
        with pytest.raises(UsageError, match=fix):
            CompareOptions(test="tukey", **option)


def test_equal_systems_are_the_same_by_every_test() -> None:
    for test in TESTS:
        found = compared(np.repeat(VALUES[:, :1], 3, axis=1), test)
        assert {pair.verdict for pair in found.pairs} == {"same"}
        assert all(pair.p == 1.0 for pair in found.pairs)
