"""Several judges as one, with weights that people's labels teach; no label has a part in the weights for its own question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray

FOLDS = 5
PRIOR_QUESTIONS = 1.0
"""Further questions on which all judges are alike: few labels give weights near equal ones."""


def combined_judges(judges: Sequence[FloatArray], human: FloatArray, labelled: IntArray) -> tuple[FloatArray, FloatArray]:
    """The weighted mean of judges' values by question and system, and the mean weights.

    `human` has people's values of the `labelled` rows. They are split in folds in their order, which must be a random one: a
    labelled question has the weights of the other folds, any other question the mean of all weights (Zrnic and Candès 2024).
    """
    stacked = np.array(judges)
    values = stacked.mean(axis=0)
    folds = np.arange(len(labelled)) % FOLDS
    every = []
    for fold in range(FOLDS):
        rest = folds != fold
        weights = _weights(stacked[:, labelled[rest]], human[rest])
        own = labelled[~rest]
        values[own] = np.tensordot(weights, stacked[:, own], axes=1)
        every.append(weights)
    mean = np.mean(every, axis=0)
    others = np.setdiff1d(np.arange(len(values)), labelled)
    values[others] = np.tensordot(mean, stacked[:, others], axes=1)
    return values, mean


def _weights(judges: FloatArray, human: FloatArray) -> FloatArray:
    """Least squares on the differences between systems, shrunk to equal weights; none is below 0, and their sum is 1."""
    count = len(judges)
    equal = np.full(count, 1 / count)
    columns, wanted = np.array([_contrasts(values).ravel() for values in judges]), _contrasts(human).ravel()
    spread = columns @ columns.T
    together = equal @ columns
    if not together @ together:
        return equal
    slope = max(0.0, float(together @ wanted) / float(together @ together))
    prior = PRIOR_QUESTIONS / len(human) * float(np.trace(spread)) / count
    # A judge that sees no difference has no weight; one with a weight below 0 is left out, and the others are fitted again.
    kept = np.diag(spread) > 0
    while kept.any():
        inner = spread[np.ix_(kept, kept)] + prior * np.eye(int(kept.sum()))
        found = np.linalg.solve(inner, columns[kept] @ wanted + prior * slope * equal[kept])
        if (found >= 0).all():
            break
        kept[np.flatnonzero(kept)[found < 0]] = False
    weights = np.zeros(count)
    if not kept.any() or not found.sum():
        return equal
    weights[kept] = found / found.sum()
    return weights


def _contrasts(values: FloatArray) -> FloatArray:
    """Values around their mean; of several systems around the mean of the question too, as in `labelled_means`."""
    rows: FloatArray = values - values.mean(axis=0)
    return rows - rows.mean(axis=1, keepdims=True) if rows.shape[1] > 1 else rows
