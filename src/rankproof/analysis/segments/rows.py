"""A segment of a system: its value, how sure that is, and how far it lies from the rest of the queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...data.arrays import FloatArray
from ...evaluation import MeasureResult
from ..statistics.bootstrap import Interval, resampled_means
from ..statistics.correction import CORRECTIONS, Correction
from ..statistics.intervals import interval_of
from ..statistics.labels import label_p
from ..statistics.settings import Sampling, check_choice, check_samples
from .groups import Grouping

LEAST = 10
"""Fewer queries than this are too few: no test is made of them, and nothing is claimed."""


@dataclass(frozen=True, slots=True)
class SegmentSettings(Sampling):
    """How segments are tested: `samples` deals of the labels, `resamples` for the intervals."""

    samples: int = 10_000
    correction: Correction = "holm"
    resamples: int = 10_000

    def __post_init__(self) -> None:
        Sampling.__post_init__(self)
        check_choice("correction", self.correction, Correction)
        check_samples("resamples", self.resamples)


@dataclass(frozen=True, slots=True)
class Row:
    """One segment of one system; `rest` is None where there is no other query, `p` where there was no test.

    `interval` is None where there is one query, or all have the same value.
    """

    system: str
    segment: str
    n: int
    value: float
    interval: Interval | None
    rest: float | None
    p: float | None = None

    @property
    def difference(self) -> float | None:
        """The segment's value less that of the rest."""
        return None if self.rest is None else self.value - self.rest

    def verdict(self, alpha: float) -> str:
        """What can be said of the segment against the rest."""
        if self.rest is None:
            return "no rest"
        if self.p is None:
            return "too few queries"
        if self.p > alpha or not self.difference:
            return "cannot tell"
        return "lower" if self.difference < 0 else "higher"


def rows_of(values: Mapping[str, MeasureResult], grouping: Grouping, settings: SegmentSettings) -> list[Row]:
    """Every segment of every system, p corrected over all of them; systems as they come, their lowest segment first."""
    found: list[Row] = []
    queries = {name: tuple(sorted(one.query_ids)) for name, one in values.items()}
    for ids in dict.fromkeys(queries.values()):
        names = [name for name in values if queries[name] == ids]
        columns = np.array([[each[query] for query in ids] for each in (values[name].per_query for name in names)])
        found += _alike(names, ids, columns.T, grouping, settings, values[names[0]].measure.range)
    order = list(values)
    return sorted(_corrected(found, settings), key=lambda row: (order.index(row.system), row.value, row.segment))


def _alike(
    names: Sequence[str],
    ids: Sequence[str],
    values: FloatArray,
    grouping: Grouping,
    settings: SegmentSettings,
    within: Interval,
) -> list[Row]:
    """The rows of systems whose means run over the same queries, in the order of their ids: a column of values each."""
    at = {query: place for place, query in enumerate(ids)}
    every = {name: sorted(at[query] for query in queries if query in at) for name, queries in sorted(grouping.segments.items())}
    places = {segment: chosen for segment, chosen in every.items() if chosen}
    sizes = [len(chosen) for chosen in places.values()]
    dealt = values[np.concatenate(list(places.values()))]
    p = label_p(dealt, sizes, samples=settings.samples, seed=settings.seed)
    found = []
    for index, (segment, chosen) in enumerate(places.items()):
        inside, outside = values[chosen], np.delete(values, chosen, axis=0)
        means = resampled_means(inside, settings.resamples, settings.seed)
        is_tested = min(len(inside), len(outside)) >= LEAST
        for column, name in enumerate(names):
            own = inside[:, column]
            rest = _mean(outside[:, column]) if len(outside) else None
            interval = interval_of(own, means[:, column], "bca", 1 - settings.alpha, within)
            chance = float(p[index, column]) if is_tested else None
            found.append(Row(name, segment, len(own), _mean(own), interval, rest, chance))
    return found


def _mean(values: FloatArray) -> float:
    return math.fsum(values.tolist()) / len(values)


def _corrected(rows: Sequence[Row], settings: SegmentSettings) -> list[Row]:
    tested = [row.p for row in rows if row.p is not None]
    raised = iter(CORRECTIONS[settings.correction](np.array(tested)).tolist() if tested else ())
    return [row if row.p is None else replace(row, p=next(raised)) for row in rows]
