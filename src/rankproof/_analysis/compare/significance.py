"""The tests of `compare`: what each one tests, when to use it, when it is refused, and its p for each pair of systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankproof._analysis.options import Test
from rankproof._data.arrays import FloatArray
from rankproof._data.text import pluralise
from rankproof._statistics.paired import differences
from rankproof._statistics.permutation import fewest_queries
from rankproof.errors import UsageError
from rankproof.measures._base import Measure

if TYPE_CHECKING:
    from rankproof._analysis.compare.joined_values import JoinedValues


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A test of `compare`.

    `title` is its name in the method, `short` in a legend. `tests` is its null hypothesis and `use` when to choose it.
    `all_pairs` is the name of the correction if one test covers all pairs. `fewer_systems` and `fewer_queries` say what to use
    if there are too few.
    """

    title: str
    short: str
    tests: str
    use: str
    source: str
    all_pairs: str | None = None
    least_systems: int = 2
    least_queries: int = 2
    fewer_systems: str = ""
    fewer_queries: str = ""


WEIGHTED_TESTS: tuple[Test, ...] = ("randomisation", "t")
"""The tests of means, which queries may have weights in."""
TESTS: Mapping[Test, SignificanceTest] = {
    "randomisation": SignificanceTest(
        "sign-flip randomisation test",
        "sign-flip test",
        "both systems have the same distribution of values, so a difference may have either sign",
        "by default: it tests the mean and assumes no distribution of the differences",
        "Fisher 1935; Smucker, Allan and Carterette 2007",
    ),
    "t": SignificanceTest(
        "paired t-test",
        "paired t-test",
        "the mean difference is 0",
        "where p should not depend on samples, or to reproduce a t-test; nearly the same p as randomisation from 30 queries on",
        "Student 1908",
    ),
    "wilcoxon": SignificanceTest(
        "Wilcoxon signed-rank test",
        "Wilcoxon signed-rank test",
        "the differences are symmetric about 0",
        "if a few large differences must not decide, as with unbounded measures; it does not test the mean",
        "Wilcoxon 1945",
    ),
    "sign": SignificanceTest(
        "sign test",
        "sign test",
        "a win and a loss are equally likely",
        "if only the direction of a difference has a meaning, as with preferences; it does not test the mean and has low power",
        "Arbuthnot 1710",
    ),
    "tukey": SignificanceTest(
        "Tukey's HSD with queries as blocks",
        "Tukey's HSD",
        "all systems have the same mean",
        "for all pairs of three or more systems, if residuals have about the same variance for all systems",
        "Tukey 1953; Carterette 2012",
        all_pairs="Tukey",
        least_systems=3,
        fewer_systems="use --test t, which is the same test for two systems",
    ),
    "tukey-one-way": SignificanceTest(
        "Tukey's HSD, one-way",
        "Tukey's HSD (one-way)",
        "all systems have the same mean",
        "only to reproduce scipy, statsmodels or ranx: it treats values of the same query as independent, so it has low power",
        "Tukey 1953",
        all_pairs="Tukey",
    ),
    "friedman": SignificanceTest(
        "Friedman's test, then Nemenyi's test of each pair",
        "Nemenyi test",
        "every order of the systems within a query is equally likely",
        "for three or more systems, if values of different queries are not comparable; it tests mean ranks, not means",
        "Friedman 1937; Nemenyi 1963; Demšar 2006",
        all_pairs="Nemenyi",
        least_systems=3,
        least_queries=10,
        fewer_systems="use --test sign, which is the test of ranks for two systems",
        fewer_queries="use --test randomisation, which is exact for few queries",
    ),
}


class TestedPair(NamedTuple):
    """p of a pair; `corrected` is p for all pairs and `margin` half the width of their intervals, where the test gives them.

    `ahead` has the sign of the difference that is tested; 0 if that is the mean difference.
    """

    p: float
    ahead: float = 0.0
    corrected: float | None = None
    margin: float | None = None


