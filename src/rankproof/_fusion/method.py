"""Fusion methods: their records and their table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from rankproof._data.arrays import FloatArray
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._registry import RecordTable

Setting = Literal["k", "norm", "weights"]
SETTINGS: tuple[Setting, ...] = get_args(Setting)


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """The settings of a fusion other than its weights; a method reads those that its record names in `uses`."""

    k: float = 60.0
    norm: str = "min-max"

    def normalise(self, scores: FloatArray) -> FloatArray:
        """The scores of one ranking on the scale that `norm` names."""
        return NORMALISATIONS[self.norm].normalise(scores)


Points = Callable[[FloatArray, FusionSettings], FloatArray]
"""From the scores of one ranking of a query, best first, to the points of its documents."""


@dataclass(frozen=True, slots=True)
class FusionMethod:
    """One method: a document's score is the sum, over the rankings that have it, of weight x points.

    `uses` names the settings that change its result, `by_rank` says that it never looks at scores, and `times_found` that the sum
    is multiplied by the number of rankings that have the document. `summary` continues the name: "rrf adds 1 / (k + rank)".

    A method that is no such sum (CombMED, Condorcet) needs all rankings of a query at once: its record would hold a function from
    rankings to one ranking instead of `points`, which `Fuser` calls instead of the merge. A trained method (BayesFuse) is a
    function of either kind; what it learned is one more field of FusionSettings, named in `uses`.
    """

    name: str
    summary: str
    points: Points
    uses: tuple[Setting, ...]
    by_rank: bool
    times_found: bool
    source: str


METHODS: RecordTable[FusionMethod] = RecordTable(
    "fusion method", "rankproof.fusion_methods", f"{__package__}.methods", first=("reciprocal_rank",)
)


def method(
    name: str,
    summary: str,
    *,
    uses: tuple[Setting, ...],
    by_rank: bool = False,
    times_found: bool = False,
    source: str = "",
) -> Callable[[Points], Points]:
    """Registers a function of points as a fusion method; `source` is the paper that defines it."""

    def register(points: Points) -> Points:
        METHODS.add(FusionMethod(name, summary, points, uses, by_rank, times_found, source), points.__module__)
        return points

    return register
