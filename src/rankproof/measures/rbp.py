"""RBP: precision for a reader who goes on to the next document with a fixed probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import CutBinary
from .found import found


@dataclass(frozen=True, kw_only=True, repr=False)
class RankBiasedPrecision(CutBinary):
    """Relevant documents, weighted by the chance that the reader gets to them."""

    p: float = 0.8
    name = "RBP"
    title = "Rank-biased precision"
    definition = "(1 - p) * sum over relevant documents (in the top k) of p^(rank - 1), with persistence p."
    source = "Moffat and Zobel 2008, binary"
    parity = None
    suffix: ClassVar[str | None] = "p"

    def values(self, hits: Hits) -> FloatArray:
        those = found(hits, self.least)
        weights = np.where(those.ranks <= self.depth, self.p ** (those.ranks - 1.0), 0.0)
        return np.asarray((1.0 - self.p) * those.summed(weights))


RBP = RankBiasedPrecision()
