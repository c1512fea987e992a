"""Two results as one: the systems of both, matched by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankproof._analysis.inputs import joined_names
from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Queries
from rankproof._evaluation.result import Result
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof.errors import UsageError, for_message

Labels = tuple[str, str]
"""The names of the two results, before and after."""


@dataclass(frozen=True, slots=True)
class MatchedSystem:
    """A system of both results, and its names in the joined results."""

    name: str
    before: str
    after: str


def matched_systems(before: Sequence[str], after: Sequence[str], labels: Labels) -> tuple[MatchedSystem, ...]:
    """The systems of the same name, in the order of `after`; two results of one system each match by themselves."""
    old, new = joined_names([(labels[0], before), (labels[1], after)])
    if len(before) == len(after) == 1 and before != after:
        return (MatchedSystem(f"{before[0]} → {after[0]}", old[before[0]], new[after[0]]),)
    matched = tuple(MatchedSystem(name, old[name], new[name]) for name in after if name in old)
    if not matched:
        names = f"{', '.join(map(for_message, before))} and {', '.join(map(for_message, after))}"
        raise UsageError(
            f"the two results have no system of the same name ({names})",
            fix="give the systems the same names in both experiments, or use `rankproof compare BEFORE AFTER`",
        )
    return matched


def joined_results(
    before: ExperimentResult, after: ExperimentResult, labels: Labels, matched: Sequence[MatchedSystem]
) -> ExperimentResult:
    """The systems of both on the queries of both."""
    run_names = [[run.name for run in results.system_runs] for results in (before, after)]
    names = joined_names(list(zip(labels, run_names, strict=True)))
    queries = tuple(dict.fromkeys((*before.queries, *after.queries)))
    runs = [
        _moved(run, new, results.queries, queries)
        for results, new in zip((before, after), names, strict=True)
        for run in results.system_runs
    ]
    texts = {**after.texts, **before.texts}
    order = [name for system in matched for name in (system.before, system.after)]
    runs.sort(key=lambda run: order.index(run.name) if run.name in order else len(order))
    return replace(
        before,
        name=f"{before.name} → {after.name}" if before.name != after.name else after.name,
        queries=queries,
        result=_joined_result([before.result, after.result], names, [run.name for run in runs]),
        system_runs=tuple(runs),
        texts=Queries([texts[query] for query in queries if query in texts]),
        snippets={**after.snippets, **before.snippets},
        titles={**after.titles, **before.titles},
        contexts={**after.contexts, **before.contexts},
        answers=_joined_answers(before, after, names, [run.name for run in runs]),
        notes=(),
    )


def _moved(run: SystemRun, names: Mapping[str, str], own: Sequence[str], queries: Sequence[str]) -> SystemRun:
    """The system under its new name, with its times in the order of the queries of both."""
    at = {query: place for place, query in enumerate(own)}
    places = [at.get(query, -1) for query in queries]
    times = {part: _taken(time, places) for part, time in run.times.items()}
    return replace(run, name=names[run.name], builds_on=names.get(run.builds_on or ""), times=times)


def _taken(values: FloatArray, places: Sequence[int]) -> FloatArray:
    return np.array([values[place] if place >= 0 else np.nan for place in places], np.float64)


def _joined_result(results: Sequence[Result], names: Sequence[Mapping[str, str]], order: Sequence[str]) -> Result:
    """The values of both, in the order of the names; `claims` are those of the systems under their new names."""
    systems = [
        replace(system, name=new[system.name]) for result, new in zip(results, names, strict=True) for system in result.systems
    ]
    systems.sort(key=lambda system: order.index(system.name))
    claims = (
        replace(claim, system=new.get(claim.system, claim.system))
        for result, new in zip(results, names, strict=True)
        for claim in result.claims
    )
    queries = tuple(dict.fromkeys(query for result in results for query in result.queries))
    return Result(queries, tuple(systems), tuple(claims))


def _joined_answers(
    before: ExperimentResult, after: ExperimentResult, names: Sequence[Mapping[str, str]], order: Sequence[str]
) -> Result | None:
    both = [(results.answers, new) for results, new in zip((before, after), names, strict=True) if results.answers is not None]
    return _joined_result([result for result, _ in both], [new for _, new in both], order) if both else None
