"""Agreement of two or more raters, and of scores with labels; intervals treat the items of one query as dependent.

For two raters variances are by the delta method, for several by the jackknife over queries; both intervals are Student's t of
Fisher's z.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._statistics.distributions import student_quantile
from rankproof._statistics.intervals import Interval, effective_share_interval

FEW_QUERIES = 20
"""With fewer queries the interval is approximate, and a note says so."""

KappaWeights = Literal["none", "linear", "quadratic"]
"""How a disagreement counts: always the same, by its distance in grades, or by the square of it."""

_NO_VARIANCE = 1e-24


@dataclass(frozen=True, slots=True)
class RatedItem:
    """The grades that two raters gave to one item of a query."""

    query: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """A score, and whether people gave the item the positive label."""

    query: str
    score: float
    positive: bool


@dataclass(frozen=True, slots=True)
class Agreement:
    """A measure of agreement, None where it is not defined, with its 95% interval and the number of items."""

    value: float | None
    interval: Interval | None
    items: int


def kappas(cells: FloatArray, grades: Sequence[int], weights: KappaWeights = "none") -> FloatArray:
    """Cohen's kappa (1960, 1968) of each table in a stack of them; NaN where chance agreement is already complete."""
    apart = _distances(grades, weights)
    chance = cells.sum(axis=-1)[..., :, None] * cells.sum(axis=-2)[..., None, :]
    seen, expected = (apart * cells).sum(axis=(-2, -1)) * cells.sum(axis=(-2, -1)), (apart * chance).sum(axis=(-2, -1))
    return np.asarray(1 - np.divide(seen, expected, out=np.full_like(seen, np.nan), where=expected > 0))


def _distances(grades: Sequence[int], weights: KappaWeights) -> FloatArray:
    values = np.array(grades, dtype=np.float64)
    apart = np.abs(values[:, None] - values[None, :])
    return np.asarray({"none": (apart != 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weights])


def kappa(rated: Sequence[RatedItem], weights: KappaWeights = "none") -> Agreement:
    """Cohen's kappa, with linear or quadratic weights (1968) if asked for.

    The variance is the delta method's (Fleiss, Cohen and Everitt 1969), summed over queries; the interval is Student's t of
    Fisher's z of kappa. There is none where kappa is 1 or -1, or for one query.
    """
    grades = sorted({grade for item in rated for grade in (item.first, item.second)})
    place = {grade: at for at, grade in enumerate(grades)}
    rows, columns = (np.array([place[grade] for grade in side], dtype=np.int64) for side in _sides(rated))
    shares = np.zeros((len(grades), len(grades)))
    np.add.at(shares, (rows, columns), 1 / max(len(rated), 1))
    value = float(kappas(shares, grades, weights)) if rated else math.nan
    if math.isnan(value):
        return Agreement(None, None, len(rated))
    apart = _distances(grades, weights)
    expected = float((apart * shares.sum(1)[:, None] * shares.sum(0)[None, :]).sum())
    by_row, by_column = apart @ shares.sum(0), shares.sum(1) @ apart
    pulls = ((1 - value) * (by_row[rows] + by_column[columns] - expected) - apart[rows, columns]) / expected
    return Agreement(value, fisher_interval(value, _by_query([item.query for item in rated], pulls)), len(rated))


def _sides(rated: Sequence[RatedItem]) -> tuple[list[int], list[int]]:
    return [item.first for item in rated], [item.second for item in rated]


def _by_query(queries: Sequence[str], pulls: FloatArray) -> FloatArray:
    """The influence of each query on a mean of items."""
    places = {query: at for at, query in enumerate(dict.fromkeys(queries))}
    influences = np.zeros(len(places))
    np.add.at(influences, [places[query] for query in queries], pulls / len(pulls))
    return influences


def fisher_interval(value: float, influences: FloatArray) -> Interval | None:
    """Student's t of Fisher's z of the value, from the influence of each query; None for one query, or without a variance."""
    queries = len(influences)
    variance = float((influences**2).sum()) * queries / max(1, queries - 1)
    if queries < 2 or abs(value) >= 1 or variance < _NO_VARIANCE:
        return None
    margin = student_quantile(0.975, queries - 1) * math.sqrt(variance) / (1 - value * value)
    return math.tanh(math.atanh(value) - margin), math.tanh(math.atanh(value) + margin)


def same_grade(rated: Sequence[RatedItem]) -> Agreement:
    """The share of items with the same grade from both."""
    if not rated:
        return Agreement(None, None, 0)
    same = np.array([float(item.first == item.second) for item in rated])
    influences = _by_query([item.query for item in rated], same - same.mean())
    return Agreement(float(same.mean()), _share_interval(float(same.mean()), influences, len(influences)), len(rated))


def _share_interval(value: float, influences: FloatArray, queries: int) -> Interval | None:
    if queries < 2:
        return None
    variance = float((influences**2).sum()) * queries / (queries - 1)
    return effective_share_interval(value, variance, queries - 1, (0.0, 1.0), queries)


def auc(scored: Sequence[ScoredItem]) -> Agreement:
    """The probability that a positive item has a higher score than a negative one, ties as half; None without both.

    Scores that are all equal have no interval.
    The variance is that of DeLong, DeLong and Clarke-Pearson (1988), summed over queries (Obuchowski 1997). The rarer label
    limits what is known: the degrees of freedom are its number of queries less one.
    """
    positive = np.array([item.positive for item in scored], dtype=np.bool_)
    if not positive.any() or positive.all():
        return Agreement(None, None, len(scored))
    scores = np.array([item.score for item in scored], dtype=np.float64)
    won = np.empty(len(scored))
    won[positive] = _share_below(scores[positive], scores[~positive])
    won[~positive] = 1 - _share_below(scores[~positive], scores[positive])
    value = float(won[positive].mean())
    pulls = (won - value) * np.where(positive, len(scored) / positive.sum(), len(scored) / (~positive).sum())
    influences = _by_query([item.query for item in scored], pulls)
    queries = min(len({item.query for item in scored if item.positive is label}) for label in (True, False))
    interval = None if scores.min() == scores.max() else _share_interval(value, influences, queries)
    return Agreement(value, interval, len(scored))


def _share_below(scores: FloatArray, others: FloatArray) -> FloatArray:
    """For each score the share of the others below it, ties as half."""
    ordered = np.sort(others)
    below, up_to = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    return np.asarray((below + up_to) / (2 * len(others)))


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
