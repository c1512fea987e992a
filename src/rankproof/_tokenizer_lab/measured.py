"""MeasuredSystem: one system, one condition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._analysis.values import resample_count
from rankproof._data.arrays import FloatArray
from rankproof._data.text import pluralise
from rankproof._statistics.distributions import student_quantile
from rankproof._statistics.intervals import Interval, interval_of, resampled_means
from rankproof._tokenizer_lab.systems import SystemFamily
from rankproof._tokenizer_lab.token_counts import TokenCounts
from rankproof.errors import UsageError
from rankproof.measures._parse import parse_measure, parse_measures

_QUANTILE = 0.975


def widen_interval(interval: Interval | None, middle: float, *repeats: FloatArray) -> Interval | None:
    """The interval over queries, widened by how far the means of repeats lie apart; each array is those of one system.

    The two kinds of chance are independent, so their half-widths are joined as the sides of a right angle are. The one of the
    training is Student's t over the repeats, by Welch's degrees of freedom where there are two systems.
    """
    if interval is None:
        return None
    wide = _half_width([(float(means.var(ddof=1)) / len(means), len(means) - 1) for means in repeats if len(means) > 1])
    return middle - math.hypot(middle - interval[0], wide), middle + math.hypot(interval[1] - middle, wide)


def _half_width(parts: list[tuple[float, int]]) -> float:
    """Of the sum of means with these squared errors and degrees of freedom."""
    whole = sum(squared for squared, _ in parts)
    if not whole:
        return 0.0
    freedom = whole**2 / sum(squared**2 / free for squared, free in parts)
    return student_quantile(_QUANTILE, freedom) * math.sqrt(whole)


SLOW_MS = 100.0
"""What a query may take before it feels slow."""
TIME_PARTS = ("embed", "search", "total")


@dataclass(frozen=True, slots=True)
class QueryCondition:
    """In which language, and with how many typing errors in each query, the systems were asked."""

    language: str
    edits: int

    def __str__(self) -> str:
        return f"{self.language}, {pluralise(self.edits, 'edit')}"


@dataclass(frozen=True, eq=False)
class MeasuredSystem:
    """`values` and `times` (ms) have a row for each repeat and a column for each query.

    `encode_ms` is what one document took to encode, None for a system that does not; `training` is what the encoder says of how
    it was trained, empty where it says nothing, `sources` where the models of the repeats come from.
    """

    system: str
    family: SystemFamily
    condition: QueryCondition
    queries: tuple[str, ...]
    values: Mapping[str, FloatArray]
    times: Mapping[str, FloatArray]
    counts: TokenCounts
    index_bytes: int
    encode_ms: float | None
    training: str = ""
    from_cache: bool = False
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def repeats(self) -> int:
        """How many models stand behind it that differ in their seed alone."""
        return len(next(iter(self.values.values())))

    def per_query(self, measure: str) -> FloatArray:
        """For each query the mean over the repeats."""
        return column_means(self.values[measure])

    def mean(self, measure: str) -> float:
        """The mean over queries and repeats."""
        return float(self.values[measure].mean())

    def interval(self, measure: str) -> Interval | None:
        """The 95% interval of the mean, over queries and over repeats; None where the queries have no spread."""
        return self._intervals[measure]

    @cached_property
    def _intervals(self) -> dict[str, Interval | None]:
        ranges = [parse_measure(name).range for name in self.values]
        found = confidence_intervals([self.per_query(name) for name in self.values], ranges)
        return {name: self._widened(name, one, within) for name, one, within in zip(self.values, found, ranges, strict=True)}

    def _widened(self, measure: str, interval: Interval | None, within: Interval) -> Interval | None:
        """The interval joined with the spread of the repeats, inside of the measure's range."""
        wide = widen_interval(interval, self.mean(measure), self.values[measure].mean(axis=1))
        return wide and (max(wide[0], within[0]), min(wide[1], within[1]))

    def seed_range(self, measure: str) -> Interval:
        """The lowest and the highest mean of a repeat."""
        means = self.values[measure].mean(axis=1)
        return float(means.min()), float(means.max())

    def ms(self, part: str) -> FloatArray:
        """For each query the milliseconds of a part, the mean over the repeats."""
        return column_means(self.times[part])

    @cached_property
    def slow(self) -> NDArray[np.bool_]:
        """For each query whether it took longer than feels quick."""
        return self.ms("total") > SLOW_MS

    def quality_per_ms(self, measure: str) -> float | None:
        """Quality per millisecond: the mean of the measure over the median total time of a query."""
        middle = float(np.median(self.ms("total")))
        return self.mean(measure) / middle if middle else None


