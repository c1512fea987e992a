"""What stands above each relevant document that was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..align.hits import Hits
from ..data.arrays import IntArray, frozen
from .once import once


@dataclass(frozen=True, eq=False, slots=True)
class Before:
    """For each relevant document found: how many above it are judged not relevant, and how many are in the pool at all."""

    nonrelevant: IntArray
    pooled: IntArray


@once
def before(hits: Hits, rel: int) -> Before:
    """Counts above each document of grade rel or more; a grade below 0 is in the pool but not judged."""
    refused = (hits.grades >= 0) & (hits.grades < rel)
    so_far = np.concatenate(([0], np.cumsum(refused)))
    relevant = np.flatnonzero(hits.grades >= rel)
    starts = hits.offsets[:-1][hits.owners[relevant]]
    return Before(frozen(so_far[relevant] - so_far[starts]), frozen(relevant - starts))
