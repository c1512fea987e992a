"""SetF: precision and recall of all that was retrieved, in one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import Binary
from .found import ratio
from .set_precision import SetPrecision
from .set_recall import SetRecall


@dataclass(frozen=True, kw_only=True, repr=False)
class SetFMeasure(Binary):
    """The harmonic mean of SetP and SetR, with recall weighing beta times as much."""

    beta: float = 1.0
    name = "SetF"
    title = "Set F"
    definition = "(beta + 1) P R / (beta P + R) with P = SetP and R = SetR; beta is the weight of recall and is not squared."
    source = "van Rijsbergen 1979; trec_eval set_F"
    suffix: ClassVar[str | None] = "beta"

    def values(self, hits: Hits) -> FloatArray:
        precision, recall = SetPrecision(rel=self.rel).values(hits), SetRecall(rel=self.rel).values(hits)
        return ratio((self.beta + 1.0) * precision * recall, self.beta * precision + recall)


SetF = SetFMeasure()
