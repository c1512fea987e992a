"""Whether a system does any better than a random ranking of the corpus."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...align.hits import Hits
from ...data.arrays import FloatArray
from .check import CHANCE, Fault, Found, of_systems
from .lots import is_worse_than_random
from .rankings import DEPTH
from .subject import Subject

_ROOM = 2 * CHANCE
"""So many standard errors must lie between chance and a perfect ranking: then a system half as good can be told from luck."""


@dataclass(frozen=True, slots=True)
class Level:
    """Mean recall, the mean that a random ranking gives, and its standard error; `best` is what a perfect ranking gives."""

    seen: float
    expected: float
    error: float
    best: float
    queries: int

    @property
    def z(self) -> float:
        """Standard errors above chance."""
        return (self.seen - self.expected) / self.error

    @property
    def can_tell(self) -> bool:
        """Whether there is room above chance."""
        return self.best - self.expected > _ROOM * self.error


def at_random_level(subject: Subject) -> Found:
    """Systems whose recall is not clearly above a random ranking's; those clearly below have a check of their own."""
    levels = {name: _level(hits, subject) for name, hits in subject.hits.items() if not is_worse_than_random(hits, subject)}
    return of_systems(
        f"Recall@{DEPTH} is not clearly above a random ranking's",
        (
            Fault(name, level.queries, level.queries, _words(level))
            for name, level in levels.items()
            if level is not None and level.can_tell and level.z <= CHANCE
        ),
    )


def _words(level: Level) -> str:
    apart = f"{level.z:+.1f} standard errors apart, {level.queries} queries"
    return f"{level.seen:.3f}, where chance gives {level.expected:.3f} ({apart})"


def _level(hits: Hits, subject: Subject) -> Level | None:
    """Of N documents R are relevant and k stand in the top: k/N are found by chance, with the hypergeometric variance over R²."""
    relevant = hits.judged.relevant(subject.rel)
    asked = hits.present & (relevant > 0)
    if subject.size <= DEPTH or not asked.any():
        return None
    found = np.bincount(hits.owners[(hits.grades >= subject.rel) & (hits.ranks <= DEPTH)], minlength=len(hits.queries))[asked]
    good: FloatArray = np.minimum(relevant[asked], subject.size).astype(np.float64)
    top, size = np.minimum(hits.retrieved[asked], DEPTH), subject.size
    variance = top * good / size * (1 - good / size) * (size - top) / (size - 1) / good**2
    error = math.sqrt(float(variance.sum())) / len(good)
    if not error:
        return None
    best = float(np.mean(np.minimum(good, DEPTH) / good))
    return Level(float(np.mean(found / good)), float(np.mean(top / size)), error, best, len(good))
