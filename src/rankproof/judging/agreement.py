"""How far a judge agrees with people: Cohen's kappa (1960; weighted 1968), with an interval by bootstrap over queries.

Kappa is what two raters agree beyond chance, over what they could: (observed - expected) / (1 - expected), with each rater's own
frequencies for chance. The weighted one counts a disagreement by the square of its distance. Pairs of one query are alike, so
whole queries are drawn again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..analysis.statistics.bootstrap import Interval, resampled_means
from ..data.arrays import FloatArray, IntArray
from .pairs import Pair

RESAMPLES = 10_000
FEW_QUERIES = 20
"""With fewer queries than this an interval by bootstrap is too narrow, and a note says so."""


@dataclass(frozen=True, slots=True)
class Rated:
    """A pair that people graded, and the judge's grade: None where it failed."""

    pair: Pair
    human: int
    judge: int | None


@dataclass(frozen=True, slots=True)
class Statistic:
    """One measure of agreement; its interval is None where draws cannot tell."""

    name: str
    value: float | None
    interval: Interval | None
    pairs: int


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """For each query how often people gave grade i and the judge grade j, over the same grades on both sides."""

    grades: tuple[int, ...]
    counts: FloatArray

    @property
    def total(self) -> FloatArray:
        """Over all queries."""
        return np.asarray(self.counts.sum(axis=0))


def rated_pairs(human: Mapping[Pair, int], judge: Mapping[Pair, int | None]) -> list[Rated]:
    """The pairs that both looked at."""
    return [Rated(pair, grade, judge[pair]) for pair, grade in human.items() if pair in judge]


def cells_of(rated: Sequence[Rated]) -> Cells:
    """The graded pairs, counted."""
    both = [(each.pair.query, each.human, each.judge) for each in rated if each.judge is not None]
    grades = tuple(sorted({grade for _, human, judge in both for grade in (human, judge)}))
    place = {grade: at for at, grade in enumerate(grades)}
    queries = {query: at for at, query in enumerate(dict.fromkeys(query for query, _, _ in both))}
    counts = np.zeros((len(queries), len(grades), len(grades)))
    for query, human, judge in both:
        counts[queries[query], place[human], place[judge]] += 1
    return Cells(grades, counts)


def at_threshold(rated: Sequence[Rated], rel: int, judge_rel: int) -> list[Rated]:
    """The same with 1 for relevant and 0 for not."""
    return [
        Rated(each.pair, int(each.human >= rel), None if each.judge is None else int(each.judge >= judge_rel)) for each in rated
    ]


def kappas(cells: FloatArray, grades: Sequence[int], *, weighted: bool) -> FloatArray:
    """Kappa of each table in a stack of them; NaN where a rater's grades leave nothing to agree on."""
    values = np.array(grades, dtype=np.float64)
    apart = (values[:, None] - values[None, :]) ** 2 if weighted else (values[:, None] != values[None, :]).astype(np.float64)
    chance = cells.sum(axis=-1)[..., :, None] * cells.sum(axis=-2)[..., None, :]
    seen, expected = (apart * cells).sum(axis=(-2, -1)) * cells.sum(axis=(-2, -1)), (apart * chance).sum(axis=(-2, -1))
    return np.asarray(1 - np.divide(seen, expected, out=np.full_like(seen, np.nan), where=expected > 0))


def kappa(rated: Sequence[Rated], name: str, *, weighted: bool = False, seed: int = 0, resamples: int = RESAMPLES) -> Statistic:
    """Kappa of the graded pairs, with its interval of 95%; None where it is not defined."""
    cells = cells_of(rated)
    size = len(cells.grades)
    graded = int(cells.counts.sum())
    value = float(kappas(cells.total, cells.grades, weighted=weighted)) if graded else float("nan")
    if np.isnan(value):
        return Statistic(name, None, None, graded)
    drawn = _drawn(cells, resamples, seed).reshape(-1, size, size)
    return Statistic(name, value, _interval(kappas(drawn, cells.grades, weighted=weighted)), graded)


def agreed(rated: Sequence[Rated], name: str, *, seed: int = 0, resamples: int = RESAMPLES) -> Statistic:
    """The share of graded pairs with the same grade by both."""
    cells = cells_of(rated)
    size, graded = len(cells.grades), int(cells.counts.sum())
    if not graded:
        return Statistic(name, None, None, 0)
    same = np.eye(size, dtype=np.bool_)
    drawn = _drawn(cells, resamples, seed).reshape(-1, size, size)
    return Statistic(name, float(cells.total[same].sum() / graded), _interval(drawn[:, same].sum(1) / drawn.sum((1, 2))), graded)


def confusion(rated: Sequence[Rated], human: Sequence[int], judge: Sequence[int]) -> IntArray:
    """How often people gave each grade (rows) and the judge each (columns); the last column counts the failed."""
    found = np.zeros((len(human), len(judge) + 1), dtype=np.int64)
    for each in rated:
        found[human.index(each.human), len(judge) if each.judge is None else judge.index(each.judge)] += 1
    return found


def _drawn(cells: Cells, resamples: int, seed: int) -> FloatArray:
    """The sums of as many whole queries, drawn so many times; they are whole numbers."""
    means = resampled_means(cells.counts.reshape(len(cells.counts), -1), resamples, seed)
    return np.asarray(np.rint(means * len(cells.counts)))


def _interval(drawn: FloatArray) -> Interval | None:
    """The middle 95% of the draws, whole queries at a time; draws without a value are left out, and none where all are equal."""
    told = drawn[~np.isnan(drawn)]
    if len(told) < 2 or told.max() == told.min():
        return None
    low, high = np.quantile(told, [0.025, 0.975])
    return float(low), float(high)
