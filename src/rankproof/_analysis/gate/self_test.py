"""`gate --self-test`: how often a gate on repeats of the same system fails, and how far a mean varies by chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.compare.decision_data import with_relevant_documents
from rankproof._analysis.compare.joined_values import primary_measure
from rankproof._analysis.decision.decide import MIN_QUERIES, DecisionData, margin_amount
from rankproof._analysis.decision.sentences import points
from rankproof._analysis.gate.baseline import chosen_systems
from rankproof._analysis.gate.result import GateResult
from rankproof._analysis.gate.rules import GateCheck, GateOptions, Threshold
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import FloatArray
from rankproof._data.text import format_p, in_a_sentence, percent, pluralise
from rankproof._evaluation.result import REPEATED_RUNS, MeasureResult, SystemResult
from rankproof._results.experiment_result import REPEATS_FACT
from rankproof._statistics.decision_rule import Margin
from rankproof._statistics.distributions import normal_below
from rankproof._statistics.gate_rule import GateOutcome, paired_change
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure

ROUNDS = 1_000
_MAX_ALARMS = 0.05
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, slots=True)
class RepeatedSystem:
    """A system that was run several times: the values of each query, and how many of them one build has.

    With `are_runs` every query has a value of each whole run, in the order of the runs; else repeats are of single queries.
    """

    name: str
    measure: Measure
    values: tuple[FloatArray, ...]
    per_build: float
    are_runs: bool = False

    @property
    def mean(self) -> float:
        """The mean over queries."""
        return float(np.mean([values.mean() for values in self.values]))

    @property
    def spread(self) -> float:
        """How far the mean of a build varies from run to run on the same queries, as a standard deviation."""
        freedom = sum(len(values) - 1 for values in self.values)
        within = math.fsum(float(((values - values.mean()) ** 2).sum()) for values in self.values) / freedom
        by_query = math.sqrt(within / self.per_build / len(self.values))
        if self.runs_differ_p() > _MAX_ALARMS:
            return by_query
        return max(by_query, float(self.run_means.std(ddof=1)) / math.sqrt(self.per_build))

    @property
    def run_means(self) -> FloatArray:
        """The mean of each whole run."""
        return np.asarray(np.mean(self.values, axis=0))

    def runs_differ_p(self, seed: int = 0, rounds: int = ROUNDS) -> float:
        """The chance that the means of whole runs differ this much if only chance within queries made them differ.

        It is 1 for repeats without runs. Values of a query change places between runs at random (a permutation test).
        """
        if not self.are_runs or not self.values:
            return 1.0
        draws, values = np.random.default_rng(seed), np.array(self.values)
        seen = self.run_means.var() - _ROUNDING
        as_far = sum(bool(draws.permuted(values, axis=1).mean(axis=0).var() >= seen) for _ in range(rounds))
        return (1 + as_far) / (1 + rounds)


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
    systems = [system for system in inputs.result.systems if system.name in chosen]
    repeated = [_repeats_of(inputs, system, system.measures[measure]) for system in systems if system.measures[measure].repeats]
    if not repeated and len(systems) > 1:
        return [_as_runs_of_one(inputs, [system.measures[measure] for system in systems], list(chosen))]
    if not repeated:
        fix = "run it several times (rankproof run --repeats 4), log several answers to each question, or pass two runs of it"
        raise UsageError("a self-test needs a system that was run more than once", fix=fix)
    return repeated


def _repeats_of(inputs: AnalysisInput, system: SystemResult, stored: MeasureResult) -> RepeatedSystem:
    """The repeats of a system; those of whole runs are the queries with a value of each run."""
    sizes = [len(values) for values in stored.repeats.values()]
    runs = _whole_runs(inputs, system)
    own = {query: values for query, values in stored.repeats.items() if not runs or len(values) == runs}
    counted = tuple(_counted(inputs, stored.measure, own))
    return RepeatedSystem(system.name, stored.measure, counted, float(np.mean(sizes)), are_runs=runs > 1)


def _whole_runs(inputs: AnalysisInput, system: SystemResult) -> int:
    """How many whole runs of a system there are; 0 if its repeats are of single questions, as in a log."""
    noted = [note.count for note in system.notes if note.code == REPEATED_RUNS]
    facts = [run.facts.get(REPEATS_FACT) for run in inputs.system_runs if run.name == system.name]
    return next((int(count) for count in (*noted, *facts) if isinstance(count, int)), 0)


def _as_runs_of_one(inputs: AnalysisInput, stored: Sequence[MeasureResult], names: Sequence[str]) -> RepeatedSystem:
    """Several systems as runs of one system."""
    runs = [measured.per_query for measured in stored]
    shared = {query: np.array([run[query] for run in runs]) for query in runs[0] if all(query in run for run in runs)}
    values = tuple(_counted(inputs, stored[0].measure, shared))
    return RepeatedSystem(in_a_sentence(list(names)), stored[0].measure, values, 1.0, are_runs=True)


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
    p = system.runs_differ_p(options.seed)
    result: GateOutcome = "passed" if shares["failed"] <= _MAX_ALARMS and p > _MAX_ALARMS else "unsure"
    limit = f" (limit {_MAX_ALARMS:.0%})" if shares["failed"] > _MAX_ALARMS else ""
    counts = (
        f"{percent(shares['failed'])} failed{limit}, {percent(shares['passed'])} passed, {percent(shares['unsure'])} were unsure"
    )
    gates = f"of {ROUNDS:,} gates between random halves of its {'runs' if system.are_runs else 'repeats'} {counts}"
    varies = f"the mean of {measure} varies by {points(system.spread, measure)} from run to run (standard deviation)"
    differ = f". {_differing_runs(system, p)}" if p <= _MAX_ALARMS else ""
    sentence = f"{name}: {gates}; {varies}, {pluralise(n, 'query', 'queries')}{differ}."
    return GateCheck("self-test", system.name, result, sentence, str(measure), value=system.mean, n=n, is_notable=True)


def _differing_runs(system: RepeatedSystem, p: float) -> str:
    """That whole runs differ by more than chance within queries explains."""
    means = ", ".join(f"{mean:.4f}" for mean in system.run_means.tolist())
    return f"Its runs differ by more than chance within queries explains ({means}; {format_p(p)}): a gate on one run is not sure"


def half_outcomes(system: RepeatedSystem, margin: Margin | None, seed: int = 0, rounds: int = ROUNDS) -> list[GateOutcome]:
    """The outcomes of gates between two random halves: of whole runs, else of the repeats of each query."""
    draws, data = np.random.default_rng(seed), DecisionData(system.measure, (), np.empty((0, 0)))
    sizes = {len(values) for values in system.values}
    groups = [np.array([values for values in system.values if len(values) == size]) for size in sorted(sizes)]
    outcomes: list[GateOutcome] = []
    for _ in range(rounds):
        # Whole runs change places as one: values of a run may share a cause, such as its index or its seed.
        mixed = [draws.permutation(group, axis=1) if system.are_runs else draws.permuted(group, axis=1) for group in groups]
        halves = data.oriented(np.concatenate(list(map(_halves, mixed))))
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
