"""`gate --self-test`: how often a gate on repeats of the same system fails, and how far a mean varies by chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.compare.decision_data import with_relevant_documents
from rankproof._analysis.compare.joined_values import primary_measure
from rankproof._analysis.decision.decide import MIN_QUERIES, margin_amount
from rankproof._analysis.decision.sentences import points
from rankproof._analysis.gate.baseline import chosen_systems
from rankproof._analysis.gate.changes import oriented
from rankproof._analysis.gate.result import GateResult
from rankproof._analysis.gate.rules import GateCheck, GateOptions, Threshold
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import FloatArray
from rankproof._data.text import in_a_sentence, percent, pluralise
from rankproof._statistics.decision_rule import Margin
from rankproof._statistics.distributions import normal_below
from rankproof._statistics.gate_rule import GateOutcome, paired_change
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure

ROUNDS = 1_000
_MAX_ALARMS = 0.05


@dataclass(frozen=True, eq=False, slots=True)
class RepeatedSystem:
    """A system that was run several times: the values of each query, and how many of them one build has."""

    name: str
    measure: Measure
    values: tuple[FloatArray, ...]
    per_build: float

    @property
    def mean(self) -> float:
        """The mean over queries."""
        return float(np.mean([values.mean() for values in self.values]))

    @property
    def spread(self) -> float:
        """How far the mean of a build varies from run to run on the same queries, as a standard deviation."""
        freedom = sum(len(values) - 1 for values in self.values)
        within = math.fsum(float(((values - values.mean()) ** 2).sum()) for values in self.values) / freedom
        return math.sqrt(within / self.per_build / len(self.values))


def self_test(inputs: AnalysisInput, options: GateOptions, *, systems: Sequence[str] = ()) -> GateResult:
    """A check of each repeated system: false alarms between random halves, and thresholds that fail by chance."""
    options = options.for_inputs(inputs)
    primary = options.primary or primary_measure(inputs)
    options.check_margin([primary])
    checks = [_check_halves(system, options) for system in _repeated(inputs, primary, systems)]
    for threshold in options.thresholds:
        checks += [_check_threshold(system, threshold) for system in _repeated(inputs, threshold.measure, systems)]
    return GateResult(tuple(checks), unsure=options.unsure)


def _repeated(inputs: AnalysisInput, measure: str, names: Sequence[str]) -> list[RepeatedSystem]:
    """The systems with repeats; without any, all systems as runs of one."""
    chosen = chosen_systems(inputs, names)
    results = {system.name: system.measures[measure] for system in inputs.result.systems if system.name in chosen}
    parsed = next(iter(results.values())).measure
    repeats: dict[str, Mapping[str, FloatArray]] = {name: one.repeats for name, one in results.items() if one.repeats}
    per_build = {name: float(np.mean([len(values) for values in found.values()])) for name, found in repeats.items()}
    if not repeats and len(results) > 1:
        name, runs = in_a_sentence(list(results)), [one.per_query for one in results.values()]
        shared = [query for query in runs[0] if all(query in run for run in runs)]
        repeats, per_build = {name: {query: np.array([run[query] for run in runs]) for query in shared}}, {name: 1.0}
    if not repeats:
        fix = "run it several times (rankproof run --repeats 4), log several answers to each question, or pass two runs of it"
        raise UsageError("a self-test needs a system that was run more than once", fix=fix)
    return [
        RepeatedSystem(name, parsed, tuple(_counted(inputs, parsed, found)), per_build[name]) for name, found in repeats.items()
    ]


def _counted(inputs: AnalysisInput, measure: Measure, repeats: Mapping[str, FloatArray]) -> Iterator[FloatArray]:
    """The values of the queries that count and that have at least two."""
    counted = with_relevant_documents(inputs, measure, list(repeats))
    for values, counts in zip(repeats.values(), counted, strict=True):
        if counts and len(values) > 1:
            yield np.asarray(values, np.float64)


def _check_halves(system: RepeatedSystem, options: GateOptions) -> GateCheck:
    """How often a gate between random halves of the repeats fails."""
    n, measure, name = len(system.values), system.measure, for_message(system.name)
    if n < MIN_QUERIES:
        what = f"a self-test needs at least {MIN_QUERIES} queries with repeats (n = {n:,})"
        return GateCheck("self-test", system.name, "unsure", f"{name}: {what}.", str(measure), n=n)
    outcomes = half_outcomes(system, options.margin_of(str(measure)), options.seed)
    shares = {outcome: outcomes.count(outcome) / len(outcomes) for outcome in ("passed", "failed", "unsure")}
    result: GateOutcome = "passed" if shares["failed"] <= _MAX_ALARMS else "unsure"
    counts = f"{percent(shares['failed'])} failed, {percent(shares['passed'])} passed, {percent(shares['unsure'])} were unsure"
    gates = f"of {ROUNDS:,} gates between random halves of its repeats {counts}"
    varies = f"the mean of {measure} varies by {points(system.spread, measure)} from run to run (standard deviation)"
    sentence = f"{name}: {gates}; {varies}, {pluralise(n, 'query', 'queries')}."
    return GateCheck("self-test", system.name, result, sentence, str(measure), value=system.mean, n=n, is_notable=True)


def half_outcomes(system: RepeatedSystem, margin: Margin | None, seed: int = 0, rounds: int = ROUNDS) -> list[GateOutcome]:
    """The outcomes of gates between two random halves of the repeats of each query."""
    draws = np.random.default_rng(seed)
    sizes = {len(values) for values in system.values}
    groups = [np.array([values for values in system.values if len(values) == size]) for size in sorted(sizes)]
    outcomes: list[GateOutcome] = []
    for _ in range(rounds):
        halves = oriented(np.concatenate([_halves(draws.permuted(group, axis=1)) for group in groups]), system.measure)
        amount = margin_amount(margin, float(halves.mean(axis=0).max()), system.measure)
        outcomes.append(paired_change(halves[:, 0], halves[:, 1]).outcome(amount))
    return outcomes


def _halves(values: FloatArray) -> FloatArray:
    """The means of the two halves of each row, which leave the last value out if their number is odd."""
    half = values.shape[1] // 2
    return np.column_stack([values[:, :half].mean(axis=1), values[:, half : 2 * half].mean(axis=1)])


def chance_to_miss(mean: float, spread: float, threshold: Threshold) -> float:
    """The share of runs of the same system whose mean misses the threshold by chance."""
    if spread == 0:
        return 0.0 if threshold.is_met(mean) else 1.0
    sign = 1.0 if threshold.sign.startswith(">") else -1.0
    return normal_below(sign * (threshold.bound - mean) / spread)


def _check_threshold(system: RepeatedSystem, threshold: Threshold) -> GateCheck:
    """Whether a threshold fails by chance in at most 5% of runs."""
    chance = chance_to_miss(system.mean, system.spread, threshold)
    varies = f"{system.mean:.4f}, from run to run {points(system.spread, system.measure)}"
    sentence = f"{for_message(system.name)}: the threshold {threshold} fails by chance in {percent(chance)} of runs ({varies})."
    result: GateOutcome = "passed" if chance <= _MAX_ALARMS else "unsure"
    return GateCheck(
        "self-test", system.name, result, sentence, str(threshold), value=system.mean, n=len(system.values), is_notable=True
    )
