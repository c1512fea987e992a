"""Corrections for multiple tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.options import Correction
from rankproof.errors import UsageError, for_message


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
