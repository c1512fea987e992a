"""Methods that treat each run as a voter."""

from __future__ import annotations

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.method import FusionSettings, fusion_method


@fusion_method(
    "borda",
    "adds Borda points: c at rank 1 of c candidates, one less a rank; missing documents share the points that are left",
    uses=("weights",),
    by_rank=True,
    formula="Σ w (c - rank + 1), or w (c - n + 1) / 2 without a rank; c = candidates, n = length of the ranking",
    source="Aslam and Montague 2001",
    aliases=("bordafuse", "w_bordafuse"),
)
def borda_count(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """Borda count."""
    candidates = np.diff(table.offsets)[table.query_index]
    missing = table.of_each_query((np.diff(table.offsets) - table.lengths + 1) / 2)
    return np.where(table.present, candidates - table.ranks + 1.0, missing)
