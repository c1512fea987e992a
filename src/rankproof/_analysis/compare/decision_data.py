"""What a decision needs besides values: which systems retrieve anything, costs, failed queries, and unjudged documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankproof._analysis.decision import Costs, Decision
from rankproof._analysis.inputs import AnalysisInput, checked_system, checked_system_name
from rankproof._analysis.pareto import ranking_systems
from rankproof._data.arrays import FloatArray
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.inputs import RunSources
from rankproof._evaluation.result import Result
from rankproof._results.experiment_result import SystemRun
from rankproof._statistics.correction import is_number, setting_error
from rankproof.errors import UsageError, for_message, type_phrase

USUAL_BASELINE = "bm25"
_MIN_SHARE_WITH_NON_RELEVANT = 0.5
_MAX_LISTS = 20_000
_JUDGE_NEXT = 10


def systems_without_documents(inputs: AnalysisInput) -> tuple[str, ...]:
    """The systems that retrieved nothing for any query; none where answers are compared, which may have no rankings."""
    if _by_answers(inputs):
        return ()
    return tuple(name for name in inputs.systems if _retrieved_nothing(inputs, name))


def _retrieved_nothing(inputs: AnalysisInput, name: str) -> bool:
    """Whether the run is empty; a run file is read only if every value is 0, as in an empty run."""
    if name not in inputs.runs:
        return False
    measures = next(system for system in inputs.result.systems if system.name == name).measures
    may_be_empty = bool(inputs.system_runs) or not any(one.values.any() for one in measures.values())
    return may_be_empty and not len(inputs.runs[name].docs)


def _by_answers(inputs: AnalysisInput) -> bool:
    return any(one.measure.kind == "answer" for one in inputs.result.systems[0].measures.values())


def systems_with_rankings(inputs: AnalysisInput) -> list[str]:
    """The systems with a ranking of their own; an answering system has that of another system, and only its answers differ."""
    by_answers = _by_answers(inputs)
    known = {run.name for run in inputs.system_runs}
    ranking = ranking_systems(inputs.system_runs)
    return [name for name in inputs.systems if by_answers or not ranking or name in ranking or name not in known]


def left_out_notes(empty: Sequence[str], given: str | None, baseline: str | None) -> Iterator[str]:
    """Notes on systems that retrieved nothing."""
    if empty:
        names = ", ".join(map(for_message, empty))
        yield f"{names} retrieved nothing and {'is' if len(empty) == 1 else 'are'} left out"
    if given in empty and baseline is not None:
        yield f"the baseline is {for_message(baseline)}, as {for_message(str(given))} retrieved nothing"


def unknown_cost_notes(costs: Costs, systems: Sequence[str]) -> Iterator[str]:
    """A note on systems without a cost beside others with one."""
    unknown = [name for name in systems if costs.of(name) is None]
    if unknown and len(unknown) < len(systems):
        what = {"ms": "latency", "money": "price", "given": "cost"}[costs.unit or "given"]
        names = ", ".join(map(for_message, unknown))
        yield f"the {what} of {names} is unknown; cost does not decide where one of them is good enough (--cost NAME=N gives it)"


def answering_notes(answering: Sequence[str]) -> Iterator[str]:
    """A note on systems with the ranking of another system."""
    if answering:
        names, has = ", ".join(map(for_message, answering)), "has" if len(answering) == 1 else "have"
        yield f"{names} {has} the ranking of another system and {'is' if len(answering) == 1 else 'are'} not compared here"


def default_baseline(inputs: AnalysisInput) -> str | None:
    """`bm25` where it retrieves anything, else the first system that does; None if there is none."""
    empty = systems_without_documents(inputs)
    able = [name for name in inputs.systems if name not in empty]
    return USUAL_BASELINE if USUAL_BASELINE in able else next(iter(able), None)


def system_costs(inputs: AnalysisInput, given: Mapping[str, float] | None = None) -> Costs:
    """The given costs if there are any, else money per query if a system spent any, else the latency p50."""
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"costs cannot be {type_phrase(given)}", fix="pass {system: cost}")
    if given:
        return Costs("given", {checked_system(inputs, name): _checked_cost(name, cost) for name, cost in given.items()})
    runs = {run.name: run for run in inputs.system_runs if run.name in inputs.systems}
    if any(run.money for run in runs.values()):
        return Costs("money", {name: _money(run) for name, run in runs.items()})
    totals = {name: run.time_of("total") for name, run in runs.items()}
    times = {name: total.p50 for name, total in totals.items() if total}
    queries = {name: total.queries for name, total in totals.items() if total}
    return Costs("ms", times, queries) if any(times.values()) else Costs()


def _checked_cost(system: str, cost: object) -> float:
    if not is_number(cost) or not 0 <= cost < math.inf:  # type: ignore[operator]
        raise setting_error(f"the cost of {system}", cost, "pass a number of at least 0, such as 1.4")
    return float(cost)  # type: ignore[arg-type]


def _money(run: SystemRun) -> float | None:
    """Money per query; None for calls of a language model without a price."""
    if run.total("tokens_in") and not run.money:
        return None
    return run.money / max(len(run.times["total"] if run.times else run.run), 1)


def failed_shares(inputs: AnalysisInput) -> dict[str, float]:
    """The share of each system's queries with a failed call of a language model or search engine."""
    return {run.name: _failed_share(run) for run in inputs.system_runs}


