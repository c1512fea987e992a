"""RBP: precision for a reader who goes on to the next document with a fixed probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..align.hits import Hits
from .base import CutBinary, Sum
from .found import found
from .parts import Parts


@dataclass(frozen=True, kw_only=True, repr=False)
class RankBiasedPrecision(Sum, CutBinary):
    """Relevant documents, weighted by the chance that the reader gets to them."""

    p: float = 0.8
    name = "RBP"
    title = "Rank-biased precision"
    definition = "(1 - p) * sum over relevant documents (in the top k) of p^(rank - 1), with persistence p."
    source = "Moffat and Zobel 2008, binary"
    parity = None
    additive = True
    suffix: ClassVar[str | None] = "p"

    def parts(self, hits: Hits) -> Parts:
        at = found(hits, self.least).first(self.depth)
        weights = np.asarray(self.p ** (hits.ranks[at] - 1.0))
        return Parts(hits, at, np.ones(len(at)), weights, weights, np.ones(len(hits.queries)), scale=1.0 - self.p)


RBP = RankBiasedPrecision()
