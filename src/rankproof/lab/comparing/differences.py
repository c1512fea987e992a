"""Two systems apart: when a difference is called real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...analysis.statistics.bootstrap import Interval
from ...analysis.statistics.intervals import EVERYTHING
from ...analysis.statistics.paired import differences
from ...data.arrays import FloatArray
from .entry import Entry, intervals_of, mean_of
from .seeds import joined


@dataclass(frozen=True, slots=True)
class Difference:
    """One system less another on the same queries: the mean, its 95% interval (paired over queries, joined with the spread of
    repeats), and whether all pairs of repeats agree.

    `agree` says that the difference has the same sign, and is not 0, in every pair of a repeat of one with a repeat of the other;
    `repeated` that each trial was trained more than once, without which nothing is known of chance in the training.
    """

    one: str
    other: str
    mean: float
    interval: Interval | None
    agree: bool
    pairs: int
    repeated: bool = True

    @property
    def is_sure(self) -> bool:
        """Whether the interval excludes 0."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)

    @property
    def is_real(self) -> bool:
        """Whether the interval excludes 0 and every pair of repeats, of which each trial has some, has the same sign."""
        return self.is_sure and self.agree and self.repeated


def difference(one: Entry, other: Entry, measure: str) -> Difference:
    """How far two systems, or one under two conditions, are apart on the same queries."""
    return differences_of([Rows.of(one, other, measure)])[0]


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The values of two systems, a row for each repeat."""

    one: str
    other: str
    ours: FloatArray
    theirs: FloatArray
    repeated: bool = True

    def repeats(self) -> list[FloatArray]:
        """The means of the repeats of each system; those of one system under two conditions, less each other."""
        ours, theirs = self.ours.mean(axis=1), self.theirs.mean(axis=1)
        return [ours - theirs] if self.one == self.other else [ours, theirs]

    def between_repeats(self) -> FloatArray:
        """The differences of means: of every pair of repeats, or of each with itself where both are one system."""
        first, *others = self.repeats()
        found: FloatArray = np.subtract.outer(first, others[0]) if others else first
        return found

    @classmethod
    def of(cls, one: Entry, other: Entry, measure: str) -> Rows:
        repeated = one.system == other.system or not any(map(is_lone_trial, (one, other)))
        return cls(one.system, other.system, one.values[measure], other.values[measure], repeated)


def differences_of(pairs: Sequence[Rows]) -> list[Difference]:
    """The differences of pairs on the same queries, by the same resamples."""
    apart = [differences(mean_of(pair.ours), mean_of(pair.theirs)) for pair in pairs]
    found = []
    for pair, row, interval in zip(pairs, apart, intervals_of(apart, [EVERYTHING] * len(apart)), strict=True):
        each = pair.between_repeats()
        agree = bool((each > 0).all() or (each < 0).all())
        middle = float(row.mean())
        wide = joined(interval, middle, *pair.repeats())
        found.append(Difference(pair.one, pair.other, middle, wide, agree, int(each.size), pair.repeated))
    return found


def is_lone_trial(entry: Entry) -> bool:
    """Whether it is a trial that was trained once."""
    return entry.family == "trial" and entry.repeats == 1


def all_pairs(entries: Sequence[Entry], measure: str) -> list[Difference]:
    """Every pair of systems, the better one first."""
    ranked = sorted(entries, key=lambda entry: -entry.mean(measure))
    pairs = [Rows.of(one, other, measure) for one, other in combinations(ranked, 2)]
    return differences_of(pairs) if pairs else []
