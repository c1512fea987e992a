"""Agreement of two raters, and of scores with labels; intervals treat the items of one query as dependent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankproof._data.arrays import FloatArray
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
