"""Interpolated precision: the best precision at a recall or beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from .base import Binary
from .found import Found, found


def interpolated(those: Found, recall: float) -> FloatArray:
    """The best precision from the relevant document on that reaches this recall, 0 where it is not reached.

    How many documents that takes is rounded half up, as in trec_eval 10.
    """
    exact = recall * those.total
    whole = np.floor(exact)
    needed = whole + (exact - whole >= 0.5)
    reached = those.nth >= needed[those.owners]
    best = np.zeros(len(those.total))
    np.maximum.at(best, those.owners[reached], those.nth[reached] / those.ranks[reached])
    return best


@dataclass(frozen=True, kw_only=True, repr=False)
class InterpolatedPrecision(Binary):
    """The best precision at this recall or beyond."""

    recall: float | None = None
    name = "IPrec"
    title = "Interpolated precision at a recall"
    definition = "The largest precision at any rank where at least round(recall * rel) relevant documents were met."
    source = "trec_eval iprec_at_recall, version 10"
    at: ClassVar[str | None] = "recall"
    suffix: ClassVar[str | None] = "recall"
    needs = "IPrec@0.1"

    def values(self, hits: Hits) -> FloatArray:
        self.complete()
        return interpolated(found(hits, self.least), self.recall or 0.0)


IPrec = InterpolatedPrecision()
