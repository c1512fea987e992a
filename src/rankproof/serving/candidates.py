"""Which unjudged pairs are looked at closely where there are too many to look at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from heapq import nlargest
from math import log2

from ..analysis.holes.pairs import DEEPEST
from ..analysis.holes.unjudged import Holes
from ..analysis.listings import EMPTY
from ..measures import Measure
from .record import Pair


def closest(holes: Holes, measure: Measure, most: int) -> Holes:
    """The holes with at most so many pairs: those that the systems rank most differently, near the top."""
    apart = _apart(holes, min(getattr(measure, "cutoff", None) or DEEPEST, DEEPEST))
    if len(apart) <= most:
        return holes
    kept: dict[str, set[str]] = {query: set() for query in holes.unjudged}
    for query, doc in nlargest(most, apart, key=apart.__getitem__):
        kept[query].add(doc)
    return replace(holes, unjudged={query: frozenset(docs) for query, docs in kept.items()})


def _apart(holes: Holes, depth: int) -> Mapping[Pair, float]:
    """Each pair and the difference between the discounts of its ranks in the systems; a system that lacks it has 0."""
    found: dict[Pair, float] = {}
    for query, unjudged in holes.unjudged.items():
        ranked: dict[str, list[float]] = {}
        for lists in holes.lists.values():
            for rank, doc in enumerate(lists.get(query, EMPTY).docs[:depth], start=1):
                if doc in unjudged:
                    ranked.setdefault(doc, []).append(1 / log2(rank + 1))
        for doc, discounts in ranked.items():
            least = min(discounts) if len(discounts) == len(holes.lists) > 1 else 0.0
            found[query, doc] = max(discounts) - least
    return found
