"""`Comparison`: the decision, the tests of all pairs and their tables, made once for every command, page and function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankproof._analysis.compare.decision_data import (
    answering_notes,
    default_baseline,
    failed_shares,
    judged_only_values,
    left_out_notes,
    only_systems,
    system_costs,
    systems_with_rankings,
    systems_without_documents,
    unknown_cost_notes,
    with_failed_bounds,
    with_judge_noise,
    with_pairs_to_judge,
)
from rankproof._analysis.compare.joined_values import JoinedValues, MeasuresLike, common_values
from rankproof._analysis.compare.pairs import (
    CompareOptions,
    PairComparison,
    check_fraction_margin,
    check_margin,
    compare_named_pairs,
    compare_pairs,
)
from rankproof._analysis.compare.significance import all_systems_notes
from rankproof._analysis.compare.tables import (
    PairRecord,
    against_baseline,
    comparison_facts,
    details_table,
    letters_table,
    pair_record,
    power_notes,
    systems_table,
    verdict_table,
)
from rankproof._analysis.decision import MARGIN, Costs, Decision, DecisionData, decide
from rankproof._analysis.inputs import AnalysisInput, checked_system
from rankproof._data.arrays import FloatArray
from rankproof._data.table import Table
from rankproof._data.text import pluralise
from rankproof._data.view import View, ViewedTables
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.options import USUAL_PRIMARY
from rankproof._evaluation.result import Result, SystemResult
from rankproof._statistics.intervals import Interval, enough_differ, mean_interval
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure, parse_measures

ComparedPart = tuple[JoinedValues, Sequence[PairComparison]]
"""Values on common queries, and their tested pairs."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Comparison(ViewedTables):
    """A comparison of systems on their common queries.

    The primary measure decides; the other measures are exploratory. `baseline` is the system that the table compares with.
    `left_out` are the systems that retrieved nothing. `values` has the means of each system by measure, `table` a row for each
    system, and `tables` the details: verdicts on all pairs, significance letters, and all numbers.
    """

    primary: str
    measures: tuple[str, ...]
    baseline: str | None
    decision: Decision
    values: Mapping[str, Mapping[str, float]]
    pairs: tuple[PairRecord, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    method: str
    options: CompareOptions
    table: Table
    tables: tuple[Table, ...]

    @property
    def systems(self) -> tuple[str, ...]:
        """The compared systems."""
        return tuple(self.values)

    @property
    def n(self) -> int:
        """The number of common queries."""
        return self.decision.n

    def against_baseline(self, measure: str | None = None) -> dict[str, PairRecord]:
        """Each system but the baseline, compared with it by a measure (default: the primary one)."""
        return against_baseline(self.pairs, self.baseline, measure or self.primary)

    def _frame_columns(self) -> dict[str, Any]:
        """A row for each pair of systems under each measure."""
        return {name: [getattr(pair, name) for pair in self.pairs] for name in PairRecord.__slots__}

    def _view(self) -> View:
        title = f"{pluralise(len(self.systems), 'system')} by {self.primary}, {pluralise(self.n, 'query', 'queries')}"
        return View(title, (replace(self.table, sentences=(), title=""),), self.decision.sentences, self.notes)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON, without its tables."""
        return {
            "primary": self.primary,
            "measures": list(self.measures),
            "baseline": self.baseline,
            "n": self.n,
            "decision": self.decision.to_dict(),
            "values": {name: dict(values) for name, values in self.values.items()},
            "pairs": [pair.to_dict() for pair in self.pairs],
            "left_out": list(self.left_out),
            "notes": list(self.notes),
            "method": self.method,
        }


def compare_inputs(
    inputs: AnalysisInput,
    *,
    primary: str | Measure | None = None,
    baseline: str | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    measures: MeasuresLike = None,
    margin: float | None = None,
    costs: Mapping[str, float] | None = None,
    options: CompareOptions | None = None,
) -> Comparison:
    """Compares the systems: one measure decides, its pairs are one family of tests, and other measures are exploratory.

    Without `baseline`, all pairs are tested; with it, only pairs with the baseline; with `pairs`, only those. `margin` is how far
    below the best a system may be, by default 0.02. `costs` has a number for each system; without it money or the latency decides
    among good systems. What is None is taken from the settings of the experiment.
    """
    options, settings = options or CompareOptions(), inputs.decision_settings
    margin = check_margin("margin", next(one for one in (margin, settings.margin, MARGIN) if one is not None))
    answering = [name for name in inputs.systems if name not in systems_with_rankings(inputs)]
    inputs = only_systems(inputs, systems_with_rankings(inputs)) if answering else inputs
    baseline = settings.baseline if baseline is None and settings.baseline in inputs.systems else baseline
    given = None if baseline is None else checked_system(inputs, baseline)
    primary = _settings_primary(inputs) if primary is None and measures is None else primary
    inputs = _with_measures(inputs, primary, measures)
    empty = systems_without_documents(inputs)
    kept = only_systems(inputs, [name for name in inputs.systems if name not in empty])
    costs_of = system_costs(inputs, _known_costs(inputs) if costs is None else costs)
    if not kept.systems:
        return _nothing_retrieved(inputs, primary, margin)
    joined, *others = _joined_values(kept.result, measures, primary)
    check_fraction_margin(margin, joined.measures[0])
    shown_baseline = given if given in kept.systems else default_baseline(kept)
    against = None if given is None else shown_baseline
    tested = [(one, _tested(one, against, pairs, options)) for one in (joined, *others)]
    notes = (
        *left_out_notes(empty, given, shown_baseline),
        *answering_notes(answering),
        *unknown_cost_notes(costs_of, kept.systems),
        *joined.notes,
        *_other_sizes(joined, others),
        *(all_systems_notes(joined, options.test) if tested[0][1] else ()),
        *_power_notes(tested[0][1], joined, options),
    )
    decision = _decision(kept, joined, costs_of, margin, shown_baseline, options.seed)
    return _comparison(tested, decision, given is not None, empty, notes, options)


def _decision(
    kept: AnalysisInput, joined: JoinedValues, costs: Costs, margin: float, baseline: str | None, seed: int
) -> Decision:
    """The decision on the primary measure, with what failed, the noise of the judge, and which pairs to judge next."""
    measure = joined.measures[0]
    data = DecisionData(
        measure=measure,
        systems=joined.systems,
        values=joined.values[0],
        weights=joined.weights,
        costs=costs,
        failed=failed_shares(kept),
        judged_only=judged_only_values(kept, kept.result, str(measure), joined.queries),
    )
    decision = decide(data, margin=margin, baseline=baseline, interval=_interval_of(joined), seed=seed)
    decision = with_judge_noise(kept, with_failed_bounds(kept, decision))
    return decision if decision.decided else with_pairs_to_judge(kept, decision)


def _joined_values(result: Result, measures: MeasuresLike, primary: str | Measure | None) -> list[JoinedValues]:
    """The values on common queries, the primary measure first.

    Measures of answers have values for other questions each, so each has its own common questions.
    """
    every = _primary_first(common_values(result, measures), primary)
    if every.measures[0].kind != "answer":
        return [every]
    first, *others = (common_values(result, [measure]) for measure in every.measures)
    if all(len(one.queries) == len(every.queries) for one in (first, *others)):
        return [every]
    return [first, *(one for one in others if len(one.queries))]


def _other_sizes(joined: JoinedValues, others: Sequence[JoinedValues]) -> Iterator[str]:
    """The number of common queries of measures that have another number than the primary one."""
    sizes = [f"{one.measures[0]} {len(one.queries):,}" for one in others if len(one.queries) != len(joined.queries)]
    if sizes:
        yield f"other measures have other common questions: n = {', '.join(sizes)}"


def primary_measure(inputs: AnalysisInput) -> str:
    """The measure that decides if none is named: that of the experiment, else nDCG@10, else the first mean."""
    named = _settings_primary(inputs)
    if named is not None:
        return named
    measures = common_values(inputs.result).measures
    return str(measures[_primary_index(measures, None)])


def _settings_primary(inputs: AnalysisInput) -> str | None:
    """The primary measure of the experiment, if it was evaluated."""
    primary = inputs.decision_settings.primary
    return primary if all(primary in system.measures for system in inputs.result.systems) else None


def _known_costs(inputs: AnalysisInput) -> dict[str, float]:
    """The costs that the experiment gives for these systems."""
    return {name: cost for name, cost in inputs.decision_settings.costs.items() if name in inputs.systems}


def _with_measures(inputs: AnalysisInput, primary: str | Measure | None, measures: MeasuresLike) -> AnalysisInput:
    """The input with the values of the primary measure and of the given ones, which are evaluated where they are missing."""
    wanted = [*([] if primary is None else [primary]), *([] if measures is None else parse_measures(measures))]
    names = [str(_parsed(one).with_rel(inputs.rel)) for one in wanted]
    missing = [name for name in dict.fromkeys(names) if any(name not in system.measures for system in inputs.result.systems)]
    if not missing or any(parse_measure(name).kind == "answer" for name in missing):
        return inputs
    if any(name not in inputs.runs for name in inputs.systems):
        known = ", ".join(inputs.result.systems[0].measures)
        raise UsageError(f"{missing[0]} was not evaluated for every system", fix=f"choose from: {known}")
    runs = {name: inputs.runs[name] for name in inputs.systems}
    more = evaluate_runs(inputs.qrels, runs, missing, inputs.options)
    return replace(inputs, result=Result(inputs.result.queries, tuple(_joined(inputs.result, more))))


def _joined(result: Result, more: Result) -> Iterator[SystemResult]:
    for system, other in zip(result.systems, more.systems, strict=True):
        yield replace(system, measures={**system.measures, **other.measures})


def _parsed(measure: str | Measure) -> Measure:
    return parse_measure(measure) if isinstance(measure, str) else measure


def _primary_first(joined: JoinedValues, primary: str | Measure | None) -> JoinedValues:
    """The joined values with the primary measure first."""
    at = _primary_index(joined.measures, primary)
    order = [at, *(place for place in range(len(joined.measures)) if place != at)]
    return replace(joined, measures=tuple(joined.measures[place] for place in order), values=joined.values[order])


def _primary_index(measures: Sequence[Measure], primary: str | Measure | None) -> int:
    """The index of the named measure, of nDCG@10, or of the first mean that ranks systems."""
    able = [at for at, measure in enumerate(measures) if measure.has_winner]
    names = [str(measure) for measure in measures]
    if primary is not None:
        named = [at for at in range(len(measures)) if _is_same(measures[at], _parsed(primary))]
        if not named or named[0] not in able:
            known = ", ".join(names[at] for at in able)
            raise UsageError(f"{for_message(str(primary))} cannot be the primary measure", fix=f"choose from: {known}")
        return named[0]
    usual = [at for at in able if names[at] == USUAL_PRIMARY]
    if not able:
        raise UsageError(
            f"none of the evaluated measures ({', '.join(names)}) says which system is better",
            fix=f"evaluate a measure such as {USUAL_PRIMARY}",
        )
    return (usual or able)[0]


def _is_same(evaluated: Measure, asked: Measure) -> bool:
    """Whether the evaluated measure is the one asked for, with the evaluation's rel where it had none."""
    rel = evaluated.parameters().get("rel")
    return evaluated == (asked if rel is None else asked.with_rel(rel))


def _tested(
    joined: JoinedValues, baseline: str | None, pairs: Sequence[tuple[str, str]] | None, options: CompareOptions
) -> list[PairComparison]:
    """The tested pairs; none with fewer than two systems or two queries."""
    if len(joined.systems) < 2 or len(joined.queries) < 2:
        return []
    return compare_pairs(joined, baseline, options) if pairs is None else compare_named_pairs(joined, pairs, options)


def _interval_of(joined: JoinedValues) -> Callable[[FloatArray], Interval | None]:
    """The 95% interval of a mean difference, None where few queries differ."""

    def interval(differences: FloatArray) -> Interval | None:
        return mean_interval(differences, weights=joined.weights) if enough_differ(differences, joined.weights) else None

    return interval


def _power_notes(found: Sequence[PairComparison], joined: JoinedValues, options: CompareOptions) -> Iterator[str]:
    family = [one for one in found if one.observed.measure == joined.measures[0]]
    return power_notes(family, len(joined.queries), options) if family else iter(())


def _comparison(
    parts: Sequence[ComparedPart],
    decision: Decision,
    named: bool,
    empty: tuple[str, ...],
    notes: tuple[str, ...],
    options: CompareOptions,
) -> Comparison:
    """The comparison of values on common queries, with their tested pairs; the first part has the primary measure."""
    joined, found = parts[0]
    names, primary = tuple(str(measure) for one, _ in parts for measure in one.measures), str(joined.measures[0])
    tests = sum(one.observed.measure == joined.measures[0] for one in found)
    pairs = tuple(pair_record(one, primary) for _, tested in parts for one in tested)
    values = {
        system: {str(measure): _mean(one, at, place) for one, _ in parts for place, measure in enumerate(one.measures)}
        for at, system in enumerate(joined.systems)
    }
    method = options.describe(len(joined.queries), tests) if found else ""
    return Comparison(
        primary=primary,
        measures=names,
        baseline=decision.baseline,
        decision=decision,
        values=values,
        pairs=pairs,
        left_out=empty,
        notes=notes,
        method=method,
        options=options,
        table=systems_table(decision, pairs, values, options),
        tables=tuple(_details(parts, decision.baseline if named else None, notes, options)) if found else (),
    )


def _mean(joined: JoinedValues, system: int, measure: int) -> float:
    return joined.measures[measure].summarise(joined.values[measure, :, system], joined.weights)


def _details(
    parts: Sequence[ComparedPart], baseline: str | None, notes: tuple[str, ...], options: CompareOptions
) -> Iterator[Table]:
    """Verdicts on the pairs of each measure, significance letters, and all numbers."""
    joined, found = parts[0]
    primary = joined.measures[0]
    for one, tested in parts:
        facts = _facts(one, tested, primary, options)
        for measure in one.measures:
            of_measure = [pair for pair in tested if pair.observed.measure == measure]
            yield verdict_table(measure, baseline, of_measure, options, facts)
    facts = _facts(joined, found, primary, options)
    tests = len(found) // len(joined.measures)
    yield letters_table(joined, found, options.describe(len(joined.queries), tests), notes, facts)
    yield details_table([pair for _, tested in parts for pair in tested], primary, notes, facts)


def _facts(joined: JoinedValues, found: Sequence[PairComparison], primary: Measure, options: CompareOptions) -> dict[str, Any]:
    return {**comparison_facts(joined, options, len(found) // len(joined.measures)), "primary": str(primary)}


def _nothing_retrieved(inputs: AnalysisInput, primary: str | Measure | None, margin: float) -> Comparison:
    """The comparison of systems of which none retrieved anything."""
    joined = _primary_first(common_values(inputs.result, None), primary)
    decision = decide(DecisionData(joined.measures[0], (), np.zeros((len(joined.queries), 0))), margin=margin)
    empty = replace(joined, systems=(), values=joined.values[:, :, :0])
    notes = tuple(left_out_notes(inputs.systems, None, None))
    return _comparison([(empty, [])], decision, False, inputs.systems, notes, CompareOptions())
