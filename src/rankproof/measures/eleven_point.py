"""11pt: interpolated precision averaged over recall points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import Binary
from .found import found
from .interpolated_precision import interpolated

_ELEVEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, kw_only=True, repr=False)
class ElevenPointAverage(Binary):
    """The mean of IPrec over recall points."""

    recalls: tuple[float, ...] = _ELEVEN
    name = "11pt"
    title = "Eleven-point average precision"
    definition = "The mean of IPrec@r over the recall points r = 0, 0.1, ... 1, or those named."
    source = "trec_eval 11pt_avg, version 10"
    suffix: ClassVar[str | None] = "recalls"

    def values(self, hits: Hits) -> FloatArray:
        those = found(hits, self.least)
        return np.asarray(sum(interpolated(those, recall) for recall in self.recalls) / len(self.recalls))


ElevenPoint = ElevenPointAverage()
