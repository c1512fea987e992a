"""Methods that treat each run as a voter."""

from __future__ import annotations

import numpy as np

from rankproof._data.arrays import FloatArray, repeat_each
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.kernels import best_first, by_majority
from rankproof._fusion.method import Contributions, FusionSettings, fusion_method


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


def _places(contributions: Contributions) -> FloatArray:
    """c for the first of c candidates, one less a place; equal votes go to more Borda points, then to the larger id."""
    table, votes = contributions.table, np.argsort(contributions.weights, kind="stable")
    order = best_first(contributions.total(), table.offsets, table.docs)
    by_votes = by_majority(table.ranks[votes], contributions.weights[votes], table.offsets, order)
    places = np.empty(table.size)
    places[by_votes] = repeat_each(table.offsets[1:], np.diff(table.offsets)) - np.arange(table.size)
    return places


@fusion_method(
    "condorcet",
    "puts a document before another if more runs rank it higher; equal votes are decided by Borda points",
    uses=("weights",),
    by_rank=True,
    formula="c - place + 1, c = candidates, place in a merge sort by majority",
    source="Montague and Aslam 2002",
    aliases=("w_condorcet",),
    combine=_places,
    combined="which decide equal votes, and the votes of all pairs",
)
def condorcet(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """Condorcet fusion."""
    return borda_count(table, settings)
