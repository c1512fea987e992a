"""Searches for the best settings on training queries, and nested cross-validation on held-out queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.text import pluralise
from rankproof._statistics.deterministic import random_words, stream_key
from rankproof._statistics.distributions import student_quantile, student_two_sided
from rankproof._statistics.intervals import Interval, enough_differ
from rankproof._statistics.paired import differences, paired_statistics
from rankproof._tune.parameters import ParameterFamily, Settings, Space
from rankproof.errors import UsageError

SearchName = Literal["grid", "coordinate"]
# Values of 40 bits: the sum over 8 million queries still fits an int64.
_VALUE_BITS = 40
_INNER_FOLDS = 5
_MOST_ROUNDS = 100


class Objective(Protocol):
    """The values of settings on the queries, one for each query; higher or lower may be better."""

    @property
    def queries(self) -> tuple[str, ...]:
        """The judged queries, by id."""
        ...

    def values(self, settings: Sequence[Settings]) -> FloatArray:
        """A row for each settings; a trained method is fitted on all queries."""
        ...

    def is_trained(self, settings: Settings) -> bool:
        """Whether the settings are of a method that is fitted to judgements."""
        ...

    def fitted_values(self, settings: Settings, train: IntArray) -> FloatArray:
        """The values of all queries, by a method that is fitted on the training queries."""
        ...


class Trials:
    """Settings with their values, each computed once; sums of training queries have no rounding error.

    `weights` are those of the queries; `sign` is -1 where lower values are better. A value counts as a whole number of units, so
    that settings with equal means are equal on every machine.
    """

    def __init__(self, objective: Objective, *, weights: FloatArray | None = None, higher_is_better: bool = True) -> None:
        self.objective, self.queries = objective, objective.queries
        self._sign = 1.0 if higher_is_better else -1.0
        self._weights = np.ones(len(self.queries)) if weights is None else weights * (len(weights) / math.fsum(weights.tolist()))
        self._rows: dict[Settings, int] = {}
        self._values = np.zeros((0, len(self.queries)))
        self._numbers = np.zeros((0, len(self.queries)), np.int64)
        self._unit = 0.0
        self._inner: dict[tuple[Settings, bytes], int] = {}
        self._fitted: dict[tuple[Settings, bytes], FloatArray] = {}

    @property
    def settings(self) -> tuple[Settings, ...]:
        """All settings that were tried, in the order of the trials."""
        return tuple(self._rows)

    @property
    def differ(self) -> bool:
        """Whether two trials have different values on some query."""
        return bool(np.ptp(self._values, axis=0).any())

    def values_of(self, settings: Settings) -> FloatArray:
        """The values of all queries; those of a trained method are fitted on the same queries."""
        (row,) = self._known([settings])
        values: FloatArray = self._values[row]
        return values

    def held_out(self, settings: Settings, train: IntArray) -> FloatArray:
        """The values of all queries, of which those outside `train` are held out: a trained method is fitted on `train`."""
        if not self.objective.is_trained(settings):
            return self.values_of(settings)
        key = settings, train.tobytes()
        if key not in self._fitted:
            self._fitted[key] = self.objective.fitted_values(settings, train)
        return self._fitted[key]

    def sums(self, settings: Sequence[Settings], train: IntArray) -> list[int]:
        """What each settings add up to on the training queries, larger is better; a trained method by cross-validation inside."""
        rows = self._known(settings)
        inside = np.zeros(len(self.queries), np.int64)
        inside[train] = 1
        # All trials in their order need no copy.
        chosen = self._numbers if len(rows) == len(self._numbers) and rows == [*range(len(rows))] else self._numbers[rows]
        sums: list[int] = (chosen @ inside).tolist()
        for at, setting in enumerate(settings):
            if self.objective.is_trained(setting):
                sums[at] = self._inner_sum(setting, train)
        return sums

    def _inner_sum(self, settings: Settings, train: IntArray) -> int:
        """The sum over the training queries, each measured by a fit on the other folds of them."""
        key = settings, train.tobytes()
        if key not in self._inner:
            held_numbers = np.zeros(len(train), np.int64)
            numbers = fold_numbers(len(train), min(_INNER_FOLDS, len(train)), seed=0, repeat=0)
            for fold in range(int(numbers.max()) + 1):
                held = train[numbers == fold]
                values = self.held_out(settings, training_queries(train, numbers, fold))
                held_numbers[numbers == fold] = self._as_numbers(values)[held]
            self._inner[key] = int(held_numbers.sum())
        return self._inner[key]

    def _known(self, settings: Sequence[Settings]) -> list[int]:
        """The rows of the settings; those that are new are computed in one batch."""
        new = [setting for setting in dict.fromkeys(settings) if setting not in self._rows]
        if new:
            values = self.objective.values(new)
            self._rows.update({setting: len(self._rows) + at for at, setting in enumerate(new)})
            self._values = np.concatenate([self._values, values])
            self._numbers = np.concatenate([self._numbers, self._as_numbers(values)])
        return [self._rows[setting] for setting in settings]

    def _as_numbers(self, values: FloatArray) -> IntArray:
        signed = self._sign * self._weights * values
        # The unit of the first trials holds for all, so that sums of any two trials can be compared.
        if not self._unit:
            largest = float(np.abs(signed).max(initial=0.0)) or 1.0
            self._unit = math.ldexp(1.0, math.frexp(largest)[1] - _VALUE_BITS)
        return np.rint(signed / self._unit).astype(np.int64)


Search = Callable[[Trials, Space, IntArray], Settings]
"""From the trials, the space and the training queries to the best settings; ties go to the default, then to the earlier ones."""


def grid_search(trials: Trials, space: Space, train: IntArray) -> Settings:
    """The best of all combinations."""
    return _best(trials, space.grid(), train)


def coordinate_search(trials: Trials, space: Space, train: IntArray) -> Settings:
    """The best settings that changes of one parameter at a time reach from the defaults, in each family.

    Distances start at a quarter of the values and are halved when no change is better (Hooke and Jeeves 1961).
    """
    reached = [_descend(trials, family, train) for family in space.families]
    return _best(trials, [space.default, *reached], train)


def _descend(trials: Trials, family: ParameterFamily, train: IntArray) -> Settings:
    current, reach = family.start(), max((axis.reach for axis in family.axes), default=1)
    for _ in range(_MOST_ROUNDS):
        before = current
        for axis in family.axes:
            value = dict(current)[axis.name]
            near = axis.near(value, min(reach, axis.reach))
            current = _best(trials, [current, *(_changed(current, axis.name, neighbour) for neighbour in near)], train)
        if current == before and reach == 1:
            break
        reach = reach if current != before else reach // 2
    return current


def _changed(settings: Settings, name: str, value: object) -> Settings:
    return tuple((key, value if key == name else old) for key, old in settings)  # type: ignore[misc]


def _best(trials: Trials, settings: Sequence[Settings], train: IntArray) -> Settings:
    sums = trials.sums(settings, train)
    return settings[sums.index(max(sums))]


SEARCHES: Mapping[SearchName, Search] = {"grid": grid_search, "coordinate": coordinate_search}


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
    """Rejects folds with fewer than two queries, and fewer than two folds."""
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
