"""F1: precision and recall in one number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..align.hits import Hits
from .base import CutBinary, Measure, Sum
from .found import found
from .parts import Parts, alike


class F1At(Sum, CutBinary):
    """The harmonic mean of P@k and R@k."""

    name = "F1"
    title = "F1"
    definition = "The harmonic mean of P@k and R@k: 2 rel_ret(k) / (k + rel)."
    source = "van Rijsbergen 1979; ranx f1"
    parity = None
    needs = "F1@10"
    additive = True

    def __call__(self, **parameters: Any) -> Measure:
        """With parameters of answers it is the F1 of answers."""
        if not parameters:
            return super().__call__()
        from .answers.f1 import AnswerF1

        ours = parameters.keys() <= AnswerF1.parameters().keys()
        return AnswerF1(**parameters) if ours else super().__call__(**parameters)

    def parts(self, hits: Hits) -> Parts:
        those = found(hits, self.least)
        return alike(hits, those.first(self.depth), those.total + np.float64(self.depth), worth=2.0)


F1 = F1At()
