"""p-values of a family of tests, raised for there being many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ...data.arrays import FloatArray

Correction = Literal["holm", "bonferroni", "bh", "none"]


def holm(p: FloatArray) -> FloatArray:
    """Holm 1979: the k-th smallest of m times m - k + 1, never below a smaller one's; holds the family-wise error rate."""
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _in_place(np.minimum(raised, 1.0), order)


def bonferroni(p: FloatArray) -> FloatArray:
    """Dunn 1961: each times m; holds the family-wise error rate."""
    return np.minimum(p * len(p), 1.0)


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Benjamini and Hochberg 1995: the k-th smallest times m / k, never above a larger one's; holds the false discovery rate."""
    order = np.argsort(p, kind="stable")
    raised = p[order] * len(p) / np.arange(1, len(p) + 1)
    return _in_place(np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0), order)


def holm_of_two(p: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Holm over two tests of each of m things, of whose null hypotheses at most one can be true (Shaffer 1986).

    So at most m hypotheses are true at first, and one fewer for each thing both of whose tests have succeeded.
    """
    both = np.concatenate([p, other])
    order = np.argsort(both, kind="stable")
    is_second = np.ones(len(both), bool)
    is_second[np.unique(order % len(p), return_index=True)[1]] = False
    left = len(p) - np.concatenate([[0], np.cumsum(is_second)[:-1]])
    raised = _in_place(np.minimum(np.maximum.accumulate(both[order] * left), 1.0), order)
    return raised[: len(p)], raised[len(p) :]


def level_of(alpha: float, tests: int, correction: Correction, succeeded: int = 0) -> float:
    """The p that is enough for one of so many tests whatever the others show; with `bh` where so many others succeed."""
    if correction == "bh":
        return alpha * min(succeeded + 1, tests) / tests
    return alpha if correction == "none" else alpha / tests


def _in_place(raised: FloatArray, order: np.ndarray[tuple[int], np.dtype[np.intp]]) -> FloatArray:
    found = np.empty_like(raised)
    found[order] = raised
    return found


CORRECTIONS: dict[Correction, Callable[[FloatArray], FloatArray]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": benjamini_hochberg,
    "none": lambda p: p,
}
NAMES: dict[Correction, str] = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg", "none": "no correction"}
