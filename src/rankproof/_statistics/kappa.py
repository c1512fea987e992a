"""Cohen's kappa of two raters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankproof._data.arrays import FloatArray


def kappas(cells: FloatArray, grades: Sequence[int], *, weighted: bool) -> FloatArray:
    """Kappa of each table in a stack of them; NaN where chance agreement is already complete."""
    values = np.array(grades, dtype=np.float64)
    apart = (values[:, None] - values[None, :]) ** 2 if weighted else (values[:, None] != values[None, :]).astype(np.float64)
    chance = cells.sum(axis=-1)[..., :, None] * cells.sum(axis=-2)[..., None, :]
    seen, expected = (apart * cells).sum(axis=(-2, -1)) * cells.sum(axis=(-2, -1)), (apart * chance).sum(axis=(-2, -1))
    return np.asarray(1 - np.divide(seen, expected, out=np.full_like(seen, np.nan), where=expected > 0))
