"""Methods that add reciprocals of ranks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rankproof._data.arrays import FloatArray, read_only
from rankproof._fusion.method import FusionSettings, fusion_method


@fusion_method("rrf", "adds 1 / (k + rank)", uses=("k", "weights"), by_rank=True, source="Cormack et al. 2009")
def reciprocal_rank(scores: FloatArray, settings: FusionSettings) -> FloatArray:
    """Reciprocal rank fusion."""
    return _reciprocal_ranks(settings.k, len(scores))


@lru_cache(maxsize=64)
def _reciprocal_ranks(k: float, count: int) -> FloatArray:
    return read_only(1.0 / (k + np.arange(1, count + 1, dtype=np.float64)))