def column_means(rows: FloatArray) -> FloatArray:
    """The mean over the rows, those of one row to the last bit."""
    found: FloatArray = rows[0] if len(rows) == 1 else rows.mean(axis=0)
    return found


def confidence_intervals(columns: Sequence[FloatArray], within: Sequence[Interval]) -> list[Interval | None]:
    """The 95% intervals of means over the same queries, by the same resamples (BCa, or Student's t where they are few)."""
    resampled = resampled_means(np.column_stack(columns), resample_count(len(columns[0])), 0)
    return [interval_of(one, resampled[:, at], "bca", 0.95, within[at]) for at, one in enumerate(columns)]


DEFAULT_MEASURES = ("nDCG@10", "R@10", "RR", "R@1", "R@5", "P@1", "P@5", "P@10", "Success@10")
COLUMN_NAMES = {
    "R@1": "recall@1",
    "R@5": "recall@5",
    "R@10": "recall@10",
    "RR": "mrr",
    "P@1": "precision@1",
    "P@5": "precision@5",
    "P@10": "precision@10",
}
"""Those that every comparison has, and their plain names."""


def requested_measures(asked: Sequence[str] | None) -> list[str]:
    """The measures asked for, the first of which is the main one, and behind them those that every comparison has."""
    found = dict.fromkeys(str(one) for one in parse_measures([*(asked or DEFAULT_MEASURES), *COLUMN_NAMES]))
    first = parse_measures([next(iter(found))])[0]
    if not first.is_fraction or first.higher_is_better is False:
        raise UsageError(f"{first} cannot be the main measure", fix="name first one that is a mean from 0 to 1, such as nDCG@10")
    if strange := [name for name in found if parse_measures([name])[0].summary != "mean"]:
        raise UsageError(f"{strange[0]} is no mean over queries", fix="leave it out")
    return list(found)


def column_name(measure: str) -> str:
    """The column of a measure."""
    return COLUMN_NAMES.get(measure, measure)


_INCONCLUSIVE_NOTES = {
    "none": "untrained: its numbers say nothing about tokenization",
    "language model": "never trained for retrieval: its numbers say nothing about tokenization",
}
_CAUTION_NOTES = {"unknown": "nothing tells whether it was trained for retrieval"}


def training_kind(facts: Mapping[str, Any]) -> str:
    """What an encoder says of how it was trained, empty where it says nothing."""
    model = facts.get("model")
    told = model.get("training") if isinstance(model, Mapping) else None
    return told if isinstance(told, str) else ""


def is_conclusive(entry: MeasuredSystem) -> bool:
    """Whether the system's numbers may stand in a conclusion: those of a model not trained for retrieval may not."""
    return entry.training not in _INCONCLUSIVE_NOTES


def system_notes(entries: Sequence[MeasuredSystem], measure: str, chance: float | None) -> Iterator[str]:
    """A sentence for each thing that a reader must know of a system beside its numbers."""
    for entry in entries:
        told = _INCONCLUSIVE_NOTES.get(entry.training) or _CAUTION_NOTES.get(entry.training)
        if told:
            yield f"{entry.system}: {told}"
        if is_near_chance(entry, measure, chance):
            value = f"{measure} {entry.mean(measure):.4f}"
            yield f"{entry.system}: {value} is not clearly above that of a random ranking ({chance:.4f})"
        yield from (f"{entry.system}: {note}" for note in entry.notes)


def is_near_chance(entry: MeasuredSystem, measure: str, chance: float | None) -> bool:
    """Whether the interval reaches down to what a random ranking gives."""
    if chance is None:
        return False
    interval = entry.interval(measure)
    return (interval[0] if interval else entry.mean(measure)) <= chance
