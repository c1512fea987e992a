"""The rule of a decision, from values by query and system to its record."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from rankproof._analysis.decision.queries_needed import queries_needed
from rankproof._analysis.decision.record import Costs, Decision, Kind, OtherMargin, PairDifference, Reason, SystemRisk
from rankproof._analysis.decision.scenarios import (
    MissingValues,
    ScenarioChoice,
    UnknownRankings,
    best_value,
    disagreement,
    largest_risks,
    scenario_choices,
    without_worst_value,
)
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.text import pluralise
from rankproof._statistics.decision_rule import (
    LOOK_LIMITS,
    SIGNIFICANT,
    Margin,
    PairEstimates,
    Risks,
    Selection,
    pair_estimates,
    risks,
    select,
)
from rankproof._statistics.distributions import normal_quantile
from rankproof._statistics.intervals import Interval, bounded_mean_interval, clip
from rankproof._statistics.labelled_means import LabelledMeans
from rankproof._statistics.means import are_even_weights, weighted_mean
from rankproof._statistics.options import Looks
from rankproof.errors import for_message
from rankproof.measures._base import Measure

MARGIN, RELATIVE_MARGIN = 0.02, 0.10
"""A system this much below the best is good enough: 2 percentage points, or 10% of the highest mean if that is less."""
MIN_QUERIES = 30
MAX_FAILED = 0.01
"""With more failed calls of a system than this share nothing is decided: an outage is not the quality of the system."""
UNEVEN_WEIGHTS = "weights are too uneven: sample queries in proportion to traffic and give no weights"
_GOOD_VALUE = 0.5
_STEPS_PER_MARGIN, _MARGIN_STEPS = 4, 20
"""Larger margins are tried in steps of a quarter of the margin, up to five times the margin."""


@dataclass(frozen=True, eq=False, slots=True)
class DecisionData:
    """What a decision is made of: values by query and system, costs, and how many of how many calls of a system failed.

    `queries` is the number of all queries, `without_relevant` of those left out because they have no relevant document. `too_few`
    says why too few of them tell something, empty if enough do; `copies` numbers the queries, the same for copies of one, if many
    are copies. `groups` has the conversation of each query by a number, None if each has its own. `judged_only` has the values
    after removing unjudged documents, `reversed_ties` those with tied documents in the opposite order, `equally_long` those of
    runs that are cut at the length of the shortest, `by_rank` those in the order of ranks that contradict scores; None if
    they are the same or unknown. `missing` says which values are missing; they are the worst ones in `values`. `labelled` has the
    means of all questions, if the values are people's of a random sample of them. `are_grades_reversed`: every system ranks lower
    grades above higher ones.
    """

    measure: Measure
    systems: tuple[str, ...]
    values: FloatArray
    weights: FloatArray | None = None
    costs: Costs = field(default_factory=Costs)
    failed: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    judged_only: FloatArray | None = None
    reversed_ties: FloatArray | None = None
    equally_long: FloatArray | None = None
    by_rank: FloatArray | None = None
    missing: MissingValues | None = None
    queries: int | None = None
    too_few: str = ""
    are_grades_reversed: bool = False
    copies: IntArray | None = None
    without_relevant: int = 0
    labelled: LabelledMeans | None = None
    groups: IntArray | None = None

    @property
    def is_lower_better(self) -> bool:
        """Whether lower values are better."""
        return self.measure.higher_is_better is False

    def oriented(self, values: FloatArray) -> FloatArray:
        """The values with higher ones better: 1 - x for a measure from 0 to 1 of which lower is better."""
        if not self.is_lower_better:
            return values
        return 1.0 - values if self.measure.is_fraction else -values

    @property
    def best_possible(self) -> float:
        """The best possible value, oriented; that of 0 if the measure has none."""
        return float(self.oriented(np.array([best_value(self.measure) or 0.0]))[0])

    def means(self) -> list[float]:
        """The mean of each system, as the measure has it."""
        if self.labelled is not None:
            return [float(mean) for mean in self.oriented(self.labelled.means)]
        return (
            [weighted_mean(column, self.weights) for column in self.values.T] if len(self.values) else [0.0] * len(self.systems)
        )

    def estimates(self) -> PairEstimates:
        """The differences of the systems with their standard errors."""
        if self.labelled is not None:
            return self.labelled.pairs()
        return pair_estimates(self.oriented(self.values), self.weights, self.groups)


def decide(
    data: DecisionData,
    *,
    margin: Margin | None = None,
    baseline: str | None = None,
    looks: Looks = "one",
    interval: Callable[[FloatArray], Interval | None] = lambda differences: None,
    seed: int = 0,
) -> Decision:
    """Recommends a system, or says why not.

    `baseline` is the system that the user keeps unless another is better; `interval` gives the interval of a mean of differences.
    """
    values = data.oriented(data.values)
    means = data.oriented(np.array(data.means())).tolist()
    amount = margin_amount(margin, max(means, default=0.0), data.measure)
    units = len(values) if data.groups is None else len(np.unique(data.groups))
    if len(data.systems) < 2 or min(units, len(values)) < 2:
        return _undecidable(data, means, amount, looks)
    case = _Case(data, values, data.estimates(), amount, looks)
    blocked = next(_obstacles(case), None)
    chosen = Selection(()) if blocked else case.select(amount)
    if blocked is None and not chosen.systems:
        blocked = "risk", ""
    if blocked is None:
        # Scenarios run only on a choice that stands as measured: they can keep a decision open, but never make one.
        kept = [at for at in chosen.systems if data.systems[at] == baseline]
        named = kept or chosen.systems
        case = replace(case, scenarios=_scenarios(case, named))
        blocked = next(_disagreements(case, named), None)
    if blocked is None:
        return _decided(case, chosen, means, baseline, interval)
    reason, detail = blocked
    decision = _record(case, means, case.estimates.best, interval)
    is_known = data.labelled is None and data.groups is None
    if is_known and (reason == "risk" or (reason == "few_queries" and case.size < MIN_QUERIES)):
        decision = replace(decision, needed=queries_needed(values, data.weights, amount, looks, MIN_QUERIES, seed=seed))
    if reason == "risk":
        decision = replace(decision, better=_pairs(case, _better(case, baseline), interval))
    return replace(decision, outcome="not_decided", reason=reason, detail=detail, baseline=baseline)


def margin_amount(margin: Margin | None, best: float, measure: Measure) -> float:
    """The margin in the unit of the measure: by default 2 pp, or 10% of the best mean if that is less; 0 if it must be named."""
    if margin is not None:
        return margin.amount * abs(best) if margin.is_share else margin.amount
    relative = RELATIVE_MARGIN * abs(best)
    return min(MARGIN, relative) if measure.is_fraction else relative


@dataclass(frozen=True, eq=False, slots=True)
class _Case:
    """The data of a decision with the differences of all pairs."""

    data: DecisionData
    values: FloatArray
    estimates: PairEstimates
    margin: float
    looks: Looks
    scenarios: Sequence[ScenarioChoice] = ()

    @property
    def size(self) -> float:
        return self.estimates.size

    def risks(self, margin: float) -> Risks:
        return risks(self.estimates, margin, self.looks)

    def largest_risks(self) -> Risks:
        """The risks at the margin, the largest over the scenarios."""
        return largest_risks([self.risks(self.margin), *(choice.risks for choice in self.scenarios)])

    def select(self, margin: float) -> Selection:
        return self.choose(self.estimates, margin)[1]

    def choose(self, estimates: PairEstimates, margin: float) -> tuple[Risks, Selection]:
        system_risks = risks(estimates, margin, self.looks)
        costs = [self.data.costs.of(name) for name in self.data.systems]
        return system_risks, select(estimates, system_risks, costs, self.data.costs.same_within)


def _undecidable(data: DecisionData, means: Sequence[float], margin: float, looks: Looks) -> Decision:
    """The decision on fewer than two systems, queries or conversations."""
    shown = _shown_means(data)
    best = data.systems[max(range(len(means)), key=means.__getitem__)] if means else None
    reason: Reason = "no_system" if not data.systems else "one_system" if len(data.systems) == 1 else "few_queries"
    n = len(data.values)
    return Decision(
        outcome=None if reason == "one_system" else "not_decided",
        measure=data.measure,
        margin=margin,
        n=n,
        queries=n if data.queries is None else data.queries,
        by_system=tuple(_system_risk(data, name, value) for name, value in shown.items()),
        leader=best,
        reason=reason,
        detail=few_text(data, "a decision", min(n, 1 if data.groups is not None else n)) if reason == "few_queries" else "",
        looks=looks,
        without_relevant=data.without_relevant,
        cost_unit=data.costs.unit,
        ci=_mean_interval(data) if reason == "one_system" else None,
    )


def _mean_interval(data: DecisionData) -> Interval | None:
    """The 95% interval of the mean of the only system."""
    return bounded_mean_interval(data.values[:, 0], within=data.measure.range, weights=data.weights)


def _shown_means(data: DecisionData) -> dict[str, float]:
    """The means, limited to the range of the measure, which a mean corrected by labels may leave."""
    return {name: clip(mean, data.measure.range) for name, mean in zip(data.systems, data.means(), strict=True)}


def _system_risk(
    data: DecisionData, name: str, value: float, risk: float | None = None, limit: float | None = None, rival: str | None = None
) -> SystemRisk:
    failed, calls = data.failed.get(name, (0, 1))
    return SystemRisk(name, value, risk, limit, rival, data.costs.of(name), failed / calls, data.costs.timed.get(name))


def _obstacles(case: _Case) -> Iterator[tuple[Reason, str]]:
    """What keeps anything from being decided, whatever the risks are."""
    data = case.data
    for name in data.systems:
        failed, calls = data.failed.get(name, (0, 1))
        if failed > MAX_FAILED * calls:
            yield "failed_calls", f"{failed:,} of {calls:,} calls of {for_message(name)} failed: run it again"
    if case.size < MIN_QUERIES:
        few = few_text(data, "a decision", case.size)
        yield "few_queries" if data.labelled is None else "few_labels", few
    if data.labelled is None and data.too_few:
        yield "few_queries", data.too_few
    if data.are_grades_reversed:
        yield "grades", "every system ranks lower grades above higher ones, as if 1 were the best grade"
    if not (case.values != _worst(case)).any():
        yield "all_worst", f"{data.measure} is {float(data.values.flat[0]):g} for every system and query"
    if case.margin <= 0:
        yield "margin", no_margin_text(data.measure)
    if without_worst := without_worst_value(data.measure, data.missing, data.systems):
        yield "missing", without_worst
    if data.weights is not None and not are_even_weights(data.weights):
        yield "weights", UNEVEN_WEIGHTS


def _worst(case: _Case) -> float:
    """The lowest possible value, or the lowest seen where the measure has no lowest."""
    return 0.0 if case.data.measure.is_fraction else float(case.values.min())


def few_queries_text(what: str, n: int, effective: float) -> str:
    """That a decision or a gate has too few queries."""
    size = f"n = {n:,}" if effective == n else f"n = {n:,}, with weights worth {effective:.0f}"
    return f"{what} needs at least {MIN_QUERIES} queries ({size})"


def few_text(data: DecisionData, what: str, effective: float) -> str:
    """That a decision or a gate has too few queries or conversations."""
    if data.groups is None:
        return few_queries_text(what, len(data.values), effective)
    turns, conversations = len(data.values), len(np.unique(data.groups))
    size = f"{turns:,} turns of {pluralise(conversations, 'conversation')}"
    worth = "" if round(effective) == conversations else f", worth {effective:.0f} of equal length"
    return f"{what} needs at least {MIN_QUERIES} conversations ({size}{worth})"


def no_margin_text(measure: Measure) -> str:
    """That a measure without a range from 0 to 1 has no usual margin."""
    return f"{measure} needs a margin: name it with --margin"


def _scenarios(case: _Case, chosen: Sequence[int]) -> list[ScenarioChoice]:
    """The choices where missing values, unjudged documents and the order of ties are not as measured."""
    data = case.data
    others: dict[UnknownRankings, FloatArray | None] = {
        "unjudged": data.judged_only,
        "ties": data.reversed_ties,
        "depth": data.equally_long,
        "ranks": data.by_rank,
    }
    known = {reason: data.oriented(values) for reason, values in others.items() if values is not None}
    choose = partial(case.choose, margin=case.margin)
    return scenario_choices(
        case.values, data.weights, data.missing, known, chosen, data.best_possible, choose, data.groups, data.copies
    )


def _disagreements(case: _Case, chosen: Sequence[int]) -> Iterator[tuple[Reason, str]]:
    """The scenarios in which another system is chosen."""
    for choice in case.scenarios:
        if not choice.keeps(chosen):
            yield choice.reason, disagreement(choice, chosen, case.data.missing, case.data.systems)


def _record(case: _Case, means: Sequence[float], first: int, interval: Callable[[FloatArray], Interval | None]) -> Decision:
    """Everything but the outcome."""
    data, largest = case.data, case.largest_risks()
    rows = [
        _system_risk(data, name, value, float(largest.risk[at]), float(largest.limit[at]), data.systems[largest.rival[at]])
        for at, (name, value) in enumerate(_shown_means(data).items())
    ]
    others = sorted((at for at in range(len(means)) if at != first), key=lambda at: -means[at])
    return Decision(
        outcome=None,
        measure=data.measure,
        margin=case.margin,
        n=len(case.values),
        queries=len(case.values) if data.queries is None else data.queries,
        by_system=tuple(rows),
        leader=data.systems[case.estimates.best],
        risk=rows[first].risk,
        limit=rows[first].limit,
        rival=rows[first].rival,
        race=largest.race,
        looks=case.looks,
        scenarios=tuple(choice.named(data.systems) for choice in case.scenarios),
        missing=() if data.missing is None else data.missing.counts(data.systems),
        without_relevant=data.without_relevant,
        cost_unit=data.costs.unit,
        against=_pairs(case, [(first, at) for at in others], interval),
    )


def _pairs(
    case: _Case, pairs: Sequence[tuple[int, int]], interval: Callable[[FloatArray], Interval | None]
) -> tuple[PairDifference, ...]:
    scores = case.estimates.scores()
    return tuple(_pair(case, *pair, interval, abs(float(scores[pair])) >= SIGNIFICANT) for pair in pairs)


def _pair(
    case: _Case, first: int, other: int, interval: Callable[[FloatArray], Interval | None], is_significant: bool
) -> PairDifference:
    data = case.data
    apart = data.values[:, first] - data.values[:, other]
    difference = weighted_mean(apart, data.weights) if data.labelled is None else data.means()[first] - data.means()[other]
    ci = interval(apart) if data.labelled is None else labelled_interval(data, data.labelled, first, other)
    return PairDifference(
        data.systems[first],
        data.systems[other],
        difference,
        ci,
        int(np.count_nonzero(apart)),
        is_significant=is_significant,
        error=float(case.estimates.errors[first, other]),
        failures=_failures(case, first, other),
        other_failures=_failures(case, other, first),
    )


def _failures(case: _Case, system: int, other: int) -> int:
    """The queries on which the system has the worst value and the other one at least half of the best; 0 without a range."""
    if not case.data.measure.is_fraction:
        return 0
    return int(((case.values[:, system] == 0) & (case.values[:, other] >= _GOOD_VALUE)).sum())


def _better(case: _Case, baseline: str | None) -> list[tuple[int, int]]:
    """Pairs of which the first system is certainly better, best first, corrected for their number (Bonferroni) and for looks.

    The second one is the baseline; without a baseline it is certainly below the leader, and the first one is not.
    """
    # Two-sided over the k - 1 pairs with the baseline, or over all k (k - 1) / 2 pairs.
    systems, scores, level = range(len(case.data.systems)), case.estimates.scores(), LOOK_LIMITS[case.looks]
    order = sorted(systems, key=lambda at: -float(case.estimates.differences[at].sum()))
    if baseline in case.data.systems:
        base = case.data.systems.index(str(baseline))
        needed = normal_quantile(1 - level / 2 / (len(systems) - 1))
        return [(at, base) for at in order if at != base and scores[at, base] >= needed]
    needed = normal_quantile(1 - level / len(systems) / (len(systems) - 1))
    below = [at for at in order if scores[case.estimates.best, at] >= needed]
    return [(at, other) for other in below for at in order if at not in below and scores[at, other] >= needed]


def labelled_interval(data: DecisionData, labelled: LabelledMeans, first: int, other: int) -> Interval:
    """The 95% interval of a difference by labels, as the measure has it."""
    low, high = data.measure.range
    seen = float(np.ptp(labelled.human))
    # The decision counts a further question anyway; without one, equal labels of few questions would look certain.
    further = labelled.interval_floor(high - low if math.isfinite(high - low) else seen)
    ends = labelled.difference_interval(first, other, further)
    return (-ends[1], -ends[0]) if data.is_lower_better else ends


def _decided(
    case: _Case,
    chosen: Selection,
    means: Sequence[float],
    baseline: str | None,
    interval: Callable[[FloatArray], Interval | None],
) -> Decision:
    """The decision with its outcome and kind, and a larger margin at which the choice would be another."""
    systems = case.data.systems
    # Equal means are ordered by name, so that the order of the input changes no sentence.
    ordered = sorted(chosen.systems, key=lambda at: (-means[at], systems[at]))
    named = tuple(systems[at] for at in ordered)
    first = systems.index(baseline) if baseline is not None and baseline in named else ordered[0]
    decision = replace(_record(case, means, first, interval), baseline=baseline)
    if baseline in named:
        return replace(decision, outcome="keep", kind=_kind(case, first, by_cost=False), systems=(systems[first],))
    decision = replace(decision, systems=named, other_margin=_other_margin(case, chosen))
    if len(named) > 1:
        return replace(decision, outcome="either")
    return replace(decision, outcome="ship", kind=_kind(case, first, by_cost=chosen.by_cost))


def _kind(case: _Case, at: int, *, by_cost: bool) -> Kind:
    """Why a system is shipped or kept."""
    system_risks = case.risks(case.margin)
    others = [other for other in range(len(case.data.systems)) if other != at]
    rearranged = [choice.risks for choice in case.scenarios if choice.reason in ("ties", "depth", "ranks")]
    if all(risks.below[other, at] for risks in (system_risks, *rearranged) for other in others):
        return "better"
    if any(system_risks.below[at, other] for other in system_risks.good):
        return "cheaper_and_worse"
    return "cheaper" if by_cost else "safe"


def _other_margin(case: _Case, chosen: Selection) -> OtherMargin | None:
    """The next larger margin, up to five times as large, at which one other system would be shipped."""
    step = case.margin / _STEPS_PER_MARGIN
    for at in range(_STEPS_PER_MARGIN + 1, _MARGIN_STEPS + 1):
        other = case.select(step * at)
        if len(other.systems) == 1 and other.systems[0] not in chosen.systems:
            return OtherMargin(step * at, case.data.systems[other.systems[0]])
    return None
