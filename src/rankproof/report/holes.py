"""How much of what is shown was judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..analysis.listings import counted
from ..measures import Judged
from .material import Material

_USUAL = 10


@dataclass(frozen=True, slots=True)
class Shares:
    """System to the part of its first `cutoff` documents that somebody judged."""

    cutoff: int
    share: Mapping[str, float]


def judged_shares(material: Material) -> Shares:
    """The shares within the cutoff of the measure that verdicts are told in, else of the first 10."""
    cutoff = getattr(material.one.measure, "cutoff", None) or _USUAL
    measure = Judged @ cutoff
    found = {}
    for name, hits in material.holes.hits.items():
        found[name] = measure.summarise(measure.values(hits)[counted(hits, material.values[name])])
    return Shares(cutoff, found)
