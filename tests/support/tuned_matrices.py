"""An objective whose values are a matrix: a row for each value of one parameter, a column for each query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._tune.parameters import ParameterFamily, SearchAxis, Settings, Space


class MatrixObjective:
    """Values by the parameter `at`, which is a row of the matrix; `asked` counts the rows that were computed."""

    def __init__(self, matrix: FloatArray) -> None:
        self._matrix, self.asked = matrix, 0
        self.queries = tuple(f"q{at:04}" for at in range(matrix.shape[1]))

    def values(self, settings: Sequence[Settings]) -> FloatArray:
        self.asked += len(settings)
        return np.stack([self._matrix[int(str(dict(one)["at"]))] for one in settings])

    def is_trained(self, settings: Settings) -> bool:
        return False

    def fitted_values(self, settings: Settings, train: IntArray) -> FloatArray:
        found: FloatArray = self.values([settings])[0]
        return found


class MemorisingObjective(MatrixObjective):
    """Row 1 is a trained method that is right about the queries it was fitted on, and worthless on others."""

    def is_trained(self, settings: Settings) -> bool:
        return dict(settings)["at"] == 1

    def fitted_values(self, settings: Settings, train: IntArray) -> FloatArray:
        known = np.zeros(len(self.queries))
        known[train] = 1.0
        return known


def row_space(rows: int, default: int = 0) -> Space:
    """The space of the parameter `at`."""
    return Space((("at", default),), (ParameterFamily((), (SearchAxis("at", tuple(range(rows)), default),)),))
