"""Nested cross-validation: settings chosen on the training queries of each fold, measured on its held-out queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.text import pluralise
from rankproof._statistics.deterministic import random_words, stream_key
from rankproof._statistics.distributions import student_quantile, student_two_sided
from rankproof._statistics.intervals import Interval, enough_differ
from rankproof._statistics.paired import differences, paired_statistics
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._tune.search import Search, Trials
    from rankproof._tune.space import Settings, Space

FOLDS, REPEATS = 5, 10
LEVEL = 0.95
_LEAST_IN_A_FOLD = 2


def fold_numbers(queries: int, folds: int, seed: int, repeat: int) -> IntArray:
    """The fold of each query: folds differ in size by at most one query."""
    words = random_words(stream_key(seed, "folds"), repeat * queries, queries)
    numbers = np.empty(queries, np.int64)
    numbers[np.argsort(words, kind="stable")] = np.arange(queries) % folds
    return numbers


def training_queries(queries: IntArray, numbers: IntArray, fold: int) -> IntArray:
    """The queries of the other folds."""
    others: IntArray = queries[numbers != fold]
    return others


def check_enough_queries(queries: int, folds: int) -> None:
    """Refuses folds with fewer than two queries, and fewer than two folds."""
    if folds < 2:
        raise UsageError(f"folds is {folds}", fix="choose at least 2")
    if queries < folds * _LEAST_IN_A_FOLD:
        what = f"{pluralise(queries, 'judged query is', 'judged queries are')} too few for {folds} folds"
        most = queries // _LEAST_IN_A_FOLD
        fix = f"lower --folds to {most}, or judge more queries" if most > 1 else "judge at least 4 queries"
        raise UsageError(what, fix=fix)


@dataclass(frozen=True, eq=False, slots=True)
class HeldOut:
    """The held-out values of tuned settings: a row for each repeat, a column for each query; the choice of each fold."""

    values: FloatArray
    chosen: tuple[Settings, ...]
    folds: int

    @property
    def means(self) -> FloatArray:
        """The mean of each query over the repeats."""
        means: FloatArray = self.values.mean(axis=0)
        return means


def cross_validate(
    trials: Trials, space: Space, search: Search, *, folds: int = FOLDS, repeats: int = REPEATS, seed: int = 0
) -> HeldOut:
    """Each query once in each repeat, measured with the settings that the queries of the other folds chose."""
    count = len(trials.queries)
    everything = np.arange(count)
    held, chosen = np.zeros((repeats, count)), []
    for repeat in range(repeats):
        numbers = fold_numbers(count, folds, seed, repeat)
        for fold in range(folds):
            train = training_queries(everything, numbers, fold)
            best = search(trials, space, train)
            tested = numbers == fold
            held[repeat, tested] = trials.held_out(best, train)[tested]
            chosen.append(best)
    return HeldOut(held, tuple(chosen), folds)


@dataclass(frozen=True, slots=True)
class HeldOutGain:
    """A mean difference, its interval and two-sided p; both None where too few queries differ."""

    mean: float
    interval: Interval | None
    p: float | None


def held_out_gain(held: HeldOut, baseline: FloatArray, weights: FloatArray | None = None) -> HeldOutGain:
    """The mean of held-out values minus those of a baseline, which is a row, or a row for each repeat.

    The variance is that of one repeat, times 1 + 1 / (folds - 1), as training sets overlap (Nadeau and Bengio 2003): the mean of
    repeats varies less from query to query, but as much from one sample of queries to another.
    """
    gains = np.stack([differences(row, base) for row, base in zip(held.values, _rows(baseline, held.values), strict=True)])
    mean = paired_statistics(gains.mean(axis=0), weights).mean
    statistics = [paired_statistics(row, weights) for row in gains]
    error = float(np.sqrt(np.mean([statistic.error**2 for statistic in statistics]) * held.folds / (held.folds - 1)))
    if not error or not enough_differ(gains.mean(axis=0), weights):
        return HeldOutGain(mean, None, None)
    freedom = statistics[0].freedom
    margin = student_quantile((1 + LEVEL) / 2, freedom) * error
    return HeldOutGain(mean, (mean - margin, mean + margin), student_two_sided(mean / error, freedom))


def _rows(values: FloatArray, like: FloatArray) -> Sequence[FloatArray]:
    return list(np.broadcast_to(values, like.shape))
