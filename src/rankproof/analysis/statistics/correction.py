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


def level_of(alpha: float, tests: int, correction: Correction) -> float:
    """The p that is enough for one of so many tests, whatever the others show."""
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
