"""The rule of a decision on live traffic, from intervals that are valid at every look to the record of a decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rankproof._analysis.decision.record import Costs, Decision, Kind, Outcome, PairDifference, Reason, SystemRisk
from rankproof._analysis.online.estimates import LEAST_USERS, LiveEstimate, SessionValues, SystemValue
from rankproof._analysis.online.evidence import GuardrailCheck, LiveEvidence, SessionsNeeded
from rankproof._statistics.confidence_sequence import growth_needed

MIN_USERS = 100
"""No verdict with fewer users with a click."""
LIKELY_BY_DATA = 0.85
"""The chance by the data alone at which 80% of open experiments decide: true differences are mostly smaller than first ones."""


@dataclass(frozen=True, eq=False)
class LiveCase:
    """What a decision is made of: the sessions by system, and what keeps them from deciding.

    `baseline` is the system that the user keeps unless another is better, None if nobody named it; with `has_baseline` the first
    system is kept like that, because it is named or the first of an interleaving record. `guardrail_checks` gives the guardrails
    of a system by its number.
    """

    values: SessionValues
    margin: float
    evidence: LiveEvidence
    costs: Costs = field(default_factory=Costs)
    baseline: str | None = None
    has_baseline: bool = False
    obstacles: tuple[str, ...] = ()
    per_day: float | None = None
    guardrail_checks: Callable[[int], Sequence[GuardrailCheck]] = lambda system: ()

    @cached_property
    def means(self) -> tuple[SystemValue, ...]:
        """The value of each system."""
        return tuple(self.values.value(system) for system in self.systems)

    @property
    def systems(self) -> range:
        """The numbers of the systems; 0 is the baseline if there is one."""
        return range(len(self.values.systems))

    @cached_property
    def pairs(self) -> dict[tuple[int, int], LiveEstimate]:
        """How much better each system is than each other one, oriented so that higher is better."""
        lower = self.values.measure.higher_is_better is False
        pairs = {}
        for first in self.systems:
            for second in range(first):
                pair = self.values.compare(first, second)
                pairs[first, second], pairs[second, first] = (pair.reversed(), pair) if lower else (pair, pair.reversed())
        return pairs

    def is_better(self, system: int, other: int) -> bool:
        """Whether the interval shows that a system is better than another."""
        return self.pairs[system, other].is_positive

    @cached_property
    def order(self) -> list[int]:
        """The systems, the one with the best differences first."""
        gains = {at: sum(self.pairs[at, other].difference for other in self.systems if other != at) for at in self.systems}
        return sorted(self.systems, key=lambda at: -gains[at])

    @cached_property
    def good(self) -> list[int]:
        """The systems that against each other one are better, or differ by less than the margin."""
        return [
            system
            for system in self.order
            if all(
                self.is_better(system, other) or self.pairs[system, other].is_within(self.margin)
                for other in self.systems
                if other != system
            )
        ]


def decide_live(case: LiveCase) -> Decision:
    """Ship, either, keep or not decided."""
    few, whom = case.values.fewest_clicking()
    if case.obstacles:
        return _open(case, "log", case.obstacles[0])
    if few < MIN_USERS:
        words = f"a decision needs at least {MIN_USERS} {whom}{_of_each(case)}, and {few:,} {'has' if few == 1 else 'have'} one"
        return _open(case, "few_users", words)
    chosen = _chosen(case)
    if not chosen:
        return replace(_open(case, "interval", ""), better=tuple(_certain(case)))
    checks = tuple(check for system in chosen if system for check in case.guardrail_checks(system))
    case = replace(case, evidence=replace(case.evidence, guardrails=checks))
    if any(not check.holds for check in checks):
        return _open(case, "guardrail", "", chosen)
    return _decided(case, chosen)


def _of_each(case: LiveCase) -> str:
    return " of each variant" if case.evidence.kind == "ab" else ""


def _chosen(case: LiveCase) -> list[int]:
    """The systems to ship or keep: of the good ones the cheapest, as offline."""
    good = case.good
    costs = {system: case.costs.of(case.values.systems[system]) for system in good}
    known = {system: cost for system, cost in costs.items() if cost is not None}
    if good and len(known) == len(good):
        left = [
            system
            for system in good
            if not any(case.is_better(other, system) and known[other] < 2 * known[system] for other in good if other != system)
        ] or good[:1]
        lowest = min(known[system] for system in left)
        good = [system for system in left if known[system] - lowest <= max(0.1 * known[system], case.costs.same_within)]
    return [system for system in good if not any(case.is_better(other, system) for other in good if other != system)] or good[:1]


def _decided(case: LiveCase, chosen: Sequence[int]) -> Decision:
    named = [system for system in chosen if case.values.systems[system] == case.baseline]
    first = (named or list(chosen))[0]
    systems = tuple(case.values.systems[system] for system in (named or sorted(chosen)))
    is_kept = bool(named) or (case.has_baseline and systems == case.values.systems[:1])
    outcome: Outcome = "keep" if is_kept else "either" if len(systems) > 1 else "ship"
    kind = None if outcome == "either" else _kind(case, first)
    return replace(_record(case, first), outcome=outcome, kind=kind, systems=systems)


def _kind(case: LiveCase, chosen: int) -> Kind:
    others = [other for other in case.systems if other != chosen]
    if all(case.is_better(chosen, other) for other in others):
        return "better"
    if any(case.is_better(other, chosen) for other in case.good if other != chosen):
        return "cheaper_and_worse"
    costs = [case.costs.of(case.values.systems[other]) for other in case.good if other != chosen]
    own = case.costs.of(case.values.systems[chosen])
    is_cheaper = own is not None and any(cost is not None and own < cost for cost in costs)
    return "cheaper" if is_cheaper and case.values.systems[chosen] != case.baseline else "safe"


def _open(case: LiveCase, reason: Reason, detail: str, chosen: Sequence[int] = ()) -> Decision:
    """Nothing is decided; `needed` says how many sessions would, if it is a matter of sessions."""
    first = chosen[0] if chosen else case.order[0]
    evidence = case.evidence
    # What few users do says little about the sessions of others.
    if reason == "interval" or (reason == "few_users" and case.values.fewest_clicking()[0] >= LEAST_USERS):
        evidence = replace(evidence, needed=sessions_needed(case, first))
    record = _record(replace(case, evidence=evidence), first)
    return replace(record, reason=reason, detail=detail)


def sessions_needed(case: LiveCase, leader: int) -> SessionsNeeded:
    """How many sessions decide between the leader and the system that is hardest to tell from it."""
    needed, is_clear = [], True
    for other in case.systems:
        if other == leader:
            continue
        pair = case.pairs[leader, other]
        if not math.isfinite(pair.error):
            is_clear = False
        if pair.is_positive or pair.is_within(case.margin) or not math.isfinite(pair.error):
            continue
        growths = (
            growth_needed(
                pair.difference,
                pair.error,
                pair.users,
                margin=case.margin,
                chance=chance,
                expected=case.values.expect,
                alpha=case.values.alpha,
            )
            for chance in (None, LIKELY_BY_DATA)
        )
        needed.append(tuple(math.inf if growth is None else growth for growth in growths))
    total, (few, _) = len(case.values.users), case.values.fewest_clicking()
    # Users come with sessions, so the least number of users takes as many times as much traffic.
    needed.append((MIN_USERS / few,) * 2 if few else (math.inf, math.inf))
    most = [max(values) for values in zip(*needed, strict=True)] if len(needed) > 1 or is_clear else [math.inf, math.inf]
    same, likely = (None if math.isinf(growth) else math.ceil(growth * total) for growth in most)
    return SessionsNeeded(same, likely, case.per_day)


def _record(case: LiveCase, first: int) -> Decision:
    """Everything but the outcome."""
    names, sessions = case.values.systems, len(case.values.users)
    return Decision(
        outcome="not_decided",
        measure=case.values.measure,
        margin=case.margin,
        n=sessions,
        queries=sessions,
        by_system=tuple(
            SystemRisk(mean.system, mean.value, None, None, None, case.costs.of(mean.system), 0.0) for mean in case.means
        ),
        leader=names[case.order[0]],
        rival=next((names[system] for system in case.order if system != first), None),
        race=len(names),
        looks="many",
        baseline=case.baseline,
        cost_unit=case.costs.unit,
        against=tuple(_difference(case, first, other) for other in case.order if other != first),
        live=case.evidence,
    )


def _certain(case: LiveCase) -> Iterator[PairDifference]:
    """The pairs with the baseline, or with the leader if there is none, that are certain where nothing is decided."""
    reference = 0 if case.has_baseline else case.order[0]
    for other in case.systems:
        if other != reference and case.is_better(other, reference):
            yield _difference(case, other, reference)
        elif other != reference and case.is_better(reference, other):
            yield _difference(case, reference, other)


def _difference(case: LiveCase, system: int, other: int) -> PairDifference:
    """A pair as the metric has it: a lower value of a metric where lower is better is a negative difference."""
    oriented = case.pairs[system, other]
    lower = case.values.measure.higher_is_better is False
    ci, value = oriented.known_ci, oriented.difference
    if lower:
        ci, value = None if ci is None else (-ci[1], -ci[0]), -value
    significant = oriented.is_positive or oriented.is_negative
    names = case.values.systems
    return PairDifference(names[system], names[other], value, ci, oriented.preferring, significant, oriented.error)
