"""Agreement of several raters, not all of whom rated every item: Krippendorff's alpha, Fleiss' and Randolph's kappa.

Intervals are Student's t of Fisher's z with the jackknife's variance over queries, so items of one query may be dependent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._statistics.agreement import Agreement, fisher_interval

Level = Literal["nominal", "ordinal", "interval", "ratio"]
"""What the distance of two grades means."""


@dataclass(frozen=True, eq=False, slots=True)
class GradeCounts:
    """How many raters gave each grade (column, ascending) to each item (row), and the query of each item."""

    queries: tuple[str, ...]
    grades: tuple[int, ...]
    counts: IntArray

    @property
    def raters(self) -> IntArray:
        """How many raters rated each item."""
        return np.asarray(self.counts.sum(axis=1))

    def only(self, kept: BoolArray) -> GradeCounts:
        """The kept items."""
        return GradeCounts(
            tuple(query for query, keep in zip(self.queries, kept, strict=True) if keep), self.grades, self.counts[kept]
        )


def count_grades(items: Sequence[tuple[str, Sequence[int]]]) -> GradeCounts:
    """The counts of items, each with its query and the grades that raters gave it."""
    grades = sorted({grade for _, ratings in items for grade in ratings})
    place = {grade: at for at, grade in enumerate(grades)}
    counts = np.zeros((len(items), len(grades)), dtype=np.int64)
    for row, (_, ratings) in enumerate(items):
        np.add.at(counts[row], [place[grade] for grade in ratings], 1)
    return GradeCounts(tuple(query for query, _ in items), tuple(grades), counts)


def krippendorff_alpha(every: GradeCounts, level: Level) -> Agreement:
    """Krippendorff's alpha (2004, chapter 11) of the items that at least two raters rated.

    It is not defined where all ratings are the same grade; `ratio` also not for negative grades.
    """
    items = every.only(every.raters > 1)
    if not len(items.counts) or (level == "ratio" and items.grades[0] < 0):
        return Agreement(None, None, len(items.counts))

    def of(together: FloatArray) -> float:
        totals = together.sum(axis=1)
        apart = _LEVELS[level](np.array(items.grades, dtype=np.float64), totals)
        expected = float((apart * np.outer(totals, totals)).sum()) / max(float(totals.sum()) - 1, 1.0)
        return 1 - float((apart * together).sum()) / expected if expected > 0 else math.nan

    return _with_interval(items, _coincidences, of)


def _coincidences(counts: IntArray) -> FloatArray:
    """How often each two grades were given to the same item, an item with m ratings counting m times."""
    weighted = counts / (counts.sum(axis=1, keepdims=True) - 1)
    return np.asarray(weighted.T @ counts - np.diag(weighted.sum(axis=0)))


def _nominal(grades: FloatArray, totals: FloatArray) -> FloatArray:
    return np.asarray((grades[:, None] != grades[None, :]).astype(np.float64))


def _ordinal(grades: FloatArray, totals: FloatArray) -> FloatArray:
    # The ratings between two grades, each of the two by half.
    middle = np.cumsum(totals) - totals / 2
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)


def _interval(grades: FloatArray, totals: FloatArray) -> FloatArray:
    return np.asarray((grades[:, None] - grades[None, :]) ** 2)


def _ratio(grades: FloatArray, totals: FloatArray) -> FloatArray:
    both = grades[:, None] + grades[None, :]
    return np.asarray(np.divide(grades[:, None] - grades[None, :], both, out=np.zeros_like(both), where=both > 0) ** 2)


_LEVELS: Mapping[Level, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
    "ratio": _ratio,
}


def fleiss_kappa(items: GradeCounts) -> Agreement:
    """Fleiss' kappa (1971); every item must have the same number of ratings, at least two. Not defined for a single grade."""

    def of(sums: FloatArray) -> float:
        agreed, count, *totals = sums.tolist()
        ratings = math.fsum(totals)
        if not ratings:
            return math.nan
        chance = math.fsum((total / ratings) ** 2 for total in totals)
        return (agreed / count - chance) / (1 - chance) if chance < 1 else math.nan

    return _by_agreement(items, of)


def randolph_kappa(items: GradeCounts, grades: int) -> Agreement:
    """Randolph's free-marginal kappa (2005) with so many possible grades; every item must have the same number of ratings."""

    def of(sums: FloatArray) -> float:
        agreed, count = float(sums[0]), float(sums[1])
        return (agreed / count - 1 / grades) / (1 - 1 / grades) if grades > 1 else math.nan

    return _by_agreement(items, of)


def _by_agreement(items: GradeCounts, of: Callable[[FloatArray], float]) -> Agreement:
    """A kappa from the agreement of the items, their number, and how often each grade was given."""
    raters = items.raters
    if not len(raters):
        return Agreement(None, None, 0)
    assert (raters == raters[0]).all(), "every item has the same number of ratings"
    if raters[0] < 2:
        return Agreement(None, None, 0)
    return _with_interval(items, _agreement_sums, of)


def _agreement_sums(counts: IntArray) -> FloatArray:
    raters = counts.sum(axis=1)
    agreed = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    return np.concatenate(([agreed.sum(), len(counts)], counts.sum(axis=0)))


def _with_interval(items: GradeCounts, sums_of: Callable[[IntArray], FloatArray], of: Callable[[FloatArray], float]) -> Agreement:
    """The statistic of sums over the items, with the jackknife over queries."""
    places = {query: at for at, query in enumerate(dict.fromkeys(items.queries))}
    owners = np.array([places[query] for query in items.queries], dtype=np.int64)
    order = np.argsort(owners, kind="stable")
    bounds = np.searchsorted(owners[order], np.arange(len(places) + 1))
    parts = [sums_of(items.counts[order[start:end]]) for start, end in pairwise(bounds.tolist())]
    total = np.sum(parts, axis=0)
    value = of(total)
    if math.isnan(value):
        return Agreement(None, None, len(items.counts))
    without = np.array([of(_difference(total, part)) if len(parts) > 1 else math.nan for part in parts])
    if np.isnan(without).any():
        return Agreement(value, None, len(items.counts))
    influences = (without.mean() - without) * (len(parts) - 1) / len(parts)
    return Agreement(value, fisher_interval(value, influences), len(items.counts))


_ROUNDING = 1e-9


def _difference(total: FloatArray, part: FloatArray) -> FloatArray:
    """The sums of the other queries; what rounding leaves of a grade that only this query has is 0."""
    left: FloatArray = total - part
    left[np.abs(left) < _ROUNDING] = 0.0
    return left
