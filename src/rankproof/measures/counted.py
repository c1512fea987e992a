"""Measures that count and are summed over queries."""

from __future__ import annotations

import math
from typing import ClassVar

from ..data.arrays import FloatArray
from .base import Measure


class Count(Measure):
    """A number of things; its summary is the sum."""

    range = (0.0, math.inf)
    kind = "count"
    summary = "sum"
    higher_is_better: ClassVar[bool | None] = None

    def summarise(self, values: FloatArray) -> float:
        return math.fsum(values.tolist())
