"""Which documents share their score, and the best and worst order of those that do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...align.hits import Hits
from ...data.arrays import FloatArray, IntArray
from ...measures import Binary, Measure
from ...measures.gain import gains
from ..arrangements import Arrangement, hits_of
from ..listings import Listing

Worth = Callable[[IntArray], FloatArray]


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """Documents that share a score: the rank of the first, how many there are, and the places of those that are hits."""

    start: int
    size: int
    members: IntArray

    @property
    def ranks(self) -> range:
        """The ranks that its documents share."""
        return range(self.start, self.start + self.size)


def groups_of(hits: Hits, query: int, listing: Listing) -> list[Group]:
    """The groups of a query's list that hold a hit, from the top; a document that shares its score with none is one."""
    ranks, _ = hits_of(hits, query)
    starts = np.flatnonzero(np.concatenate(([True], listing.keys[1:] != listing.keys[:-1]))) + 1
    ends = np.append(starts[1:], len(listing.keys) + 1)
    owner = np.searchsorted(starts, ranks, side="right") - 1
    return [Group(int(starts[at]), int(ends[at] - starts[at]), np.flatnonzero(owner == at)) for at in np.unique(owner).tolist()]


def worth_for(measure: Measure) -> Worth:
    """What makes a document better than another in the eyes of a measure."""
    if isinstance(measure, Binary):
        return lambda grades: (grades >= measure.least).astype(np.float64)
    if measure.name == "Judged":
        return lambda grades: (grades >= 0).astype(np.float64)
    return lambda grades: gains(grades, getattr(measure, "gain", "linear"))


def is_open(group: Group, worth: FloatArray) -> bool:
    """Whether the order within the group can matter: its documents, the unjudged ones too, are not all worth the same."""
    own = worth[group.members]
    lowest = 0.0 if len(own) < group.size else float(own.min())
    return group.size > 1 and float(own.max()) != lowest


def extreme(hits: Hits, query: int, groups: list[Group], worth: FloatArray, *, best: bool) -> Arrangement:
    """The hits with the best of each group first, or last."""
    ranks, grades = hits_of(hits, query)
    moved = ranks.copy()
    for group in groups:
        order = group.members[np.argsort(-worth[group.members] if best else worth[group.members], kind="stable")]
        first = group.start if best else group.start + group.size - len(order)
        moved[order] = np.arange(first, first + len(order))
    return Arrangement(query, moved, grades)
