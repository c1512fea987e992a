"""Whether a system does worse than a random ranking, or no better."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankproof._align.hits import Hits
from rankproof._analysis.doctor.check import Z_99, CheckResult, DoctorInput, SystemFault, check, result_of_systems
from rankproof._analysis.doctor.checks.rankings import DEPTH
from rankproof._data.arrays import FloatArray, IntArray

_ROOM = 2 * Z_99
"""So many standard errors must lie between chance and a perfect ranking: then a system half as good can be told from luck."""


@dataclass(frozen=True, slots=True)
class Lots:
    """Relevant documents seen in the top and expected there by chance, how many standard errors apart, over how many queries."""

    seen: int
    expected: float
    z: float
    queries: int


@check(
    "worse-than-random",
    "severe",
    "systems whose top holds fewer relevant documents than lots would",
    advice="look for scores that are distances, for ids that do not match, or for another corpus",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_order(lambda docs: [*docs[3:], *docs[:3]]),
)
def worse_than_random(subject: DoctorInput) -> CheckResult:
    """Systems whose top holds fewer relevant documents than a draw of lots would put there."""
    faults = [_fault(name, *worst) for name, hits in subject.hits.items() if (worst := _worse(hits, subject))]
    return result_of_systems(f"relevant documents in the top {DEPTH} are fewer than by chance", faults)


def is_worse_than_random(hits: Hits, subject: DoctorInput) -> bool:
    """Whether one system's are."""
    return _worse(hits, subject) is not None


def _worse(hits: Hits, subject: DoctorInput) -> tuple[Lots, str] | None:
    """The first draw of lots that does clearly better, and what it draws from."""
    own = "the same documents in random order", hits.retrieved, _relevant(hits, subject.rel)
    size = np.full(len(hits.queries), subject.size, dtype=np.int64)
    any_document = "documents drawn at random", size, hits.judged.relevant(subject.rel)
    drawn = ((_drawn(hits, subject.rel, sizes, good), what) for what, sizes, good in (own, any_document))
    return next(((lots, what) for lots, what in drawn if lots is not None), None)


def _fault(name: str, lots: Lots, what: str) -> SystemFault:
    words = f"{lots.seen} in {lots.queries} queries, where {what} would give {lots.expected:.1f} ({lots.z:.1f} standard errors)"
    return SystemFault(name, lots.queries, lots.queries, words)


def _relevant(hits: Hits, rel: int) -> IntArray:
    return np.bincount(hits.query_index[hits.grades >= rel], minlength=len(hits.queries))


def _drawn(hits: Hits, rel: int, sizes: IntArray, good: IntArray) -> Lots | None:
    """What is seen and what a draw without replacement would give; None where the difference is not clearly to the worse.

    Mean and variance are the hypergeometric distribution's, added up over the queries, which are independent.
    """
    can_tell = hits.present & (sizes > DEPTH)
    if not can_tell.any():
        return None
    top = np.bincount(hits.query_index[(hits.grades >= rel) & (hits.ranks <= DEPTH)], minlength=len(hits.queries))
    seen, size = int(top[can_tell].sum()), sizes[can_tell].astype(np.float64)
    share: FloatArray = good[can_tell] / size
    expected = float(np.sum(DEPTH * share))
    variance = float(np.sum(DEPTH * share * (1 - share) * (size - DEPTH) / (size - 1)))
    z = (seen - expected) / math.sqrt(variance) if variance > 0 else 0.0
    return Lots(seen, expected, z, int(can_tell.sum())) if z <= -Z_99 else None


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


@check(
    "random-level",
    "severe",
    "systems whose Recall@10 is no better than that of a random ranking of the corpus",
    advice="check ids and weights; of an encoder this tells how it was trained, and nothing about its tokenization",
    needs=("corpus size", "judgements", "rankings"),
    broken=lambda example: example.with_order(lambda docs: [docs[0], *docs[3:13], *docs[1:3], *docs[13:]]),
)
def at_random_level(subject: DoctorInput) -> CheckResult:
    """Systems whose recall is not clearly above a random ranking's; those clearly below have a check of their own."""
    levels = {name: _level(hits, subject) for name, hits in subject.hits.items() if not is_worse_than_random(hits, subject)}
    return result_of_systems(
        f"Recall@{DEPTH} is not clearly above a random ranking's",
        (
            SystemFault(name, level.queries, level.queries, _level_words(level))
            for name, level in levels.items()
            if level is not None and level.can_tell and level.z <= Z_99
        ),
    )


def _level_words(level: Level) -> str:
    apart = f"{level.z:+.1f} standard errors apart, {level.queries} queries"
    return f"{level.seen:.3f}, where chance gives {level.expected:.3f} ({apart})"


def _level(hits: Hits, subject: DoctorInput) -> Level | None:
    """Of N documents R are relevant and k stand in the top: k/N are found by chance, with the hypergeometric variance over R²."""
    relevant = hits.judged.relevant(subject.rel)
    asked = hits.present & (relevant > 0)
    if subject.size <= DEPTH or not asked.any():
        return None
    found = np.bincount(hits.query_index[(hits.grades >= subject.rel) & (hits.ranks <= DEPTH)], minlength=len(hits.queries))[
        asked
    ]
    good: FloatArray = np.minimum(relevant[asked], subject.size).astype(np.float64)
    top, size = np.minimum(hits.retrieved[asked], DEPTH), subject.size
    variance = top * good / size * (1 - good / size) * (size - top) / (size - 1) / good**2
    error = math.sqrt(float(variance.sum())) / len(good)
    if not error:
        return None
    best = float(np.mean(np.minimum(good, DEPTH) / good))
    return Level(float(np.mean(found / good)), float(np.mean(top / size)), error, best, len(good))
