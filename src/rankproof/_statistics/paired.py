"""Paired differences (t-test, equivalence, power), repeated answers, and corrections for multiple tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.distributions import gamma_ratio, normal_quantile, student_above, student_two_sided
from rankproof._statistics.means import degrees_of_freedom, influence, weighted_mean
from rankproof._statistics.options import Correction
from rankproof.errors import UsageError, for_message

Kernel = Literal["native", "numpy"]
# Rounding errors of measures are near 1e-15 of the largest value, real differences far above 1e-12 of it.
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class PairedStatistics:
    """Statistics of differences: mean, standard deviation (n - 1), and how many are above, at and below 0.

    With weights the mean is weighted, `deviation` is that of the influences on it, and `freedom` follows from the effective size.
    """

    n: int
    mean: float
    deviation: float
    freedom: float
    wins: int
    ties: int
    losses: int

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / math.sqrt(self.n)

    @property
    def effect(self) -> float | None:
        """Cohen's d of differences (d_z): mean / standard deviation; None if all differences are the same number other than 0."""
        if self.deviation == 0:
            return None if self.mean else 0.0
        return self.mean / self.deviation

    @property
    def unbiased_effect(self) -> float | None:
        """Hedges' g of differences: d_z times the exact J of Hedges (1981); None without d_z, and for two queries."""
        if self.effect is None or self.freedom <= 1:
            return None
        return self.effect * gamma_ratio((self.freedom - 1) / 2) / math.sqrt(self.freedom / 2)


def differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """One minus the other; differences within rounding error are 0, and all are equal if they differ only by rounding."""
    largest = max(float(np.abs(first).max(initial=0.0)), float(np.abs(second).max(initial=0.0)))
    # Equal differences must have a deviation of exactly 0, else t would be huge by rounding alone.
    raw = first - second
    if len(raw) and raw.max() - raw.min() <= _TIE * largest:
        raw = np.full(len(raw), (raw.max() + raw.min()) / 2)
    rounded: FloatArray = np.where(np.abs(raw) <= _TIE * largest, 0.0, raw)
    return rounded


def paired_statistics(differences: FloatArray, weights: FloatArray | None = None) -> PairedStatistics:
    """The statistics of at least two differences, the same bits for any order of them."""
    n, lowest, highest = len(differences), float(differences.min()), float(differences.max())
    # The mean of equal numbers may differ from them in the last bit.
    mean = weighted_mean(differences, weights) if highest > lowest else lowest
    if abs(mean) <= _TIE * max(-lowest, highest):
        mean = 0.0
    off = influence(differences, mean, weights)
    deviation = math.sqrt(math.fsum(np.square(off).tolist()) / (n - 1)) if highest > lowest else 0.0
    wins, losses = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    return PairedStatistics(n, mean, deviation, degrees_of_freedom(n, weights), wins, n - wins - losses, losses)


@cache
def best_kernel() -> Kernel:
    """`native` if the C extension was built, else `numpy`; both give the same bits."""
    return "native" if find_spec("rankproof._native.permutation") is not None else "numpy"


def pair_statistics(
    values: FloatArray, pairs: Sequence[tuple[int, int]], weights: FloatArray | None = None, kernel: Kernel | None = None
) -> tuple[list[PairedStatistics], list[bool]]:
    """The statistics of the differences of each pair of columns, and whether these differences are not all the same."""
    if weights is not None or (kernel or best_kernel()) == "numpy":
        apart = [differences(values[:, first], values[:, second]) for first, second in pairs]
        return [paired_statistics(each, weights) for each in apart], [bool(each.max() > each.min()) for each in apart]
    from rankproof._native import permutation

    n, found = len(values), np.empty((len(pairs), 6))
    permutation.paired(np.ascontiguousarray(values.T), n, np.array(pairs, np.int64).reshape(-1, 2), found)
    means, squares, lowest, highest, wins, losses = found.T
    deviations = np.sqrt(squares / (n - 1)).tolist()
    rows = zip(means.tolist(), deviations, wins.astype(np.int64).tolist(), losses.astype(np.int64).tolist(), strict=True)
    freedom = degrees_of_freedom(n, None)
    statistics = [PairedStatistics(n, mean, off, freedom, won, n - won - lost, lost) for mean, off, won, lost in rows]
    return statistics, (highest > lowest).tolist()


def t_test_p(statistics: PairedStatistics) -> float | None:
    """Two-sided p of the paired t-test (Student 1908); 1 if every difference is 0.

    None if every difference is the same other number: without variance there is no t.
    """
    if statistics.deviation == 0:
        return 1.0 if statistics.mean == 0 else None
    return student_two_sided(statistics.mean / statistics.error, statistics.freedom)


def equivalence_p(statistics: PairedStatistics, margin: float) -> float:
    """p of two one-sided t-tests (Schuirmann 1987) for a mean within the margin on either side of 0.

    1 if all differences are equal: without variance there is no t.
    """
    if statistics.deviation == 0:
        return 1.0
    return student_above((margin - abs(statistics.mean)) / statistics.error, statistics.freedom)


POWER = 0.8


def detectable_difference(deviation: float, n: int, alpha: float, power: float = POWER) -> float | None:
    """The smallest difference that a two-sided test of n queries detects with this power; None with too few queries."""
    z = normal_quantile(1 - alpha / 2)
    # Guenther (1981): the normal formula with z^2 / 2 more queries has nearly the power of the t-test.
    left = n - z * z / 2
    return (z + normal_quantile(power)) * deviation / math.sqrt(left) if left > 0 else None


