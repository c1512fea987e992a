"""The values of all systems under all conditions, their differences, and the conclusions as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.text import format_value, pluralise
from rankproof._statistics.intervals import Interval, mean_interval
from rankproof._statistics.paired import differences, holm
from rankproof._tokenizer_lab.measured import (
    SLOW_MS,
    MeasuredSystem,
    QueryCondition,
    column_means,
    difference_p,
    is_conclusive,
    widen_interval,
)
from rankproof.errors import for_message

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


def difference(system: MeasuredSystem, other: MeasuredSystem, measure: str) -> Difference:
    """The difference of two systems, or of one under two conditions, on the same queries."""
    return compute_differences([ValueMatrix.from_systems(system, other, measure)])[0]


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
        # Repeat i of one system is the same model under both conditions; the models of two systems are independent.
        return [ours - theirs] if self.one == self.other else [ours, theirs]

    def between_repeats(self) -> FloatArray:
        """The differences of means of every pair of repeats, or of each repeat with itself for one system."""
        first, *others = self.repeats()
        differences: FloatArray = np.subtract.outer(first, others[0]) if others else first
        return differences

    @classmethod
    def from_systems(cls, system: MeasuredSystem, other: MeasuredSystem, measure: str) -> ValueMatrix:
        repeated = system.system == other.system or not any(map(is_trained_once, (system, other)))
        return cls(system.system, other.system, system.values[measure], other.values[measure], repeated)


def compute_differences(pairs: Sequence[ValueMatrix]) -> list[Difference]:
    """The differences of pairs, which are one family of tests."""
    computed = []
    for pair in pairs:
        row, between = differences(column_means(pair.ours), column_means(pair.theirs)), pair.between_repeats()
        same_sign = bool((between > 0).all() or (between < 0).all())
        middle = float(row.mean())
        wide = widen_interval(mean_interval(row), middle, *pair.repeats())
        p = None if wide is None else difference_p(row, *pair.repeats())
        computed.append(Difference(pair.one, pair.other, middle, wide, same_sign, int(between.size), pair.repeated, p))
    return _corrected(computed)


def _corrected(pairs: Sequence[Difference]) -> list[Difference]:
    """The differences with p corrected by Holm for their number."""
    tested = [pair.p for pair in pairs if pair.p is not None]
    adjusted = iter(holm(np.array(tested)).tolist() if tested else ())
    return [pair if pair.p is None else replace(pair, p_adjusted=next(adjusted)) for pair in pairs]


def is_trained_once(entry: MeasuredSystem) -> bool:
    """Whether this is a trained encoder with a single seed."""
    return entry.family == "trained" and entry.repeats == 1


def pairwise_differences(entries: Sequence[MeasuredSystem], measure: str) -> list[Difference]:
    """Every pair of systems, the better one first."""
    ranked = sorted(entries, key=lambda entry: -entry.mean(measure))
    pairs = [ValueMatrix.from_systems(better, worse, measure) for better, worse in combinations(ranked, 2)]
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


_MIN_POINTS = 0.05
"""Ends of an interval below this many percentage points have one more digit."""


def describe_difference(pair: Difference, measure: str) -> str:
    """A difference in words."""
    names = for_message(pair.one), for_message(pair.other)
    if pair.is_reliable:
        better, worse = names if pair.mean > 0 else names[::-1]
        repeats = ", in every pair of repeats" if pair.pairs > 1 else ""
        return f"{better} is better than {worse} by {percentage_points(abs(pair.mean))} {measure} {interval_text(pair)}{repeats}"
    interval = f"{interval_text(pair)} pp" if pair.interval else "the same on every query" if pair.mean == 0 else "no interval"
    doubt = "signs differ between repeats" if pair.repeated else "single training"
    remark = f"; {doubt}" if pair.is_significant else ""
    return f"no reliable difference in {measure} between {names[0]} and {names[1]} ({interval}{remark})"


def percentage_points(value: float) -> str:
    """A value in percentage points."""
    return f"{100 * value:.1f} pp"


def interval_text(pair: Difference) -> str:
    """The interval of a difference in percentage points, as gains for a reliable difference."""
    if pair.interval is None:
        return "no interval"
    low, high = (100 * end for end in pair.interval)
    if pair.is_reliable and pair.mean < 0:
        low, high = -high, -low
    digits = 1 if min(abs(low), abs(high)) >= _MIN_POINTS else 2
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]"


_FEW, _MANY, _MIN_MS = 4, 6, 1e-6


def conclusions(comparison: TokenizerComparison) -> list[str]:
    """The sentences on quality, typos, languages and time."""
    return [
        *_quality_sentences(comparison),
        *_typo_sentences(comparison),
        *_language_sentences(comparison),
        *_time_sentences(comparison),
    ]


def _quality_sentences(comparison: TokenizerComparison) -> Iterator[str]:
    entries = _conclusive_systems(comparison, comparison.base_condition)
    if len(entries) < 2:
        return
    yield _best_sentence(comparison, entries)
    trained = [entry for entry in entries if entry.family == "trained"]
    if len(trained) > 1 and len(trained) < len(entries):
        yield f"among the trained encoders: {_best_sentence(comparison, trained)}"
    pairs = _pairs(comparison, trained if len(trained) > 1 else entries)
    if len(trained) > 1 or len(pairs) <= _MANY:
        yield from (describe_difference(pair, comparison.main) for pair in pairs)


def _conclusive_systems(comparison: TokenizerComparison, condition: QueryCondition) -> list[MeasuredSystem]:
    return [entry for entry in comparison.at_condition(condition) if is_conclusive(entry)]


def _pairs(comparison: TokenizerComparison, entries: Sequence[MeasuredSystem]) -> list[Difference]:
    """The pairs of these systems, all under one condition."""
    names = {entry.system for entry in entries}
    return [pair for pair in comparison.pairs(entries[0].condition) if {pair.one, pair.other} <= names]


def _best_sentence(comparison: TokenizerComparison, entries: Sequence[MeasuredSystem]) -> str:
    """The best system, and which systems it is reliably better than."""
    measure = comparison.main
    first, *others = sorted(entries, key=lambda entry: -entry.mean(measure))
    pairs = [pair for pair in _pairs(comparison, entries) if first.system in (pair.one, pair.other)]
    worse = [pair.other for pair in pairs if pair.is_reliable and pair.mean > 0]
    similar = [entry.system for entry in others if entry.system not in worse]
    head = f"{for_message(first.system)} has the highest {measure}, {format_value(first.mean(measure))}"
    parts = [f"better than {_names(worse)}"] if worse else []
    parts += [f"no reliable difference from {_names(similar)}"] if similar else []
    return f"{head}: {'; '.join(parts)}"


def _typo_sentences(comparison: TokenizerComparison) -> Iterator[str]:
    """The loss of each system by typos, if there are runs without typos."""
    if comparison.edits[0] != 0:
        return
    language, measure = comparison.base_condition.language, comparison.main
    for edits in comparison.edits[1:]:
        entries = _conclusive_systems(comparison, QueryCondition(language, edits))
        changes = {entry: comparison.change(entry) for entry in entries}
        falls = {
            entry: change for entry, change in changes.items() if change is not None and change.is_reliable and change.mean < 0
        }
        parts = [
            f"{for_message(entry.system)} loses {percentage_points(-fall.mean)} {interval_text(fall)}{_share(comparison, entry)}"
            for entry, fall in falls.items()
        ]
        others = [entry.system for entry in entries if entry not in falls]
        parts += [f"no reliable loss for {_names(others)}"] if others else []
        if parts:
            yield f"{measure} with {pluralise(edits, 'edit')} per query: {'; '.join(parts)}"


def _language_sentences(comparison: TokenizerComparison) -> Iterator[str]:
    """The best system in each language, and whether it is reliably better than all others."""
    if len(comparison.languages) < 2:
        return
    measure = comparison.main
    leads: dict[str, list[str]] = {}
    for language in comparison.languages:
        entries = _conclusive_systems(comparison, QueryCondition(language, comparison.edits[0]))
        if len(entries) > 1:
            first = max(entries, key=lambda entry: entry.mean(measure))
            pairs = [pair for pair in _pairs(comparison, entries) if first.system in (pair.one, pair.other)]
            mark = "" if all(pair.is_reliable for pair in pairs) else "*"
            leads.setdefault(first.system, []).append(f"{language}{mark}")
    if leads:
        listed = "; ".join(f"{for_message(name)} in {', '.join(lead)}" for name, lead in leads.items())
        yield f"highest {measure} by language (*: not reliably better than all others): {listed}"


def _time_sentences(comparison: TokenizerComparison) -> Iterator[str]:
    """The slowest system, if it is significantly slower, and the slow queries."""
    entries = comparison.at_condition(comparison.base_condition)
    slowest = max(entries, key=_median_ms)
    if len(entries) > 1 and all(_is_slower(slowest, entry) for entry in entries if entry is not slowest):
        yield f"{for_message(slowest.system)} is the slowest: {_median_ms(slowest):.1f} ms per query (p50, {comparison.store})"
    slow = {entry.system: int(entry.slow.sum()) for entry in entries if entry.slow.any()}
    listed = ", ".join(f"{for_message(name)} {count} of {entries[0].timed}" for name, count in slow.items())
    limit = f"{SLOW_MS:.0f} ms"
    yield f"timed queries over {limit}: {listed}" if slow else f"no timed query took more than {limit}"


def _median_ms(entry: MeasuredSystem) -> float:
    return float(np.median(entry.ms("total")))


def _is_slower(system: MeasuredSystem, other: MeasuredSystem) -> bool:
    """Whether the interval of the ratio of their times lies above 1; cached times are not compared."""
    if system.from_cache or other.from_cache:
        return False
    # By the ratio of each query, so that a few slow queries do not decide.
    ours, theirs = (np.log(np.maximum(entry.ms("total"), _MIN_MS)) for entry in (system, other))
    apart: FloatArray = ours - theirs
    interval = mean_interval(apart)
    return bool((interval[0] if interval else apart.mean()) > 0)


def _share(comparison: TokenizerComparison, entry: MeasuredSystem) -> str:
    share = comparison.relative_change(entry)
    return "" if share is None else f" ({-share:.0%})"


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(for_message, names[:_FEW])) + (f" and {len(names) - _FEW} more" if len(names) > _FEW else "")
