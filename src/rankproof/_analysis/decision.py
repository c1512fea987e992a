"""Which system to choose: the risk and the expected loss of each system, and the rule that decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.table import Column, Table
from rankproof._data.text import pluralise, query_range
from rankproof._data.view import View, Viewed
from rankproof._statistics.intervals import Interval
from rankproof._statistics.means import draw_means, effective_size, weighted_mean
from rankproof.measures._base import Measure

MARGIN = 0.02
"""A system this much below the best still counts as good enough: 2 percentage points."""
MAX_RISK = 0.05
MIN_QUERIES = 30
MAX_FAILED = 0.01
SAME_COST_SHARE, SAME_COST_MS = 0.10, 1.0
MANY_SYSTEMS = 3
"""The best of more systems than this has an optimistic value."""
MAX_QUERIES = 100_000
_STEPS_PER_MARGIN, _MARGIN_STEPS = 4, 20
_QUERY_STEP = math.sqrt(2)

CostUnit = Literal["given", "money", "ms"]


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of each system, None where unknown: given numbers, money per query, or the p50 of `timed` queries in ms."""

    unit: CostUnit | None = None
    by_system: Mapping[str, float | None] = field(default_factory=dict)
    timed: Mapping[str, int] = field(default_factory=dict)

    def of(self, system: str) -> float | None:
        """The cost of a system."""
        return self.by_system.get(system)

    def are_equal(self, one: float, other: float) -> bool:
        """Whether two costs count as equal: within 10% of the larger one, or within 1 ms."""
        apart = abs(one - other)
        return apart <= SAME_COST_SHARE * max(one, other) or (self.unit == "ms" and apart <= SAME_COST_MS)


@dataclass(frozen=True, slots=True)
class SystemRisk:
    """One system: its mean, its risk and expected loss, its cost, and the share of its queries that failed.

    `risk` is the probability that its true mean is more than the margin below the best one, `loss` the expected distance to it;
    both are None with one system or one query. `timed` is the number of queries behind a latency as its cost, else None.
    """

    name: str
    value: float
    risk: float | None
    loss: float | None
    cost: float | None
    failed: float
    timed: int | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """The strongest alternative to the recommended system; `difference` is its mean minus the mean of the recommended system.

    `ci` is the 95% interval, None where few queries differ; `differing` is how many do.
    """

    system: str
    difference: float
    ci: Interval | None
    differing: int


@dataclass(frozen=True, slots=True)
class Change:
    """The nearest margin, or number of queries, at which the choice changes; `system` is the new choice, None for no decision."""

    by: Literal["margin", "queries"]
    at: float
    system: str | None


@dataclass(frozen=True, slots=True, repr=False)
class Decision(Viewed):
    """The choice of a system by one measure.

    `system` is the recommended system, or the leading one if nothing is decided; None if no system retrieved anything. `reasons`
    say why nothing is decided. `queries_needed` is how many queries would be enough for a decision if the means stay the same.
    `judge_next` are the unjudged (query, document) pairs that could change the difference between `system` and its closest rival
    most; `unjudged` is the number of all such pairs. `optimistic` marks a system that was chosen from many: its value is probably
    too high. `judge_noise` is how much the difference from the alternative changes when a judge of claims is asked again, as a
    standard deviation; None unless it is more than half of the difference.
    """

    decided: bool
    measure: Measure
    margin: float
    n: int
    system: str | None
    baseline: str | None
    systems: tuple[SystemRisk, ...]
    cost_unit: CostUnit | None = None
    reasons: tuple[str, ...] = ()
    alternative: Alternative | None = None
    changes: tuple[Change, ...] = ()
    queries_needed: int | None = None
    judge_next: tuple[tuple[str, str], ...] = ()
    unjudged: int = 0
    optimistic: bool = False
    judge_noise: float | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The decision in words, the answer first."""
        from rankproof._analysis.decision_text import decision_sentences

        return decision_sentences(self)

    def _view(self) -> View:
        columns = (
            Column("system"),
            Column("value", "value"),
            Column("risk", "risk"),
            Column("loss", "value"),
            Column("cost", "number"),
        )
        rows = tuple((one.name, one.value, one.risk, one.loss, one.cost) for one in self.systems)
        title = f"Decision by {self.measure}, {pluralise(self.n, 'query', 'queries')}"
        return View(title, (Table("risks", "", columns, rows),) if rows else (), self.sentences)

    @property
    def timed_queries(self) -> str:
        """How many queries the latencies were measured on; empty if they are not the costs."""
        return query_range(one.timed for one in self.systems if one.timed is not None)

    def of(self, system: str) -> SystemRisk:
        """The risk of a system."""
        return next(one for one in self.systems if one.name == system)

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON."""
        plain = {name: value for name, value in asdict(self).items() if name != "measure"}
        return {"decided": self.decided, "measure": str(self.measure), **plain, "sentences": list(self.sentences)}

    def __str__(self) -> str:
        return " ".join(self.sentences)


