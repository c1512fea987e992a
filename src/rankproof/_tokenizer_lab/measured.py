"""The values and times of one system under one condition, with intervals over queries and repeats."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray
from rankproof._data.text import pluralise
from rankproof._statistics.distributions import student_quantile
from rankproof._statistics.intervals import Interval, mean_interval
from rankproof._statistics.paired import paired_statistics
from rankproof._tokenizer_lab.systems import SystemFamily
from rankproof._tokenizer_lab.token_counts import TokenCounts
from rankproof.errors import UsageError
from rankproof.measures._parse import parse_measure, parse_measures

_QUANTILE = 0.975


def widen_interval(interval: Interval | None, middle: float, *repeats: FloatArray) -> Interval | None:
    """The interval over queries, widened by the variance of the means of the repeats; each array has those of one system.

    The two sources of variance are independent, so their half-widths add in squares. The half-width of the training is Student's
    t over the repeats, with Welch's degrees of freedom for two systems.
    """
    if interval is None:
        return None
    wide = _half_width([(float(means.var(ddof=1)) / len(means), len(means) - 1) for means in repeats if len(means) > 1])
    return middle - math.hypot(middle - interval[0], wide), middle + math.hypot(interval[1] - middle, wide)


def _half_width(parts: list[tuple[float, int]], quantile: float = _QUANTILE) -> float:
    """The half-width of a sum of means with these squared errors and degrees of freedom."""
    total = sum(squared for squared, _ in parts)
    if not total:
        return 0.0
    freedom = total**2 / sum(squared**2 / free for squared, free in parts)
    return student_quantile(quantile, freedom) * math.sqrt(total)


_STEPS = 45


def difference_p(differences: FloatArray, *repeats: FloatArray) -> float:
    """The two-sided p of a mean difference: 1 minus the level at which its widened interval reaches 0, by bisection."""
    statistics = paired_statistics(differences, None)
    parts = [(float(means.var(ddof=1)) / len(means), len(means) - 1) for means in repeats if len(means) > 1]
    # The widened interval has no closed form of p; 45 halvings are exact to 3e-14.
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        p = (low + high) / 2
        own = student_quantile(1 - p / 2, statistics.freedom) * statistics.error
        reaches = math.hypot(own, _half_width(parts, 1 - p / 2)) >= abs(statistics.mean)
        low, high = (p, high) if reaches else (low, p)
    return high


SLOW_MS = 100.0
"""Queries over this time count as slow."""
TIME_PARTS = ("embed", "search", "total")


@dataclass(frozen=True, slots=True)
class QueryCondition:
    """The language of the queries and the number of typos in each."""

    language: str
    edits: int

    def __str__(self) -> str:
        return f"{self.language}, {pluralise(self.edits, 'edit')}"


@dataclass(frozen=True, eq=False)
class MeasuredSystem:
    """One system under one condition; `values` and `times` (ms) have a row per repeat and a column per query.

    A query that was not timed has the time NaN, in every repeat.
    `encode_ms` is the time to encode a document, None without an encoder; `training` is how the encoder was trained, empty if
    unknown; `sources` are the sources of the models.
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
        """The number of models, which differ only in their seed."""
        return len(next(iter(self.values.values())))

    def per_query(self, measure: str) -> FloatArray:
        """The mean over the repeats for each query."""
        return column_means(self.values[measure])

    def mean(self, measure: str) -> float:
        """The mean over queries and repeats."""
        return float(self.values[measure].mean())

    def interval(self, measure: str) -> Interval | None:
        """The 95% interval of the mean, over queries and repeats; None if all queries have one value."""
        return self._intervals[measure]

    @cached_property
    def _intervals(self) -> dict[str, Interval | None]:
        ranges = {name: parse_measure(name).range for name in self.values}
        intervals = {name: mean_interval(self.per_query(name), within=within) for name, within in ranges.items()}
        return {name: self._widened(name, intervals[name], within) for name, within in ranges.items()}

    def _widened(self, measure: str, interval: Interval | None, within: Interval) -> Interval | None:
        """The interval widened by the variance of the repeats, within the range of the measure."""
        wide = widen_interval(interval, self.mean(measure), self.values[measure].mean(axis=1))
        return wide and (max(wide[0], within[0]), min(wide[1], within[1]))

    def seed_range(self, measure: str) -> Interval:
        """The lowest and highest mean of the repeats."""
        means = self.values[measure].mean(axis=1)
        return float(means.min()), float(means.max())

    def ms(self, part: str) -> FloatArray:
        """The milliseconds of a part for each timed query, averaged over the repeats."""
        return column_means(self.times[part])[self.is_timed]

    @cached_property
    def is_timed(self) -> NDArray[np.bool_]:
        """Whether each query was timed."""
        timed: NDArray[np.bool_] = ~np.isnan(self.times["total"][0])
        return timed

    @property
    def timed(self) -> int:
        """The number of timed queries."""
        return int(self.is_timed.sum())

    @cached_property
    def slow(self) -> NDArray[np.bool_]:
        """Whether each timed query is slow."""
        return self.ms("total") > SLOW_MS

    def quality_per_ms(self, measure: str) -> float | None:
        """The mean of the measure divided by the median total time of a query."""
        middle = float(np.median(self.ms("total")))
        return self.mean(measure) / middle if middle else None


