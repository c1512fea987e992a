"""Checks for systems that are worse than a random ranking, or not better."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankproof._align.hits import Hits
from rankproof._analysis.doctor.check import Z_99, CheckResult, DoctorInput, SystemFault, doctor_check, result_of_systems
from rankproof._analysis.doctor.checks.rankings import DEPTH
from rankproof._data.arrays import FloatArray, IntArray

_MIN_RANGE = 2 * Z_99
"""The standard errors between a random and a perfect ranking that make a system half as good significantly better."""


@dataclass(frozen=True, slots=True)
class BelowRandomTest:
    """Relevant documents in the top, the expected number of a random ranking, their z-score and the number of queries."""

    observed: int
    expected: float
    z: float
    queries: int


@doctor_check(
    "worse-than-random",
    "severe",
    "systems with fewer relevant documents at the top than a random ranking",
    advice="check for scores that are distances, ids that do not match, or another corpus",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_order(lambda docs: [*docs[3:], *docs[:3]]),
)
def worse_than_random(inputs: DoctorInput) -> CheckResult:
    """Systems with significantly fewer relevant documents at the top than a random ranking."""
    faults = [_fault(name, *test) for name, hits in inputs.hits.items() if (test := _worse(hits, inputs))]
    return result_of_systems(f"the top {DEPTH} has fewer relevant documents than a random ranking", faults)


def is_worse_than_random(hits: Hits, inputs: DoctorInput) -> bool:
    """Whether one system has significantly fewer relevant documents at the top than a random ranking."""
    return _worse(hits, inputs) is not None


def _worse(hits: Hits, inputs: DoctorInput) -> tuple[BelowRandomTest, str] | None:
    """The first random ranking that is significantly better, and its description."""
    own = "the same documents in random order", hits.retrieved, _relevant(hits, inputs.rel)
    size = np.full(len(hits.queries), inputs.size, dtype=np.int64)
    any_document = "random documents of the corpus", size, hits.judged.relevant(inputs.rel)
    tests = ((_below_random_test(hits, inputs.rel, sizes, good), what) for what, sizes, good in (own, any_document))
    return next(((test, what) for test, what in tests if test is not None), None)


def _fault(name: str, test: BelowRandomTest, what: str) -> SystemFault:
    text = f"{test.observed} in {test.queries} queries; expected from {what}: {test.expected:.1f} (z = {test.z:.1f})"
    return SystemFault(name, test.queries, test.queries, text)


def _relevant(hits: Hits, rel: int) -> IntArray:
    return np.bincount(hits.query_index[hits.grades >= rel], minlength=len(hits.queries))


def _below_random_test(hits: Hits, rel: int, sizes: IntArray, good: IntArray) -> BelowRandomTest | None:
    """The test against random draws without replacement; None if the system is not significantly worse.

    Mean and variance are those of the hypergeometric distribution, added up over independent queries.
    """
    tested = hits.present & (sizes > DEPTH)
    if not tested.any():
        return None
    top = np.bincount(hits.query_index[(hits.grades >= rel) & (hits.ranks <= DEPTH)], minlength=len(hits.queries))
    observed, size = int(top[tested].sum()), sizes[tested].astype(np.float64)
    share: FloatArray = good[tested] / size
    expected = float(np.sum(DEPTH * share))
    variance = float(np.sum(DEPTH * share * (1 - share) * (size - DEPTH) / (size - 1)))
    z = (observed - expected) / math.sqrt(variance) if variance > 0 else 0.0
    return BelowRandomTest(observed, expected, z, int(tested.sum())) if z <= -Z_99 else None


@dataclass(frozen=True, slots=True)
class RandomLevelTest:
    """Mean recall, that of a random ranking with its standard error, and that of a perfect ranking."""

    observed: float
    expected: float
    error: float
    best: float
    queries: int

    @property
    def z(self) -> float:
        """Standard errors above a random ranking."""
        return (self.observed - self.expected) / self.error

    @property
    def has_power(self) -> bool:
        """Whether a good system could be significantly above a random ranking."""
        return self.best - self.expected > _MIN_RANGE * self.error


@doctor_check(
    "random-level",
    "severe",
    "systems whose Recall@10 is not significantly above a random ranking of the corpus",
    advice="check ids and weights; for an encoder the cause is its training, not its tokenization",
    needs=("corpus size", "judgements", "rankings"),
    broken=lambda example: example.with_order(lambda docs: [docs[0], *docs[3:13], *docs[1:3], *docs[13:]]),
)
def at_random_level(inputs: DoctorInput) -> CheckResult:
    """Systems whose recall is not significantly above a random ranking; those significantly below have their own check."""
    levels = {name: _level(hits, inputs) for name, hits in inputs.hits.items() if not is_worse_than_random(hits, inputs)}
    return result_of_systems(
        f"Recall@{DEPTH} is not significantly above a random ranking",
        (
            SystemFault(name, level.queries, level.queries, _level_text(level))
            for name, level in levels.items()
            if level is not None and level.has_power and level.z <= Z_99
        ),
    )


def _level_text(level: RandomLevelTest) -> str:
    return f"{level.observed:.3f}, random {level.expected:.3f} (z = {level.z:+.1f}, {level.queries} queries)"


def _level(hits: Hits, inputs: DoctorInput) -> RandomLevelTest | None:
    """Recall against k / N, the expected recall of k of N random documents, with the hypergeometric variance over R²."""
    relevant = hits.judged.relevant(inputs.rel)
    tested = hits.present & (relevant > 0)
    if inputs.size <= DEPTH or not tested.any():
        return None
    retrieved = np.bincount(hits.query_index[(hits.grades >= inputs.rel) & (hits.ranks <= DEPTH)], minlength=len(hits.queries))[
        tested
    ]
    good: FloatArray = np.minimum(relevant[tested], inputs.size).astype(np.float64)
    top, size = np.minimum(hits.retrieved[tested], DEPTH), inputs.size
    variance = top * good / size * (1 - good / size) * (size - top) / (size - 1) / good**2
    error = math.sqrt(float(variance.sum())) / len(good)
    if not error:
        return None
    best = float(np.mean(np.minimum(good, DEPTH) / good))
    return RandomLevelTest(float(np.mean(retrieved / good)), float(np.mean(top / size)), error, best, len(good))