@dataclass(frozen=True, eq=False, slots=True)
class DecisionData:
    """What a decision is made of: values by query and system, costs, and shares of failed queries.

    `judged_only` has the values after removing unjudged documents, None if they are the same or unknown.
    """

    measure: Measure
    systems: tuple[str, ...]
    values: FloatArray
    weights: FloatArray | None = None
    costs: Costs = field(default_factory=Costs)
    failed: Mapping[str, float] = field(default_factory=dict)
    judged_only: FloatArray | None = None

    @property
    def sign(self) -> float:
        """1, or -1 if lower values are better."""
        return -1.0 if self.measure.higher_is_better is False else 1.0


@dataclass(frozen=True, eq=False, slots=True)
class MeanDraws:
    """Drawn means as centre and deviations; higher is better. `most` is the largest possible distance of two means."""

    centre: FloatArray
    deviations: FloatArray
    most: float

    def shortfalls(self, scale: float = 1.0) -> FloatArray:
        """How far each system is below the best of each draw; `scale` multiplies the standard errors."""
        drawn = self.centre + scale * self.deviations
        return np.asarray(np.minimum(drawn.max(axis=1, keepdims=True) - drawn, self.most))


def decide(
    data: DecisionData,
    *,
    margin: float = MARGIN,
    baseline: str | None = None,
    interval: Callable[[FloatArray], Interval | None] = lambda differences: None,
    seed: int = 0,
) -> Decision:
    """Recommends a system, or says why not; `interval` gives the interval of a mean of differences."""
    if len(data.systems) < 2 or len(data.values) < 2:
        return _without_draws(data, margin, baseline)
    draws = mean_draws(data, data.values, seed)
    short = draws.shortfalls()
    chosen = _choose(short, margin, data)
    reasons = tuple(_reasons(data, margin, chosen, _choice_on_judged(data, margin, chosen.at, seed)))
    changes = () if reasons else tuple(_changes(draws, data, margin, chosen.at))
    return Decision(
        decided=not reasons,
        measure=data.measure,
        margin=margin,
        n=len(data.values),
        system=data.systems[chosen.at],
        baseline=baseline,
        systems=_risks(data, short, margin),
        cost_unit=data.costs.unit,
        reasons=reasons,
        alternative=_alternative(data, short, chosen.at, changes, interval),
        changes=changes,
        queries_needed=None if chosen.is_safe and _size(data) >= MIN_QUERIES else _queries_needed(draws, data, margin),
        optimistic=len(data.systems) > MANY_SYSTEMS,
    )


def _without_draws(data: DecisionData, margin: float, baseline: str | None) -> Decision:
    """The decision on fewer than two systems or two queries."""
    means = _means(data)
    best = max(means, key=lambda name: data.sign * means[name], default=None)
    return Decision(
        decided=False,
        measure=data.measure,
        margin=margin,
        n=len(data.values),
        system=best,
        baseline=baseline,
        systems=tuple(_unknown_risk(data, name, value) for name, value in means.items()),
        cost_unit=data.costs.unit,
        reasons=(_too_little(data),),
    )


def _unknown_risk(data: DecisionData, name: str, value: float) -> SystemRisk:
    return SystemRisk(name, value, None, None, data.costs.of(name), data.failed.get(name, 0.0), data.costs.timed.get(name))


def _too_little(data: DecisionData) -> str:
    if not data.systems:
        return "no system retrieved anything"
    if len(data.systems) == 1:
        return "there is only one system to choose from"
    return "there is no query" if not len(data.values) else "one query has no variance"


def _means(data: DecisionData) -> dict[str, float]:
    if not len(data.values):
        return dict.fromkeys(data.systems, 0.0)
    return {name: weighted_mean(data.values[:, at], data.weights) for at, name in enumerate(data.systems)}


def _size(data: DecisionData) -> float:
    """The number of queries, or the effective number of weighted queries."""
    return effective_size(len(data.values), data.weights)


def mean_draws(data: DecisionData, values: FloatArray, seed: int) -> MeanDraws:
    """Draws of the means of all systems from values by query and system."""
    oriented = data.sign * values
    centre = np.array([weighted_mean(column, data.weights) for column in oriented.T])
    deviations = draw_means(oriented, data.weights, seed=seed) - centre
    return MeanDraws(centre, deviations, most=1.0 if data.measure.is_fraction else math.inf)


@dataclass(frozen=True, slots=True)
class _Choice:
    """The index of the chosen system, and whether its risk is low enough."""

    at: int
    is_safe: bool


def _choose(short: FloatArray, margin: float, data: DecisionData) -> _Choice:
    """The cheapest system of low risk, or the one of least loss if no risk is low."""
    losses = short.mean(axis=0)
    safe = np.flatnonzero((short > margin).mean(axis=0) <= MAX_RISK).tolist()
    return _Choice(_cheapest(safe, losses, data), True) if safe else _Choice(int(np.argmin(losses)), False)


