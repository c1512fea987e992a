"""Tukey's honestly significant difference: all pairs of systems by one variance."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.studentized_range import studentized_range_above, studentized_range_quantile

_NO_VARIANCE = 1e-24


class Tukey(NamedTuple):
    """Means of systems, the variance of the residuals with its degrees of freedom, and the number of queries."""

    means: FloatArray
    variance: float
    freedom: int
    n: int

    @property
    def error(self) -> float:
        """The standard error of a mean."""
        return math.sqrt(self.variance / self.n)

    def p(self, one: int, other: int) -> float:
        """Two-sided p of two systems, corrected for all pairs."""
        distance = abs(float(self.means[one] - self.means[other]))
        return studentized_range_above(distance / self.error, len(self.means), self.freedom)

    def margin(self, level: float) -> float:
        """Half the width of the simultaneous intervals of all differences."""
        return studentized_range_quantile(level, len(self.means), self.freedom) * self.error


def tukey_hsd(values: FloatArray, *, by_query: bool = True) -> Tukey | None:
    """The test of a row for each query and a column for each system; None if there is no residual variance.

    `by_query` removes the mean of each query before the variance is computed: two-way analysis of variance without replication,
    as in a paired test. Without it the systems are taken for independent samples: one-way, as scipy's `tukey_hsd` computes it.
    """
    n, systems = values.shape
    means = np.array([math.fsum(column.tolist()) / n for column in values.T])
    residuals = values - means
    if by_query:
        residuals = residuals - residuals.mean(axis=1, keepdims=True)
    freedom = (n - 1) * (systems - 1) if by_query else systems * (n - 1)
    variance = math.fsum(np.square(residuals).ravel().tolist()) / freedom
    scale = float(np.abs(values).max(initial=0.0)) ** 2
    return Tukey(means, variance, freedom, n) if variance > _NO_VARIANCE * scale else None
