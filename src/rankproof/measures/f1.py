"""F1: precision and recall in one number."""

from __future__ import annotations

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import CutBinary
from .found import found


class F1At(CutBinary):
    """The harmonic mean of P@k and R@k."""

    name = "F1"
    title = "F1"
    definition = "The harmonic mean of P@k and R@k: 2 rel_ret(k) / (k + rel)."
    source = "van Rijsbergen 1979; ranx f1"
    parity = None
    needs = "F1@10"

    def values(self, hits: Hits) -> FloatArray:
        those = found(hits, self.least)
        return np.asarray(2.0 * those.within(self.depth) / (float(self.depth) + those.total))


F1 = F1At()
