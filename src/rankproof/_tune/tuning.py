"""Tuning of any objective: the chosen settings, their held-out gain, the naive gain, and how stable the choice is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.validation import checked_integer
from rankproof._statistics.means import weighted_mean
from rankproof._tune.parameters import ParameterFamily, Settings, Space
from rankproof._tune.search import (
    FOLDS,
    REPEATS,
    SEARCHES,
    HeldOut,
    HeldOutGain,
    Objective,
    SearchName,
    Trials,
    check_enough_queries,
    cross_validate,
    held_out_gain,
)
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerMeasure
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure

MOST_VALUES = 50_000_000
"""Trials x queries of a grid search; each value takes 16 bytes."""


@dataclass(frozen=True, slots=True)
class TuningPlan:
    """How settings are searched and validated."""

    search: SearchName = "grid"
    folds: int = FOLDS
    repeats: int = REPEATS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.search not in SEARCHES:
            raise UsageError(f"no search is called {for_message(str(self.search))}", fix=f"choose one of {', '.join(SEARCHES)}")
        checked_integer("folds", self.folds, 2)
        checked_integer("repeats", self.repeats)
        checked_integer("seed", self.seed, 0)


@dataclass(frozen=True, eq=False, slots=True)
class TuningBaseline:
    """What the tuned settings are compared with: its held-out mean, and the held-out gain over it."""

    name: str
    value: float
    gain: HeldOutGain


@dataclass(frozen=True, eq=False, slots=True)
class TunedResult:
    """The settings chosen on all queries, the held-out gain of tuning, and the trials.

    `naive` is the gain of the chosen settings over the default ones on the queries that chose them. `best_single` is the best run
    alone with its mean on all queries, None for systems. `shares` is how often the folds chose each settings.
    """

    measure: Measure
    plan: TuningPlan
    space: Space
    queries: tuple[str, ...]
    weights: FloatArray | None
    best: Settings
    best_value: float
    held_out_value: float
    baselines: tuple[TuningBaseline, ...]
    naive: float
    held: HeldOut
    trials: Mapping[Settings, float] = field(default_factory=dict)
    best_single: tuple[str, float] | None = None

    @property
    def gain(self) -> HeldOutGain:
        """The held-out gain over the default settings."""
        return self.baselines[0].gain

    @property
    def optimism(self) -> float:
        """How much larger the naive gain is than the held-out one."""
        return self.naive - self.gain.mean

    @property
    def direction(self) -> float:
        """1 where higher values are better, -1 where lower ones are."""
        return -1.0 if self.measure.higher_is_better is False else 1.0

    @property
    def pays(self) -> bool:
        """Whether the interval of the held-out gain excludes no gain, on the better side."""
        interval = self.gain.interval
        return interval is not None and (interval[0] > 0 if self.direction > 0 else interval[1] < 0)

    @property
    def harms(self) -> bool:
        """Whether the interval of the held-out gain excludes no gain, on the worse side."""
        interval = self.gain.interval
        return interval is not None and (interval[1] < 0 if self.direction > 0 else interval[0] > 0)

    @property
    def shares(self) -> list[tuple[Settings, float]]:
        """Each settings that a fold chose, with the share of folds that chose it, most frequent first."""
        return [(settings, count / len(self.held.chosen)) for settings, count in Counter(self.held.chosen).most_common()]


def tunable_measure(measure: Measure | str) -> Measure:
    """A measure that can choose settings: a mean of rankings with a better direction."""
    parsed = parse_measure(measure)
    if isinstance(parsed, AnswerMeasure) or parsed.summary != "mean" or parsed.higher_is_better is None:
        raise UsageError(f"{parsed} cannot choose settings", fix="choose a mean of rankings, such as nDCG@10")
    return parsed


def tune_objective(
    objective: Objective,
    space: Space,
    measure: Measure,
    plan: TuningPlan,
    *,
    weights: FloatArray | None = None,
    singles: Mapping[str, Settings] | None = None,
) -> TunedResult:
    """The best settings of the space, and what they gain on queries that did not choose them.

    `singles` are alternatives without tuning, such as each run alone: the best of them is chosen on the training queries as well.
    """
    check_enough_queries(len(objective.queries), plan.folds)
    if plan.search == "grid" and space.size * len(objective.queries) > MOST_VALUES:
        what = f"{space.size:,} trials on {len(objective.queries):,} queries need too much memory"
        raise UsageError(what, fix="vary fewer parameters, or use --search coordinate")
    trials = Trials(objective, weights=weights, higher_is_better=measure.higher_is_better is not False)
    search = SEARCHES[plan.search]
    everything = np.arange(len(objective.queries))
    best = search(trials, space, everything)
    _reject_constant(trials, measure)
    validate = {"folds": plan.folds, "repeats": plan.repeats, "seed": plan.seed}
    held = cross_validate(trials, space, search, **validate)
    default = trials.values_of(space.default)
    tried = trials.settings
    baselines, best_single = [_baseline("default", held, default, weights)], None
    if singles:
        first, *rest = singles.values()
        choice = Space(first, tuple(ParameterFamily(setting, ()) for setting in rest))
        alone = cross_validate(trials, choice, SEARCHES["grid"], **validate)
        baselines.append(_baseline("best single run", held, alone.values, weights))
        best_single = _best_single(trials, singles, measure, weights)
    means = {setting: weighted_mean(trials.values_of(setting), weights) for setting in tried}
    return TunedResult(
        measure=measure,
        plan=plan,
        space=space,
        queries=objective.queries,
        weights=weights,
        best=best,
        best_value=means[best],
        held_out_value=weighted_mean(held.means, weights),
        baselines=tuple(baselines),
        naive=means[best] - means[space.default],
        held=held,
        trials=means,
        best_single=best_single,
    )


def _best_single(
    trials: Trials, singles: Mapping[str, Settings], measure: Measure, weights: FloatArray | None
) -> tuple[str, float]:
    means = {name: weighted_mean(trials.values_of(single), weights) for name, single in singles.items()}
    best = min if measure.higher_is_better is False else max
    name = best(means, key=means.__getitem__)
    return name, means[name]


def _baseline(name: str, held: HeldOut, values: FloatArray, weights: FloatArray | None) -> TuningBaseline:
    per_query = values if values.ndim == 1 else values.mean(axis=0)
    return TuningBaseline(name, weighted_mean(per_query, weights), held_out_gain(held, values, weights))


def _reject_constant(trials: Trials, measure: Measure) -> None:
    count = len(trials.settings)
    if count == 1:
        raise UsageError("there is one trial", fix="vary at least one parameter with two values")
    if not trials.differ:
        what = f"{measure} is the same for all {count} trials on every query"
        raise UsageError(what, fix="choose another measure, or vary another parameter")
