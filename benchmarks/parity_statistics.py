"""Tests, effect sizes, rank correlations and agreement of raters compared with values that other tools computed.

`python -m benchmarks.parity_statistics` prints how many values were compared and the largest difference.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, get_args

import numpy as np

from benchmarks.peer_values import PEER_VALUES
from rankproof._data.arrays import FloatArray
from rankproof._statistics.agreement import (
    GradeCounts,
    KappaWeights,
    Level,
    RatedItem,
    count_grades,
    fleiss_kappa,
    kappa,
    krippendorff_alpha,
    randolph_kappa,
)
from rankproof._statistics.classical_tests import Tukey, normal_signed_rank_p, sign_test_p, signed_rank_p, signed_ranks, tukey_hsd
from rankproof._statistics.paired import differences, paired_statistics, t_test_p
from rankproof._statistics.rank_correlation import (
    kendall_tau,
    order_agreement,
    overlap_of_two,
    rank_biased_overlap,
)

GOLDEN = PEER_VALUES / "statistics"
Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """One value of ours beside that of another tool."""

    what: str
    tool: str
    ours: float
    theirs: float

    @property
    def apart(self) -> float:
        """The absolute difference."""
        return abs(self.ours - self.theirs)


def compared_values(file: str) -> Iterator[Compared]:
    """The values of every case of a file."""
    for case in json.loads((GOLDEN / f"{file}.json").read_text()):
        yield from FILES[file](case)


def _tukey(case: Case) -> Iterator[Compared]:
    values = np.array(list(case["systems"].values())).T
    one_way, blocks = _tested(values, by_query=False), _tested(values, by_query=True)
    margin, low, high = one_way.margin(0.95), case["scipy"]["ci95_low"], case["scipy"]["ci95_high"]
    yield Compared("critical value", "statsmodels", margin / one_way.error, case["statsmodels"]["q_crit"])
    yield Compared("variance", "statsmodels", one_way.variance, case["statsmodels"]["variance"])
    yield Compared("variance, queries as blocks", "formula", blocks.variance, case["two_way"]["mse"])
    p, p_of_blocks = _each_p(one_way), _each_p(blocks)
    for one, other in permutations(range(values.shape[1]), 2):
        apart = float(one_way.means[one] - one_way.means[other])
        yield Compared("p, one-way", "scipy", p[one, other], case["scipy"]["pvalue"][one][other])
        yield Compared("p, queries as blocks", "formula", p_of_blocks[one, other], case["two_way"]["pvalue"][one][other])
        yield Compared("ends of 95% intervals, one-way", "scipy", apart - margin, low[one][other])
        yield Compared("ends of 95% intervals, one-way", "scipy", apart + margin, high[one][other])
    named = list(case["systems"])
    for row in case["ranx"]["rows"]:
        one, other = named.index(row["control"]), named.index(row["treatment"])
        yield Compared("p, one-way", "ranx", p[one, other], row["p"])
    for row in case["statsmodels"]["rows"]:
        one, other = named.index(row["group1"]), named.index(row["group2"])
        yield Compared("p, one-way", "statsmodels", p[one, other], row["p_adj"])


def _each_p(found: Tukey) -> FloatArray:
    """p of each two systems; 1 for a system and itself."""
    p = np.ones((len(found.means),) * 2)
    for one, other in combinations(range(len(found.means)), 2):
        p[one, other] = p[other, one] = found.p(one, other)
    return p


def _tested(values: FloatArray, *, by_query: bool) -> Tukey:
    found = tukey_hsd(values, by_query=by_query)
    assert found is not None, "the values have a variance"
    return found


def _paired(case: Case) -> Iterator[Compared]:
    apart = differences(np.array(case["b"]), np.array(case["a"]))
    statistics, ranks = paired_statistics(apart), signed_ranks(apart)
    if "two-sided" in case["sign_test"]:
        yield Compared("sign test, p", "scipy", sign_test_p(apart), case["sign_test"]["two-sided"])
    if "cohen_dz" in case:
        yield Compared("Cohen's d_z", "formula", statistics.effect or 0.0, case["cohen_dz"]["value"])
        yield Compared("Hedges' g", "formula", statistics.unbiased_effect or 0.0, case["hedges_gz"]["value_exact"])
    if case["ttest_rel"]["pvalue"] is not None:
        yield Compared("paired t-test, p", "scipy", t_test_p(statistics) or 0.0, case["ttest_rel"]["pvalue"])
    given = case["wilcoxon"]["results"]
    exact, normal = (given[f"zero_method=wilcox,method={method},correction=False,alternative=two-sided"] for method in _METHODS)
    if len(set(ranks.doubled.tolist())) == len(ranks.doubled):
        yield Compared("Wilcoxon, exact p without ties", "scipy", signed_rank_p(ranks), exact["pvalue"])
    if normal["pvalue"] is not None:
        yield Compared("Wilcoxon, normal p", "scipy", normal_signed_rank_p(ranks), normal["pvalue"])


_METHODS = ("exact", "approx")


def _rank_correlation(case: Case) -> Iterator[Compared]:
    found, normal = kendall_tau(np.array(case["x"]), np.array(case["y"])), case["kendall_tau_b_asymptotic"]
    exact, tau_ap = case["kendall_tau_b_exact"], case["tau_ap"]
    yield Compared("tau-b", "scipy", found.tau, normal["statistic"])
    name, given = ("tau-b, normal p with ties", normal) if "error" in exact else ("tau-b, exact p", exact)
    yield Compared(name, "scipy", found.p, given["pvalue"])
    for true, estimated in (("x", "y"), ("y", "x")):
        place = {item: at for at, item in enumerate(tau_ap[f"order_{true}"])}
        ranks = np.array([place[item] for item in tau_ap[f"order_{estimated}"]])
        ours = float(order_agreement(ranks, np.array([0, len(ranks)])).tau_ap[0])
        yield Compared("tau-AP", "formula", ours, tau_ap[f"truth_{true}_estimate_{estimated}"])
    yield from _overlap(case["rbo"])


def _overlap(case: Case) -> Iterator[Compared]:
    one, other = case["S"], case["T"]
    shortest = min(len(one), len(other))
    for row in case["results"]:
        p = row["p"]
        whole, same_length = overlap_of_two(one, other, p), overlap_of_two(one[:shortest], other[:shortest], p)
        yield Compared("RBO, extrapolated", "rbo", float(whole.extrapolated[0]), row["rbo_ext"])
        yield Compared("RBO, extrapolated", "formula", float(whole.extrapolated[0]), row["rbo_ext_webber_eq32"])
        yield Compared(
            "RBO, least, at the end of the shorter ranking", "formula", float(same_length.least[0]), row["rbo_min_webber_eq11"]
        )
        for depth in (3, 5):
            ours = rank_biased_overlap(one[:depth], other[:depth], p)
            yield Compared("RBO, extrapolated, top 3 and 5", "rbo", ours, row[f"rbo_k{depth}_ext"])


def _agreement(case: Case) -> Iterator[Compared]:
    full, gaps = (_counted(case[name]) for name in ("ratings_raters_by_items", "ratings_with_gaps"))
    alpha = case["krippendorff_alpha"]
    for level in get_args(Level):
        for name, counts in (("full", full), ("gaps", gaps)):
            ours = krippendorff_alpha(counts, level).value
            yield _defined(f"Krippendorff's alpha, {level}", "krippendorff", ours, alpha[f"{level}_{name}"])
    yield _defined("Fleiss' kappa", "statsmodels", fleiss_kappa(full).value, case["fleiss_kappa"]["value"])
    randolph = randolph_kappa(full, len(case["categories"])).value
    yield _defined("Randolph's kappa", "statsmodels", randolph, case["randolph_kappa"]["value"])
    one, other = case["ratings_raters_by_items"][:2]
    place = {grade: at for at, grade in enumerate(sorted({*one, *other}))}
    codes: dict[str, Callable[[int], int]] = {"all": int, "seen": place.__getitem__}
    for weights in get_args(KappaWeights):
        for labels, grade in codes.items():
            items = [RatedItem("q", grade(first), grade(second)) for first, second in zip(one, other, strict=True)]
            expected = case["cohen_kappa_rater0_rater1"][f"weights={None if weights == 'none' else weights},labels={labels}"]
            yield _defined(f"Cohen's kappa, weights: {weights}", "scikit-learn", kappa(items, weights).value, expected)


def _counted(ratings: Sequence[Sequence[int | None]]) -> GradeCounts:
    """The ratings of raters (rows) of items (columns), None for a gap."""
    return count_grades([("q", [grade for grade in item if grade is not None]) for item in zip(*ratings, strict=True)])


def _defined(what: str, tool: str, ours: float | None, theirs: float | str | None) -> Compared:
    """The two values; where the other tool has none (an error, or NaN for a single grade), ours must have none either."""
    if isinstance(theirs, float | int) and not math.isnan(theirs):
        return Compared(what, tool, math.nan if ours is None else ours, theirs)
    return Compared(what, tool, 0.0 if ours is None else math.inf, 0.0)


FILES = {"tukey_hsd": _tukey, "paired_tests": _paired, "rank_correlation": _rank_correlation, "agreement": _agreement}


def main() -> None:
    """Prints a Markdown table, a row for each kind of value."""
    print("| values | tool | compared | largest difference |\n|---|---|---:|---:|")
    for file in FILES:
        every = list(compared_values(file))
        for kind in dict.fromkeys((one.what, one.tool) for one in every):
            apart = [one.apart for one in every if (one.what, one.tool) == kind]
            print(f"| {kind[0]} | {kind[1]} | {len(apart):,} | {max(apart):.0e} |")


if __name__ == "__main__":
    main()
