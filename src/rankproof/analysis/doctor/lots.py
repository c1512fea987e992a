"""Whether a system does worse than a draw of lots."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...align.hits import Hits
from ...data.arrays import FloatArray, IntArray
from .check import CHANCE, Fault, Found, of_systems
from .rankings import DEPTH
from .subject import Subject


@dataclass(frozen=True, slots=True)
class Lots:
    """Relevant documents seen in the top and expected there by chance, how many standard errors apart, over how many queries."""

    seen: int
    expected: float
    z: float
    queries: int


def worse_than_random(subject: Subject) -> Found:
    """Systems whose top holds fewer relevant documents than a draw of lots would put there."""
    faults = [_fault(name, *worst) for name, hits in subject.hits.items() if (worst := _worse(hits, subject))]
    return of_systems(f"relevant documents in the top {DEPTH} are fewer than by chance", faults)


def is_worse_than_random(hits: Hits, subject: Subject) -> bool:
    """Whether one system's are."""
    return _worse(hits, subject) is not None


def _worse(hits: Hits, subject: Subject) -> tuple[Lots, str] | None:
    """The first draw of lots that does clearly better, and what it draws from."""
    own = "the same documents in random order", hits.retrieved, _relevant(hits, subject.rel)
    size = np.full(len(hits.queries), subject.size, dtype=np.int64)
    any_document = "documents drawn at random", size, hits.judged.relevant(subject.rel)
    drawn = ((_drawn(hits, subject.rel, sizes, good), what) for what, sizes, good in (own, any_document))
    return next(((lots, what) for lots, what in drawn if lots is not None), None)


def _fault(name: str, lots: Lots, what: str) -> Fault:
    words = f"{lots.seen} in {lots.queries} queries, where {what} would give {lots.expected:.1f} ({lots.z:.1f} standard errors)"
    return Fault(name, lots.queries, lots.queries, words)


def _relevant(hits: Hits, rel: int) -> IntArray:
    return np.bincount(hits.owners[hits.grades >= rel], minlength=len(hits.queries))


def _drawn(hits: Hits, rel: int, sizes: IntArray, good: IntArray) -> Lots | None:
    """What is seen and what a draw without replacement would give; None where the difference is not clearly to the worse.

    Mean and variance are the hypergeometric distribution's, added up over the queries, which are independent.
    """
    can_tell = hits.present & (sizes > DEPTH)
    if not can_tell.any():
        return None
    top = np.bincount(hits.owners[(hits.grades >= rel) & (hits.ranks <= DEPTH)], minlength=len(hits.queries))
    seen, size = int(top[can_tell].sum()), sizes[can_tell].astype(np.float64)
    share: FloatArray = good[can_tell] / size
    expected = float(np.sum(DEPTH * share))
    variance = float(np.sum(DEPTH * share * (1 - share) * (size - DEPTH) / (size - 1)))
    z = (seen - expected) / math.sqrt(variance) if variance > 0 else 0.0
    return Lots(seen, expected, z, int(can_tell.sum())) if z <= -CHANCE else None
