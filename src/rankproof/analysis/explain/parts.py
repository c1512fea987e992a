"""The parts of one query's value, as the measure itself adds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...measures.found import summed
from ...measures.parts import Parts


@dataclass(frozen=True, slots=True)
class Part:
    """What one rank adds; `contribution` is scale x term / whole."""

    rank: int
    gain: float
    discount: float
    term: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Taken:
    """A value taken apart: scale x total / whole."""

    parts: tuple[Part, ...]
    total: float
    whole: float
    scale: float

    def by_rank(self) -> dict[int, Part]:
        """The parts that add something."""
        return {part.rank: part for part in self.parts if part.term}


def taken_apart(parts: Parts, query: int) -> Taken:
    """The parts of one query, by its place among the hits' queries."""
    total = summed(parts.hits.owners[parts.at], parts.terms, len(parts.hits.queries))[query]
    return Taken(tuple(_each(parts, query)), float(total), float(parts.whole[query]), parts.scale)


def _each(parts: Parts, query: int) -> Iterator[Part]:
    hits, whole = parts.hits, float(parts.whole[query])
    for index in np.flatnonzero(hits.owners[parts.at] == query).tolist():
        term = float(parts.terms[index])
        contribution = parts.scale * term / whole if whole else 0.0
        rank = int(hits.ranks[parts.at[index]])
        yield Part(rank, float(parts.gain[index]), float(parts.discount[index]), term, contribution)
