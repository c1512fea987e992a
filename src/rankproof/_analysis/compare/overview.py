"""What a list of results shows of one of them: the data, the decision in a sentence, and the means with their intervals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.inputs import input_from_results
from rankproof._analysis.values import mean_intervals
from rankproof._data.qrels import highest_grade
from rankproof._data.text import format_value
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.result import Result
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import UsageError

NO_JUDGEMENTS = "There are no judgements: grade the rankings."
_MISSING = "–"


@dataclass(frozen=True, slots=True)
class SystemMean:
    """The mean of a system and its 95% interval; None if there is none."""

    name: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Overview:
    """What a list shows of results, and what joins them with others.

    `decision` says which system to ship in a sentence, empty if no measure can decide. `measure` is the one that decides, empty
    if there is none, and `chosen` the systems to ship or keep; `leader` has the highest mean, and `risk` is its own or that of
    the first chosen system. `highest` is the highest grade, None without judgements. `fingerprint` identifies the dataset,
    `judged` the judgements and `asked` the queries of the means; `notes` say how far the values can be trusted. `is_live` is for
    live traffic: `queries` then counts sessions, and no other result is on the same data.
    """

    name: str
    dataset: str
    made: str
    queries: int
    decision: str
    measure: str
    chosen: tuple[str, ...]
    leader: str | None
    risk: float | None
    means: tuple[SystemMean, ...]
    highest: int | None
    fingerprint: str
    judged: str
    asked: str
    notes: tuple[str, ...]
    is_live: bool = False

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of all systems."""
        return tuple(mean.name for mean in self.means)

    @property
    def data(self) -> tuple[str, str]:
        """The data that two experiments must share to be compared."""
        return self.judged, self.fingerprint

    @property
    def first(self) -> str | None:
        """The system that is shown first: the chosen one, else the leader."""
        return self.chosen[0] if self.chosen else self.leader

    def mean(self, system: str | None) -> SystemMean | None:
        """The mean of a system, None if there is no system of this name."""
        return next((mean for mean in self.means if mean.name == system), None)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The decision of an overview and the values that it is about."""

    sentence: str
    measure: str = ""
    chosen: tuple[str, ...] = ()
    leader: str | None = None
    risk: float | None = None
    values: Result | None = None


def overview_of(results: ExperimentResult, comparison: Comparison | None = None) -> Overview:
    """The overview of results; `comparison` is that of their systems, computed if missing."""
    verdict = _verdict(results, comparison)
    return Overview(
        name=results.name,
        dataset=str(results.provenance.get("dataset") or ""),
        made=str(results.provenance.get("created") or ""),
        queries=len(results.result.queries if results.is_judged else results.queries),
        decision=verdict.sentence,
        measure=verdict.measure,
        chosen=verdict.chosen,
        leader=verdict.leader,
        risk=verdict.risk,
        means=tuple(_means(results, verdict)),
        highest=highest_grade(results.qrels),
        fingerprint=results.fingerprint,
        judged=results.qrels.fingerprint(),
        asked=_asked(results),
        notes=tuple(value_notes(results.result.systems)),
    )


def _verdict(results: ExperimentResult, comparison: Comparison | None) -> _Verdict:
    """The decision; for answers without judged rankings, the means of their first measure."""
    if not results.is_judged:
        return _Verdict(NO_JUDGEMENTS) if results.answers is None else _answers_verdict(results.answers)
    try:
        comparison = comparison or compare_inputs(input_from_results(results))
    except UsageError:
        return _Verdict("")
    decision = comparison.decision
    risk = None if decision.is_judge_unchecked else decision.risk
    return _Verdict(decision.sentences[0], comparison.primary, decision.systems, decision.leader, risk, results.result)


def _answers_verdict(answers: Result) -> _Verdict:
    measure = next(iter(answers.systems[0].measures))
    means = ((name, values[measure]) for name, values in answers.means.items())
    shown = ", ".join(f"{name} {_MISSING if isnan(mean) else format_value(mean)}" for name, mean in means)
    return _Verdict(f"{measure}: {shown}.", measure, values=answers)


def _means(results: ExperimentResult, verdict: _Verdict) -> Iterator[SystemMean]:
    """The means of the measure that decides; a system that does not have it has no mean."""
    systems = () if verdict.values is None else verdict.values.systems
    measured = {system.name: system.measures[verdict.measure] for system in systems if verdict.measure in system.measures}
    intervals = mean_intervals(measured)
    for run in results.system_runs:
        value, interval = measured[run.name].value if run.name in measured else None, intervals.get(run.name)
        low, high = (None, None) if interval is None else interval
        yield SystemMean(run.name, None if value is None or isnan(value) else float(value), low, high)


def _asked(results: ExperimentResult) -> str:
    """A sha256 of the queries that the means are over: their ids and texts."""
    queries = results.result.queries if results.is_judged else results.queries
    asked = sorted((query, results.texts[query].text if query in results.texts else "") for query in queries)
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