def _failed_share(run: SystemRun) -> float:
    counts = [run.counts[name] for name in ("failed", "given_up") if name in run.counts]
    return float((np.sum(counts, axis=0) > 0).mean()) if counts and len(counts[0]) else 0.0


def judged_only_values(inputs: AnalysisInput, result: Result, measure: str, queries: Sequence[str]) -> FloatArray | None:
    """The values by query and system after removing unjudged documents; None if they cannot be compared.

    Where most queries have no document that was judged not relevant, only relevant documents would remain.
    """
    names = [system.name for system in result.systems]
    kind = result.systems[0].measures[measure].measure.kind
    if kind == "answer" or inputs.read_options.judged_only or any(name not in inputs.runs for name in names):
        return None
    if not _has_non_relevant(inputs, queries):
        return None
    options = replace(inputs.options, read_options=replace(inputs.read_options, judged_only=True))
    runs: Mapping[str, Any] = inputs.runs
    if isinstance(inputs.runs, RunSources):
        # Files are evaluated as they are read, which is faster than reading whole runs first.
        runs, options = inputs.runs.sources, replace(options, files=inputs.runs.files)
    found = evaluate_runs(inputs.qrels, {name: runs[name] for name in names}, [measure], options)
    by_query = [next(iter(system.measures.values())).per_query for system in found.systems]
    return np.array([[values[query] for values in by_query] for query in queries])


def _has_non_relevant(inputs: AnalysisInput, queries: Sequence[str]) -> bool:
    counted = sum(any(0 <= grade < inputs.rel for grade in inputs.qrels[query].values()) for query in queries)
    return counted >= _MIN_SHARE_WITH_NON_RELEVANT * len(queries)


def with_failed_bounds(inputs: AnalysisInput, decision: Decision) -> Decision:
    """The decision, open where failed questions, all at 0 or at 1, could make another system better than the chosen one."""
    if not decision.decided or decision.system is None:
        return decision
    sign = -1.0 if decision.measure.higher_is_better is False else 1.0
    ends = {}
    for system in inputs.result.systems:
        one = system.measures[str(decision.measure)]
        ends[system.name] = sorted(sign * end for end in (one.bounds or (one.value, one.value)))
    worst = ends[decision.system][0]
    failed = any(system.measures[str(decision.measure)].bounds for system in inputs.result.systems)
    others = [name for name, (_, best) in ends.items() if name != decision.system and best > worst + decision.margin]
    if not failed or not others:
        return decision
    better = "lower" if sign < 0 else "higher"
    reason = f"verdicts failed: with them at 0 or 1, {for_message(others[0])} could be {better} by more than the margin"
    return replace(decision, decided=False, reasons=(*decision.reasons, reason), changes=())


def with_judge_noise(inputs: AnalysisInput, decision: Decision) -> Decision:
    """The decision with the noise of its judge, where asking again changes the difference by more than half of it."""
    noise = next((one for one in inputs.result.noise if one.measure == str(decision.measure)), None)
    if noise is None or noise.deviation is None or decision.alternative is None or not decision.n:
        return decision
    found = noise.deviation * math.sqrt(2 / decision.n)
    return replace(decision, judge_noise=found) if found > abs(decision.alternative.difference) / 2 else decision


def with_pairs_to_judge(inputs: AnalysisInput, decision: Decision) -> Decision:
    """The open decision with the unjudged pairs that could change the difference of its two best systems most."""
    if decision.system is None or decision.alternative is None or inputs.read_options.judged_only:
        return decision
    both = (decision.system, decision.alternative.system)
    if decision.measure.kind == "answer" or decision.measure.needs_subtopics or any(name not in inputs.runs for name in both):
        return decision
    if len(both) * len(inputs.result.queries) > _MAX_LISTS:
        return decision
    from rankproof._analysis.audit.judge_next import unjudged_pairs
    from rankproof._analysis.audit.unjudged import find_unjudged

    found = unjudged_pairs(find_unjudged(only_systems(inputs, both)), decision.measure)
    order = [at for at in np.argsort(-found.spread, kind="stable").tolist() if found.spread[at] > 0]
    return replace(decision, judge_next=tuple(found.pairs[at] for at in order[:_JUDGE_NEXT]), unjudged=len(order))


def only_systems(inputs: AnalysisInput, names: Sequence[str]) -> AnalysisInput:
    """The input with these systems alone."""
    for name in names:
        checked_system_name(inputs.systems, name)
    return replace(
        inputs,
        result=replace(inputs.result, systems=tuple(system for system in inputs.result.systems if system.name in names)),
        system_runs=tuple(run for run in inputs.system_runs if run.name in names),
    )
