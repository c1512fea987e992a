"""GMAP: average precision, with hard queries weighing as much as easy ones."""

from __future__ import annotations

import math

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .average_precision import AveragePrecision
from .base import Binary

_FLOOR = 1e-5


class GeometricMeanAP(Binary):
    """The geometric mean of average precision."""

    name = "GMAP"
    title = "Geometric mean average precision"
    definition = "The geometric mean of AP over queries, each counted as at least 0.00001: exp(mean(ln(max(AP, 0.00001))))."
    source = "Robertson 2006; trec_eval gm_map"
    summary = "geometric"

    def values(self, hits: Hits) -> FloatArray:
        return AveragePrecision(rel=self.rel).values(hits)

    def summarise(self, values: FloatArray) -> float:
        if not len(values):
            return 0.0
        return math.exp(math.fsum(np.log(np.maximum(values, _FLOOR)).tolist()) / len(values))


GMAP = GeometricMeanAP()