def check_applies(joined: JoinedValues, test: Test, alpha: float) -> None:
    """Refuses a test that does not apply to these systems and queries."""
    about, systems, n = TESTS[test], len(joined.systems), len(joined.queries)
    if test in WEIGHTED_TESTS:
        return
    if joined.weights is not None:
        raise UsageError(f"--test {test} has no weights of queries", fix="use --test randomisation, or leave out the weights")
    if systems < about.least_systems:
        raise UsageError(f"--test {test} needs {about.least_systems} systems, and there are {systems}", fix=about.fewer_systems)
    if n < about.least_queries:
        what = f"--test {test} needs {about.least_queries} queries for its approximation, and there are {n}"
        raise UsageError(what, fix=about.fewer_queries)
    if test in ("wilcoxon", "sign") and n < fewest_queries(alpha):
        what = f"--test {test} is never significant with {pluralise(n, 'query', 'queries')} at alpha {alpha:g}"
        raise UsageError(what, fix=f"compare at least {fewest_queries(alpha)} queries")


def tested_pairs(
    test: Test, values: FloatArray, pairs: Sequence[tuple[int, int]], measure: Measure, level: float
) -> list[TestedPair] | None:
    """p of each pair of columns; None for the tests that `compare` always runs, randomisation and t."""
    if test in ("wilcoxon", "sign"):
        by_query = (differences(values[:, system], values[:, other]) for system, other in pairs)
        return [_signed_ranks(apart) if test == "wilcoxon" else _signs(apart) for apart in by_query]
    if test == "friedman":
        return _friedman(values, pairs)
    return _tukey(values, pairs, measure, level, test) if test in ("tukey", "tukey-one-way") else None


def all_systems_notes(joined: JoinedValues, test: Test) -> Iterator[str]:
    """The test of all systems at once, if the chosen test has one."""
    if test == "friedman":
        from rankproof._data.text import format_p
        from rankproof._statistics.classical_tests import friedman_test

        friedman = friedman_test(joined.values[0])
        square = f"chi-square {friedman.square:.4g}, {friedman.freedom} degrees of freedom"
        yield f"Friedman's test of all systems by {joined.measures[0]}: {square}, {format_p(friedman.p)}"


def _signed_ranks(apart: FloatArray) -> TestedPair:
    from rankproof._statistics.classical_tests import signed_rank_p, signed_ranks

    ranks = signed_ranks(apart)
    return TestedPair(signed_rank_p(ranks), ranks.rank_sum)


def _signs(apart: FloatArray) -> TestedPair:
    from rankproof._statistics.classical_tests import sign_test_p

    return TestedPair(sign_test_p(apart), float(np.sign(apart).sum()))


def _friedman(values: FloatArray, pairs: Sequence[tuple[int, int]]) -> list[TestedPair]:
    """Nemenyi's p; corrected it is at least the p of Friedman's test, without which no pair is significant (Demšar 2006)."""
    from rankproof._statistics.classical_tests import friedman_test, nemenyi_p

    friedman = friedman_test(values)
    ranks = friedman.mean_ranks.tolist()
    p = [nemenyi_p(friedman, *pair) for pair in pairs]
    return [
        TestedPair(value, ranks[system] - ranks[other], max(value, friedman.p))
        for value, (system, other) in zip(p, pairs, strict=True)
    ]


def _tukey(values: FloatArray, pairs: Sequence[tuple[int, int]], measure: Measure, level: float, test: Test) -> list[TestedPair]:
    from rankproof._statistics.classical_tests import tukey_hsd

    tukey = tukey_hsd(values, by_query=test == "tukey")
    if tukey is not None:
        margin = tukey.margin(level)
        return [TestedPair(p, corrected=p, margin=margin) for p in (tukey.p(*pair) for pair in pairs)]
    if any(differences(values[:, system], values[:, other]).any() for system, other in pairs):
        what = f"--test {test} has no variance: by {measure} the systems differ by the same amount on every query"
        raise UsageError(what, fix="use --test randomisation")
    return [TestedPair(1.0, corrected=1.0) for _ in pairs]