def queries_needed(difference: float, deviation: float, alpha: float, power: float = POWER) -> int | None:
    """The number of queries needed to detect the difference with this power; None for a difference of 0."""
    if difference == 0:
        return None
    z = normal_quantile(1 - alpha / 2)
    ratio = deviation / abs(difference)
    return max(2, math.ceil(((z + normal_quantile(power)) * ratio) ** 2 + z * z / 2))


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """The variance of a paired difference between two systems: of questions, and of repeats of a question.

    `between` may be negative, where repeats alone explain more than the observed variance.
    """

    between: float
    within: float

    def question_share(self, repeats: float = 1) -> float:
        """The share of questions in the variance of a difference with so many repeats."""
        total = max(0.0, self.between) + self.within / repeats
        return max(0.0, self.between) / total if total else 0.0

    def error(self, questions: int, repeats: int) -> float:
        """The standard error of the mean difference with so many questions and repeats."""
        return math.sqrt((max(0.0, self.between) + self.within / repeats) / questions)

    def best_repeats(self, question_cost: float) -> int | None:
        """The number of repeats with the smallest error for the cost, where an answer costs 1 and a new question so much.

        None where questions do not vary: more repeats help as much as more questions.
        """
        if self.between <= 0:
            return None
        return max(1, round(math.sqrt(question_cost * self.within / self.between)))


def split_variance(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> VarianceSplit | None:
    """The split for two systems, each with the repeated values of every question; None without two questions or any repeat.

    What varies in a system that was asked once cannot be told from questions, and counts as theirs.
    """
    freedom = sum(len(values) - 1 for system in (first, second) for values in system)
    if len(first) < 2 or freedom < 1:
        return None
    squares = math.fsum(float(((values - values.mean()) ** 2).sum()) for system in (first, second) for values in system)
    pooled = squares / freedom
    apart = [float(first_values.mean() - second_values.mean()) for first_values, second_values in zip(first, second, strict=True)]
    mean = math.fsum(apart) / len(apart)
    variance = math.fsum((difference - mean) ** 2 for difference in apart) / (len(apart) - 1)
    repeated = repeated_systems(first, second)
    by_repeats = math.fsum(pooled / len(values) for system in repeated for values in system) / len(apart)
    return VarianceSplit(variance - by_repeats, len(repeated) * pooled)


def repeated_systems(*systems: Sequence[FloatArray]) -> list[Sequence[FloatArray]]:
    """The systems that were asked any question more than once."""
    return [system for system in systems if any(len(values) > 1 for values in system)]


def pass_at(right: int, repeats: int, k: int) -> float:
    """The chance that at least one of k answers is right (pass@k), without bias (Chen et al. 2021)."""
    return 1 - math.comb(repeats - right, k) / math.comb(repeats, k)


def pass_all(right: int, repeats: int, k: int) -> float:
    """The chance that all of k answers are right (pass^k)."""
    return math.comb(right, k) / math.comb(repeats, k)


def holm(p: FloatArray) -> FloatArray:
    """Holm 1979: the k-th smallest p of m times m - k + 1, made monotone; controls the family-wise error rate."""
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _restore_order(np.minimum(raised, 1.0), order)


def bonferroni(p: FloatArray) -> FloatArray:
    """Dunn 1961: each p times m; controls the family-wise error rate."""
    return np.minimum(p * len(p), 1.0)


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Benjamini and Hochberg 1995: the k-th smallest p times m / k, made monotone; controls the false discovery rate."""
    order = np.argsort(p, kind="stable")
    raised = p[order] * len(p) / np.arange(1, len(p) + 1)
    return _restore_order(np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0), order)


def holm_of_two(p: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Holm over two tests of each of m comparisons, of whose null hypotheses at most one is true (Shaffer 1986).

    So at most m hypotheses are true at first, and one fewer for each comparison with both hypotheses rejected.
    """
    both = np.concatenate([p, other])
    order = np.argsort(both, kind="stable")
    # Sorted by p; the first test of a comparison to be met leaves its other hypothesis possible, the second one ends it.
    is_second = np.ones(len(both), bool)
    is_second[np.unique(order % len(p), return_index=True)[1]] = False
    left = len(p) - np.concatenate([[0], np.cumsum(is_second)[:-1]])
    raised = _restore_order(np.minimum(np.maximum.accumulate(both[order] * left), 1.0), order)
    return raised[: len(p)], raised[len(p) :]


def level_of(alpha: float, tests: int, correction: Correction, succeeded: int = 0) -> float:
    """The p that suffices for one of so many tests whatever the others give; with `bh`, if so many others are significant."""
    if correction == "bh":
        return alpha * min(succeeded + 1, tests) / tests
    return alpha if correction == "none" else alpha / tests


def _restore_order(raised: FloatArray, order: np.ndarray[tuple[int], np.dtype[np.intp]]) -> FloatArray:
    restored = np.empty_like(raised)
    restored[order] = raised
    return restored


CORRECTIONS: dict[Correction, Callable[[FloatArray], FloatArray]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": benjamini_hochberg,
    "none": lambda p: p,
}


def is_number(value: Any) -> bool:
    """Whether the value is a number; a bool is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def setting_error(name: str, value: Any, fix: str) -> UsageError:
    """The error for a wrong setting."""
    return UsageError(f"{name} is {for_message(repr(value))}", fix=fix)
