"""How the rankings of one query are fused: RRF (Cormack et al. 2009), CombSUM and CombMNZ (Fox and Shaw 1994)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..data.arrays import FloatArray, frozen
from ..data.ranking import Ranking
from ..errors import InputError
from .merge import Given, merge
from .settings import NORMS, Method, Norm


@dataclass(frozen=True, slots=True)
class Recipe:
    """Checked settings; `weights` has one number for each ranking."""

    method: Method
    k: float
    norm: Norm
    weights: tuple[float, ...]

    def fused(self, rankings: Sequence[Ranking]) -> Ranking:
        """One ranking of several that are each best first; an empty one gives nothing."""
        return self.merged([(docs, 0, scores) for docs, scores in rankings])

    def merged(self, found: Sequence[Given]) -> Ranking:
        """The same of documents, where a ranking starts among them, and its scores, best first."""
        # What overflows is refused below, in words.
        with np.errstate(over="ignore"):
            given = [
                (docs, start, weight * self.parts(scores))
                for (docs, start, scores), weight in zip(found, self.weights, strict=True)
                if len(scores)
            ]
        docs, scores = merge(given, times_found=self.method == "combmnz")
        if len(scores) and not np.isfinite(scores).all():
            raise InputError(
                "a fused score is outside the range of a 64-bit float",
                fix="lower the weights, or normalise with min-max or z-score",
            )
        return docs, scores

    def parts(self, scores: FloatArray) -> FloatArray:
        """What each document of a ranking, best first, gets from it before its weight."""
        return _reciprocal_ranks(self.k, len(scores)) if self.method == "rrf" else NORMS[self.norm](scores)


@lru_cache(maxsize=64)
def _reciprocal_ranks(k: float, count: int) -> FloatArray:
    return frozen(1.0 / (k + np.arange(1, count + 1, dtype=np.float64)))