def column_means(rows: FloatArray) -> FloatArray:
    """The mean over the rows; a single row is returned unchanged."""
    means: FloatArray = rows[0] if len(rows) == 1 else rows.mean(axis=0)
    return means


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
"""The measures that every comparison has, and their column names."""


def requested_measures(names: Sequence[str] | None) -> list[str]:
    """The requested measures, the first of which is the main one, then those that every comparison has."""
    measures = dict.fromkeys(str(measure) for measure in parse_measures([*(names or DEFAULT_MEASURES), *COLUMN_NAMES]))
    first = parse_measures([next(iter(measures))])[0]
    if not first.is_fraction or first.higher_is_better is False:
        raise UsageError(f"{first} cannot be the main measure", fix="put a mean between 0 and 1 first, such as nDCG@10")
    if other := [name for name in measures if parse_measures([name])[0].summary != "mean"]:
        raise UsageError(f"{other[0]} is not a mean over queries", fix="remove it")
    return list(measures)


def column_name(measure: str) -> str:
    """The column name of a measure."""
    return COLUMN_NAMES.get(measure, measure)


_INCONCLUSIVE_NOTES = {
    "none": "untrained: not usable to compare tokenizers",
    "language model": "not trained for retrieval: not usable to compare tokenizers",
}
_CAUTION_NOTES = {"unknown": "unknown whether it was trained for retrieval"}


def training_kind(facts: Mapping[str, Any]) -> str:
    """How an encoder was trained, empty if unknown."""
    model = facts.get("model")
    training = model.get("training") if isinstance(model, Mapping) else None
    return training if isinstance(training, str) else ""


def is_conclusive(entry: MeasuredSystem) -> bool:
    """Whether conclusions may use the system: not if its model was not trained for retrieval."""
    return entry.training not in _INCONCLUSIVE_NOTES


def system_notes(entries: Sequence[MeasuredSystem], measure: str, chance: float | None) -> Iterator[str]:
    """The notes on each system."""
    for entry in entries:
        note = _INCONCLUSIVE_NOTES.get(entry.training) or _CAUTION_NOTES.get(entry.training)
        if note:
            yield f"{entry.system}: {note}"
        if is_near_chance(entry, measure, chance):
            value = f"{measure} {entry.mean(measure):.4f}"
            yield f"{entry.system}: {value} is not significantly above a random ranking ({chance:.4f})"
        yield from (f"{entry.system}: {system_note}" for system_note in entry.notes)


def is_near_chance(entry: MeasuredSystem, measure: str, chance: float | None) -> bool:
    """Whether the interval includes the value of a random ranking or less."""
    if chance is None:
        return False
    interval = entry.interval(measure)
    return (interval[0] if interval else entry.mean(measure)) <= chance
