"""The values of all systems under all conditions, and their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.correction import holm
from rankproof._statistics.intervals import Interval, mean_interval
from rankproof._statistics.paired import differences
from rankproof._tokenizer_lab.measured import (
    MeasuredSystem,
    QueryCondition,
    column_means,
    difference_p,
    is_conclusive,
    widen_interval,
)

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of two systems on the same queries, with a 95% interval over queries and repeats.

    `same_sign` is true if the difference has the same nonzero sign in every pair of repeats; `repeated` is true if every trained
    encoder has several repeats, without which the variance of the training is unknown. `p_adjusted` is `p` corrected by Holm for
    the number of pairs; both are None without an interval.
    """

    one: str
    other: str
    mean: float
    interval: Interval | None
    same_sign: bool
    pairs: int
    repeated: bool = True
    p: float | None = None
    p_adjusted: float | None = None

    @property
    def is_significant(self) -> bool:
        """Whether the corrected p is at most 0.05."""
        return self.p_adjusted is not None and self.p_adjusted <= ALPHA

    @property
    def is_reliable(self) -> bool:
        """Whether it is significant and all pairs of repeats have the same sign, with several repeats."""
        return self.is_significant and self.same_sign and self.repeated


def difference(one: MeasuredSystem, other: MeasuredSystem, measure: str) -> Difference:
    """The difference of two systems, or of one under two conditions, on the same queries."""
    return compute_differences([ValueMatrix.from_systems(one, other, measure)])[0]


@dataclass(frozen=True, eq=False, slots=True)
class ValueMatrix:
    """The values of two systems, one row per repeat."""

    one: str
    other: str
    ours: FloatArray
    theirs: FloatArray
    repeated: bool = True

    def repeats(self) -> list[FloatArray]:
        """The means of the repeats of each system; for one system under two conditions, their differences."""
        ours, theirs = self.ours.mean(axis=1), self.theirs.mean(axis=1)
        return [ours - theirs] if self.one == self.other else [ours, theirs]

    def between_repeats(self) -> FloatArray:
        """The differences of means of every pair of repeats, or of each repeat with itself for one system."""
        first, *others = self.repeats()
        found: FloatArray = np.subtract.outer(first, others[0]) if others else first
        return found

    @classmethod
    def from_systems(cls, one: MeasuredSystem, other: MeasuredSystem, measure: str) -> ValueMatrix:
        repeated = one.system == other.system or not any(map(is_trained_once, (one, other)))
        return cls(one.system, other.system, one.values[measure], other.values[measure], repeated)


def compute_differences(pairs: Sequence[ValueMatrix]) -> list[Difference]:
    """The differences of pairs, which are one family of tests."""
    found = []
    for pair in pairs:
        row, each = differences(column_means(pair.ours), column_means(pair.theirs)), pair.between_repeats()
        same_sign = bool((each > 0).all() or (each < 0).all())
        middle = float(row.mean())
        wide = widen_interval(mean_interval(row), middle, *pair.repeats())
        p = None if wide is None else difference_p(row, *pair.repeats())
        found.append(Difference(pair.one, pair.other, middle, wide, same_sign, int(each.size), pair.repeated, p))
    return _corrected(found)


def _corrected(found: Sequence[Difference]) -> list[Difference]:
    """The differences with p corrected by Holm for their number."""
    tested = [one.p for one in found if one.p is not None]
    adjusted = iter(holm(np.array(tested)).tolist() if tested else ())
    return [one if one.p is None else replace(one, p_adjusted=next(adjusted)) for one in found]


def is_trained_once(entry: MeasuredSystem) -> bool:
    """Whether this is a trained encoder with a single seed."""
    return entry.family == "trained" and entry.repeats == 1


def pairwise_differences(entries: Sequence[MeasuredSystem], measure: str) -> list[Difference]:
    """Every pair of systems, the better one first."""
    ranked = sorted(entries, key=lambda entry: -entry.mean(measure))
    pairs = [ValueMatrix.from_systems(one, other, measure) for one, other in combinations(ranked, 2)]
    return compute_differences(pairs) if pairs else []


@dataclass(frozen=True, eq=False)
class TokenizerComparison:
    """All systems under all conditions; `chance` is the main measure of a random ranking, None if unknown.

    `left_out` is the number of queries excluded because an encoder was trained on them.
    """

    dataset: str
    documents: int
    measures: tuple[str, ...]
    entries: tuple[MeasuredSystem, ...]
    store: str = "memory"
    left_out: int = 0
    chance: float | None = None
    seed: int = 0
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def main(self) -> str:
        """The main measure, which the conclusions use."""
        return self.measures[0]

    @property
    def languages(self) -> list[str]:
        """In the order of the comparison."""
        return list(dict.fromkeys(entry.condition.language for entry in self.entries))

    @property
    def edits(self) -> list[int]:
        """The numbers of edits, ascending."""
        return sorted({entry.condition.edits for entry in self.entries})

    @property
    def base_condition(self) -> QueryCondition:
        """The base condition: first language, fewest edits."""
        return QueryCondition(self.languages[0], self.edits[0])

    def at_condition(self, condition: QueryCondition) -> list[MeasuredSystem]:
        """The systems under one condition, in order."""
        return [entry for entry in self.entries if entry.condition == condition]

    def entry(self, system: str, condition: QueryCondition) -> MeasuredSystem:
        """One system under one condition."""
        return next(entry for entry in self.at_condition(condition) if entry.system == system)

    def pairs(self, condition: QueryCondition) -> list[Difference]:
        """Every pair of systems under one condition in the main measure, the better one first.

        Models that were not trained for retrieval are excluded.
        """
        if condition not in self._pairs:
            self._pairs[condition] = pairwise_differences(list(filter(is_conclusive, self.at_condition(condition))), self.main)
        return self._pairs[condition]

    def change(self, entry: MeasuredSystem) -> Difference | None:
        """The change of the main measure by typos, on the same queries; None without typos or without a run without typos."""
        if entry.condition.edits == 0 or self.edits[0] != 0:
            return None
        key = entry.system, entry.condition
        if key not in self._changes:
            plain = self.entry(entry.system, QueryCondition(entry.condition.language, 0))
            self._changes[key] = difference(entry, plain, self.main)
        return self._changes[key]

    def relative_change(self, entry: MeasuredSystem) -> float | None:
        """The change as a share of the value without typos."""
        change = self.change(entry)
        if change is None:
            return None
        plain = self.entry(entry.system, QueryCondition(entry.condition.language, 0)).mean(self.main)
        return change.mean / plain if plain else None

    @cached_property
    def _pairs(self) -> dict[QueryCondition, list[Difference]]:
        return {}

    @cached_property
    def _changes(self) -> dict[tuple[str, QueryCondition], Difference]:
        return {}

    @property
    def systems(self) -> list[str]:
        """In the order of the comparison."""
        return [entry.system for entry in self.at_condition(self.base_condition)]
