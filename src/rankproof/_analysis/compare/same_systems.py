"""Systems with the same rankings, or with the same answers and contexts, which are one system in a decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.decision.record import Costs, Decision, SystemRisk
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import Answers
from rankproof._data.ordering import have_same_rankings
from rankproof._data.run import Run
from rankproof._evaluation.inputs import RunSources
from rankproof._evaluation.repeats import repeated_system
from rankproof._statistics.decision_rule import cheapest
from rankproof._statistics.means import weighted_mean

Copies = Mapping[str, str]
"""The systems that have the same rankings or answers as another, each with the system that stands for it."""


def same_systems(inputs: AnalysisInput, joined: JoinedValues, costs: Costs, baseline: str | None) -> Copies:
    """The copies among the systems; the cheapest of a group stands for it, or the baseline where costs are unknown or equal.

    Rankings that are not in memory, and answers that are not stored, are not compared.
    """
    by_answers = joined.measures[0].kind == "answer"
    is_same = partial(_have_same_answers, inputs.answers) if by_answers else partial(_have_same_rankings, inputs, joined)
    copies: dict[str, str] = {}
    for group in _groups(joined.systems, is_same):
        first = _representative(group, costs, baseline)
        copies.update((name, first) for name in group if name != first)
    return copies


def _groups(systems: Sequence[str], is_same: Callable[[str, str], bool]) -> list[list[str]]:
    groups: list[list[str]] = []
    for name in systems:
        group = next((group for group in groups if is_same(group[0], name)), None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return groups


def _representative(group: Sequence[str], costs: Costs, baseline: str | None) -> str:
    known = {name: cost for name in group if (cost := costs.of(name)) is not None}
    if len(known) < len(group):
        return baseline if baseline is not None and baseline in group else group[0]
    equal = cheapest(known, costs.same_within)
    return baseline if baseline is not None and baseline in equal else min(group, key=known.__getitem__)


def _have_same_rankings(inputs: AnalysisInput, joined: JoinedValues, system: str, other: str) -> bool:
    """Whether all repeats of two systems have the same rankings; rankings of different values are not looked at."""
    first, second = (joined.values[0][:, joined.systems.index(name)] for name in (system, other))
    if not np.array_equal(first, second):
        return False
    runs, other_runs = _runs_in_memory(inputs, system), _runs_in_memory(inputs, other)
    pairs = zip(runs, other_runs, strict=False)
    return 0 < len(runs) == len(other_runs) and all(have_same_rankings(*pair, inputs.read_options) for pair in pairs)


def _runs_in_memory(inputs: AnalysisInput, system: str) -> list[Run]:
    """The rankings of a system and its repeats; none if one of them is not in memory."""
    runs = inputs.runs
    names = [name for name in runs if repeated_system(name, runs) == system]
    if isinstance(runs, RunSources) and not all(map(runs.is_held, names)):
        return []
    return [runs[name] for name in names]


def _have_same_answers(answers: Mapping[str, Answers], system: str, other: str) -> bool:
    """Whether two systems gave the same answers from the same contexts to all questions, repeats included."""
    first, second = answers.get(system), answers.get(other)
    return first is not None and second is not None and first == second and first.repeats == second.repeats


def without_copies(joined: JoinedValues, copies: Copies) -> JoinedValues:
    """The values of the systems that stand for themselves."""
    kept = [at for at, name in enumerate(joined.systems) if name not in copies]
    missing = None if joined.missing is None else joined.missing.of_systems(kept)
    return replace(joined, systems=tuple(joined.systems[at] for at in kept), values=joined.values[:, :, kept], missing=missing)


def with_copies(
    decision: Decision, copies: Copies, joined: JoinedValues, costs: Costs, failed: Mapping[str, tuple[int, int]]
) -> Decision:
    """The decision with a row for each copy: its own mean, cost and failed calls, and the risk, limit and rival of its system."""
    rows = {system.name: system for system in decision.by_system}
    lacking = {count.system: count for count in decision.missing}

    def row(at: int, name: str) -> SystemRisk:
        if name not in copies:
            return rows[name]
        first, (lost, calls) = rows[copies[name]], failed.get(name, (0, 1))
        value = first.value if decision.is_corrected else weighted_mean(joined.values[0][:, at], joined.weights)
        cost, timed = costs.of(name), costs.timed.get(name)
        return SystemRisk(name, value, first.risk, first.limit, first.rival, cost, lost / calls, timed, same_as=first.name)

    by_system = tuple(row(at, name) for at, name in enumerate(joined.systems))
    counts = [(name, lacking.get(copies.get(name, name))) for name in joined.systems]
    missing = tuple(replace(count, system=name) for name, count in counts if count is not None)
    return replace(decision, by_system=by_system, missing=missing)
