"""Results of an evaluation: values for each query, summaries and notes, and the repeated runs of one system."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rankproof._data.arrays import FloatArray, weight_column, weights_by_query
from rankproof._data.text import pluralise
from rankproof._data.view import View, Viewed, ViewedTables, collection_view
from rankproof._evaluation.notes import FEW_JUDGED, TIED_ORDER, TIED_SCORES, Note
from rankproof.errors import RankproofError, UsageError, in_python
from rankproof.measures._base import Measure, SummaryKind

if TYPE_CHECKING:
    from rankproof._analysis.compare.comparison import Comparison
    from rankproof._data.claims import Calibration, ClaimVerdict, JudgeNoise
    from rankproof._data.table import CellValue, ColumnKind
    from rankproof._evaluation.sources import EvaluationInput
    from rankproof._statistics.intervals import Interval
    from rankproof.measures._counts import TextResult


FAILED_ANSWER = "error"
"""The reason of a query without a value because its answer failed."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class MeasureResult(Viewed):
    """One measure of one system: its value for each query, and the summary of the values (weighted if there are weights).

    The summary of no values is NaN for measures of answers.

    `reasons` says why a query has no value, such as failed or abstained, or that it has 0 for a missing answer. `bounds` are the
    summary with every failed value at its lowest and at its highest; None where nothing failed. `repeats` has all values of each
    query where a system was asked more than once: the value of the query is their mean. It is empty without repeats.
    `repeat_reasons` says why some of the repeats of such a query have no value of their own.
    """

    measure: Measure
    value: float
    query_ids: tuple[str, ...]
    values: FloatArray
    weights: FloatArray | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    bounds: Interval | None = None
    repeats: Mapping[str, FloatArray] = field(default_factory=dict)
    repeat_reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many queries have no value, by reason, without those whose answer failed."""
        valued = frozenset(self.query_ids)
        return Counter(reason for query, reason in self.reasons.items() if query not in valued and reason != FAILED_ANSWER)

    @property
    def summary(self) -> SummaryKind:
        """Whether the value is a mean, a sum or a geometric mean."""
        return self.measure.summary

    @property
    def queries(self) -> int:
        """The number of queries of the summary."""
        return len(self.query_ids)

    @property
    def per_query(self) -> dict[str, float]:
        """Query to value."""
        return dict(zip(self.query_ids, self.values.tolist(), strict=True))

    def _view(self) -> View:
        rows = zip(self.query_ids, self.values.tolist(), strict=True)
        value = "no value" if math.isnan(self.value) else f"{self.value:.4f}"
        title = f"{self.measure}: {value} ({self.summary} of {pluralise(self.queries, 'query', 'queries')})"
        return collection_view(title, {"query": "text", "value": "value"}, rows, self.queries)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class SystemResult(Viewed):
    """One system: its measures by name, its notes, the depth at which its rankings were truncated, and its texts by measure."""

    name: str
    measures: Mapping[str, MeasureResult]
    notes: Sequence[Note]
    depth: int | None = None
    texts: Mapping[str, TextResult] = field(default_factory=dict)

    def _view(self) -> View:
        from rankproof._data.table import Column, Table

        rows: tuple[tuple[CellValue, ...], ...] = tuple(
            (name, measure.value, measure.queries) for name, measure in self.measures.items()
        )
        columns = (Column("measure"), Column("value", "value"), Column("queries", "count"))
        notes = tuple(note.text for note in self.notes)
        return View(f"System {self.name}", (Table("measures", "", columns, rows),) if rows else (), notes=notes)


MAX_DECIDED = 5_000
"""The decision between systems is part of a view of at most this many queries; `compare` makes it for any number."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Result(ViewedTables):
    """The result of an evaluation; `queries` are all judged queries, `claims` the verdicts that values of answers rest on.

    `calibrations` say how far the judges of claims agree with people, `noise` how much their values change when asked again.
    `claims` are on the first answer of a system to a question, `repeat_claims` on its further answers.
    """

    queries: tuple[str, ...]
    systems: tuple[SystemResult, ...]
    claims: tuple[ClaimVerdict, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    noise: tuple[JudgeNoise, ...] = ()
    repeat_claims: tuple[ClaimVerdict, ...] = ()
    _inputs: EvaluationInput | None = field(init=False, default=None)
    _answer_inputs: object = field(init=False, default=None)

    @property
    def weights(self) -> dict[str, float] | None:
        """Query to its weight; None if all count the same."""
        firsts = [next(iter(system.measures.values()), None) for system in self.systems]
        pairs = [(first.query_ids, first.weights) for first in firsts if first is not None and first.weights is not None]
        return {query: weight for pair in pairs for query, weight in weights_by_query(*pair).items()} or None

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """{system: {measure: summary}}; a summary is a mean, or for some measures a sum or geometric mean."""
        return {system.name: {name: measure.value for name, measure in system.measures.items()} for system in self.systems}

    @property
    def notes(self) -> dict[str, tuple[Note, ...]]:
        """System to its notes."""
        return {system.name: tuple(replace(note, text=in_python(note.text)) for note in system.notes) for system in self.systems}

    def compare(self, **options: Any) -> Comparison:
        """Which system to choose, and which differences are real; the options are those of `rankproof.compare`."""
        # By name and late, as rankproof imports this module.
        comparison: Comparison = import_module("rankproof").compare(self, **options)
        return comparison

    def per_query(self, system: str | None = None) -> dict[str, dict[str, float]]:
        """{measure: {query: value}}; with one system, its name may be left out."""
        return {name: measure.per_query for name, measure in self._system(system).measures.items()}

    def value(self, measure: Measure | str, system: str | None = None) -> float:
        """One summary, by the measure or its name in any spelling."""
        from rankproof.measures._claim_base import measures_in_results

        measures = self._system(system).measures
        name = str(measures_in_results(measure, [result.measure for result in measures.values()])[0])
        if name not in measures:
            raise UsageError(f"{name} was not evaluated", fix=f"choose from: {', '.join(measures)}")
        return measures[name].value

    def _frame_columns(self) -> dict[str, Any]:
        """A row (system, query, measure, value) for each value."""
        return self._columns()

    def _view(self) -> View:
        from rankproof._data.table import Column, Table

        queries = pluralise(len(self.queries), "judged query", "judged queries")
        title = f"{queries}, {pluralise(len(self.systems), 'system')}"
        first = self.systems[0].measures if self.systems else {}
        columns = (Column("system"), *(Column(name, _kind(result)) for name, result in first.items()))
        rows: tuple[tuple[CellValue, ...], ...] = tuple(
            (system.name, *(system.measures[name].value for name in first)) for system in self.systems
        )
        notes = tuple(f"{name}: {note.text}" for name, system_notes in self.notes.items() for note in system_notes)
        return View(title, (Table("systems", "", columns, rows),), self._decision(), notes)

    def _decision(self) -> tuple[str, ...]:
        """The decision between the systems in words, where it can be made at once."""
        is_known = self._inputs is not None or self._answer_inputs is not None
        if not is_known or len(self.systems) < 2 or len(self.queries) > MAX_DECIDED:
            return ()
        try:
            return self.compare().decision.sentences
        except RankproofError:
            return ()

    def _system(self, name: str | None) -> SystemResult:
        chosen = [system for system in self.systems if name is None or system.name == name]
        if len(chosen) != 1:
            names = ", ".join(system.name for system in self.systems)
            what = "there are several systems" if name is None else f"no system is called {name}"
            raise UsageError(what, fix=f"choose from: {names}")
        return chosen[0]

    def _columns(self) -> dict[str, list[str] | list[float]]:
        flat = [(system.name, name, measure) for system in self.systems for name, measure in system.measures.items()]
        return {
            "system": [system for system, _, result in flat for _ in result.query_ids],
            "query": [query for _, _, result in flat for query in result.query_ids],
            "measure": [name for _, name, result in flat for _ in result.query_ids],
            "value": [value for _, _, result in flat for value in result.values.tolist()],
        }


def _kind(result: MeasureResult) -> ColumnKind:
    return "count" if result.summary == "sum" else "value"


def with_inputs(result: Result, inputs: EvaluationInput) -> Result:
    """The result with the judgements and runs that were evaluated, which comparisons and explanations need."""
    changed = replace(result)
    object.__setattr__(changed, "_inputs", inputs)
    return changed


def inputs_of(result: Result) -> EvaluationInput | None:
    """The judgements and runs that were evaluated; None if only the values are known."""
    return result._inputs


def with_answer_inputs(result: Result, inputs: object) -> Result:
    """The values of answers with what a decision on them needs besides: references, judgements, labels and costs."""
    changed = replace(result)
    object.__setattr__(changed, "_answer_inputs", inputs)
    return changed


def answer_inputs_of(result: Result) -> object:
    """What a decision on answers needs besides their values; None if it is not known."""
    return result._answer_inputs


def subset_result(result: Result, queries: Collection[str]) -> Result:
    """The result on these queries; at least one must have a reference."""
    chosen = tuple(query for query in result.queries if query in queries)
    if not chosen:
        raise UsageError("none of the queries has a reference answer", fix="specify queries that have one (--queries)")
    systems = (
        replace(system, measures={name: subset_measure(measure, queries) for name, measure in system.measures.items()})
        for system in result.systems
    )
    return replace(result, queries=chosen, systems=tuple(systems))


def subset_measure(result: MeasureResult, queries: Collection[str]) -> MeasureResult:
    """The values of these queries, and their summary."""
    kept = np.array([query in queries for query in result.query_ids], dtype=bool)
    values, weights = result.values[kept], None if result.weights is None else result.weights[kept]
    ids = tuple(query for query in result.query_ids if query in queries)
    reasons = {query: reason for query, reason in result.reasons.items() if query in queries}
    value = result.measure.summarise(values, weights)
    return replace(result, value=value, query_ids=ids, values=values, weights=weights, reasons=reasons)


RunType = TypeVar("RunType")
REPEATED_RUNS = "repeated-runs"
_REPEAT = re.compile(r"(.+)#(\d+)", re.DOTALL)


def repeat_name(system: str, number: int) -> str:
    """The name of a repeat, from 1: `a`, `a#2`, `a#3`."""
    return system if number == 1 else f"{system}#{number}"


def repeated_system(name: str, names: Collection[str]) -> str:
    """The system that a run repeats, if its first run is among the names; else the name itself."""
    match = _REPEAT.fullmatch(name)
    return match[1] if match and int(match[2]) > 1 and match[1] in names else name


def runs_of_systems(runs: Mapping[str, RunType], systems: Collection[str]) -> dict[str, RunType]:
    """The runs of these systems with their repeats."""
    return {name: runs[name] for name in runs if repeated_system(name, runs) in systems}


def joined_repeats(result: Result) -> Result:
    """The result with the repeated runs of a system as one system, whose value of a query is the mean over them."""
    groups: dict[str, list[SystemResult]] = {}
    names = {system.name for system in result.systems}
    for system in result.systems:
        groups.setdefault(repeated_system(system.name, names), []).append(system)
    if len(groups) == len(result.systems):
        return result
    return replace(result, systems=tuple(_joined_system(name, group) for name, group in groups.items()))


def _joined_system(name: str, group: Sequence[SystemResult]) -> SystemResult:
    if len(group) == 1:
        return group[0]
    # The first run may come after a repeat.
    first = next(system for system in group if system.name == name)
    ordered = [first, *(system for system in group if system is not first)]
    measures = {key: _joined_measure([system.measures[key] for system in ordered]) for key in first.measures}
    text = f"{len(group)} runs of this system: the value of a query is the mean over them"
    bounded = (FEW_JUDGED, TIED_ORDER, TIED_SCORES)
    notes = (replace(note, text=f"first run: {note.text}") if note.code in bounded else note for note in first.notes)
    return replace(first, measures=measures, notes=(*notes, Note(REPEATED_RUNS, len(group), text)))


def _joined_measure(results: Sequence[MeasureResult]) -> MeasureResult:
    by_query: dict[str, list[float]] = {}
    weights: dict[str, float] = {}
    for result in results:
        for query, value in result.per_query.items():
            by_query.setdefault(query, []).append(value)
        if result.weights is not None:
            weights.update(weights_by_query(result.query_ids, result.weights))
    values = np.array([math.fsum(own) / len(own) for own in by_query.values()])
    of_queries = weight_column(weights[query] for query in by_query) if weights else None
    measure = results[0].measure
    repeats = {query: np.array(own) for query, own in by_query.items()}
    return MeasureResult(measure, measure.summarise(values, of_queries), tuple(by_query), values, of_queries, repeats=repeats)