def _cheapest(safe: Sequence[int], losses: FloatArray, data: DecisionData) -> int:
    """The system of least loss among those of the lowest cost, or among all if a cost is unknown."""
    costs = [data.costs.of(data.systems[at]) for at in safe]
    known = [cost for cost in costs if cost is not None]
    if len(known) == len(safe):
        lowest = min(known)
        safe = [at for at, cost in zip(safe, known, strict=True) if data.costs.are_equal(cost, lowest)]
    return min(safe, key=lambda at: float(losses[at]))


def _choice_on_judged(data: DecisionData, margin: float, chosen: int, seed: int) -> int:
    """The choice without unjudged documents; the chosen system if those values are unknown, or if its risk is low with them."""
    if data.judged_only is None:
        return chosen
    short = mean_draws(data, data.judged_only, seed).shortfalls()
    return chosen if (short[:, chosen] > margin).mean() <= MAX_RISK else _choose(short, margin, data).at


def _reasons(data: DecisionData, margin: float, chosen: _Choice, on_judged: int) -> list[str]:
    """Why nothing is decided; empty if the choice stands."""
    from rankproof._analysis.decision_text import Reasons

    say, found = Reasons(data.measure, margin), []
    if not data.values.any():
        found.append(say.all_zero())
    if _size(data) < MIN_QUERIES:
        found.append(say.few_queries(len(data.values), _size(data), MIN_QUERIES))
    elif not chosen.is_safe:
        found.append(say.no_low_risk(MAX_RISK, len(data.values)))
    if on_judged != chosen.at:
        found.append(say.judged_only(data.systems[chosen.at], data.systems[on_judged]))
    failing = {name: share for name, share in data.failed.items() if name in data.systems and share > MAX_FAILED}
    return [*found, *(say.failed(name, share) for name, share in failing.items())]


def _risks(data: DecisionData, short: FloatArray, margin: float) -> tuple[SystemRisk, ...]:
    risks, losses = (short > margin).mean(axis=0).tolist(), short.mean(axis=0).tolist()
    every = (_unknown_risk(data, name, value) for name, value in _means(data).items())
    return tuple(replace(one, risk=risk, loss=loss) for one, risk, loss in zip(every, risks, losses, strict=True))


def _alternative(
    data: DecisionData,
    short: FloatArray,
    chosen: int,
    changes: Sequence[Change],
    interval: Callable[[FloatArray], Interval | None],
) -> Alternative:
    """The system of the nearest change, else the other system of least loss."""
    others = [at for at in range(len(data.systems)) if at != chosen]
    named = [data.systems.index(change.system) for change in changes if change.system is not None]
    other = named[0] if named else min(others, key=lambda at: float(short[:, at].mean()))
    differences = data.values[:, other] - data.values[:, chosen]
    mean, differing = weighted_mean(differences, data.weights), int(np.count_nonzero(differences))
    return Alternative(data.systems[other], mean, interval(differences), differing)


def _changes(draws: MeanDraws, data: DecisionData, margin: float, chosen: int) -> list[Change]:
    """The next larger margin with another choice, the next smaller one, and the next larger number of queries."""
    short, step = draws.shortfalls(), margin / _STEPS_PER_MARGIN
    larger = [step * at for at in range(_STEPS_PER_MARGIN + 1, _MARGIN_STEPS + 1)]
    smaller = [step * at for at in range(_STEPS_PER_MARGIN - 1, 0, -1)]
    found = [_first_change("margin", sizes, lambda at: _choose(short, at, data), data, chosen) for sizes in (larger, smaller)]
    found.append(_changed_by_queries(draws, data, margin, chosen))
    return [change for change in found if change is not None]


def _first_change(
    by: Literal["margin", "queries"],
    places: Sequence[float],
    choose: Callable[[float], _Choice],
    data: DecisionData,
    chosen: int,
) -> Change | None:
    for at in places:
        choice = choose(at)
        if not choice.is_safe:
            return Change(by, at, None)
        if choice.at != chosen:
            return Change(by, at, data.systems[choice.at])
    return None


def _changed_by_queries(draws: MeanDraws, data: DecisionData, margin: float, chosen: int) -> Change | None:
    """The number of queries, in steps of 1.4, at which the same means would lead to another choice."""
    n = len(data.values)
    sizes: list[float] = []
    while (size := n * _QUERY_STEP ** (len(sizes) + 1)) <= MAX_QUERIES:
        sizes.append(size)

    def choose(size: float) -> _Choice:
        return _choose(draws.shortfalls(math.sqrt(n / size)), margin, data)

    return _first_change("queries", sizes, choose, data, chosen)


def _queries_needed(draws: MeanDraws, data: DecisionData, margin: float) -> int | None:
    """The fewest queries at which the same means and variances would decide, by bisection; None above `MAX_QUERIES`."""
    n = len(data.values)
    share = n / _size(data)
    fewest = max(n + 1, math.ceil(MIN_QUERIES * share))

    def decides(size: int) -> bool:
        return _choose(draws.shortfalls(math.sqrt(n / size)), margin, data).is_safe

    if fewest > MAX_QUERIES or not decides(MAX_QUERIES):
        return None
    low, high = fewest - 1, MAX_QUERIES
    while high - low > 1 + low // 100:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high
