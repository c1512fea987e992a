"""`Comparison`: the decision, the tests of all pairs and their tables, made once for every command, page and function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from rankproof._analysis.compare.counted_queries import by_conversation, conversations, conversations_note, repeated_queries_note
from rankproof._analysis.compare.decide_systems import ComparedSystems, DecisionRule, decide_systems
from rankproof._analysis.compare.decision_data import (
    answering_notes,
    default_baseline,
    left_out_notes,
    left_out_queries_note,
    only_systems,
    system_costs,
    systems_with_rankings,
    systems_without_documents,
    timing_notes,
    unknown_cost_notes,
)
from rankproof._analysis.compare.joined_values import (
    JoinedValues,
    MeasuresLike,
    common_values,
    decision_values,
    primary_first,
    settings_primary,
    with_measures,
)
from rankproof._analysis.compare.pairs import PairComparison, compare_named_pairs, compare_pairs
from rankproof._analysis.compare.segment_differences import SegmentDifference, compared_pairs, segment_tables
from rankproof._analysis.compare.significance import WEIGHTED_TESTS, all_systems_notes
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
from rankproof._analysis.decision.decide import DecisionData, decide
from rankproof._analysis.decision.judge_sentences import outside_range_note
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.decision.repeats import repeats_table
from rankproof._analysis.decision.scenarios import doubt_table
from rankproof._analysis.inputs import AnalysisInput, checked_system, named_measure
from rankproof._analysis.options import CompareOptions
from rankproof._analysis.query_groups import Grouping
from rankproof._data.arrays import IntArray
from rankproof._data.table import Table
from rankproof._data.text import pluralise
from rankproof._data.view import Deferred, View, ViewedTables
from rankproof._results.decision_settings import Completeness, LabelsBy
from rankproof._results.experiment_result import reused_replies
from rankproof._statistics.decision_rule import MarginLike
from rankproof._statistics.options import Looks
from rankproof.measures._base import Measure

ComparedPart = tuple[JoinedValues, Sequence[PairComparison]]
"""Values on common queries, and their tested pairs."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Comparison(ViewedTables):
    """A comparison of systems on their common queries.

    The primary measure decides; the other measures are exploratory. `baseline` is the system that the table compares with.
    `left_out` are the systems that retrieved nothing. `values` has the means of each system by measure, `table` a row for each
    system, and `tables` the details: verdicts on all pairs, significance letters, and all numbers. `segments` are the differences
    in segments of queries, where they were asked for. `further_tables` are those of `tables` that belong to the systems: repeated
    answers, and differences in the segments of each grouping. `tests` is the number of tests of the primary measure. Pairs and
    tables are computed when they are first read.
    """

    primary: str
    measures: tuple[str, ...]
    baseline: str | None
    decision: Decision
    values: Mapping[str, Mapping[str, float]]
    pairs: Sequence[PairRecord]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    method: str
    options: CompareOptions
    table: Table
    tables: Sequence[Table]
    further_tables: tuple[Table, ...] = ()
    segments: tuple[SegmentDifference, ...] = ()
    tests: int = 0

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
        tables = (replace(self.table, sentences=(), title=""), *self.further_tables)
        return View(title, tables, self.decision.sentences, self.notes)

    def to_latex(self) -> str:
        """A table for a paper: the means with the letters of the systems that each system significantly beats, and a caption."""
        return str(import_module("rankproof._render.paper").comparison_paper_table(self))

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
            "segments": [difference.to_dict() for difference in self.segments],
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
    margin: MarginLike | None = None,
    costs: Mapping[str, float] | None = None,
    labels: str | None = None,
    labels_by: LabelsBy | None = None,
    looks: Looks | None = None,
    judgements: Completeness | None = None,
    groupings: Sequence[Grouping] = (),
    options: CompareOptions | None = None,
) -> Comparison:
    """Compares the systems: one measure decides, its pairs are one family of tests, and other measures are exploratory.

    Without `baseline`, all pairs are tested; with it, only pairs with the baseline; with `pairs`, only those. `margin` is how far
    below the best a system may be: a difference, or a share of the best mean such as "5%"; by default 0.02, or 10% of the best
    mean if that is less. `costs` has a number for each system; without it money or the latency decides among good systems.
    `labels` is a file of labels of people that check a machine judge; `labels_by="people"` says that the labels are people's,
    whatever the files say; `looks="many"` that the decision is looked at while queries arrive; `judgements="complete"` that no
    relevant document is unjudged. What is None is taken from the settings of the experiment. `groupings` add the differences in
    segments.
    """
    options, settings = options or CompareOptions(), inputs.decision_settings
    rule = DecisionRule.of(
        settings.updated(margin=margin, labels_by=labels_by, looks=looks, judgements=judgements), seed=options.seed
    )
    answering = [name for name in inputs.systems if name not in systems_with_rankings(inputs)]
    inputs = only_systems(inputs, systems_with_rankings(inputs)) if answering else inputs
    baseline = settings.baseline if baseline is None and settings.baseline in inputs.systems else baseline
    named = None if baseline is None else checked_system(inputs, baseline)
    primary = settings_primary(inputs) if primary is None and measures is None else primary
    primary = None if primary is None else named_measure(inputs, primary)
    inputs = with_measures(inputs, primary, measures)
    empty = systems_without_documents(inputs)
    kept = only_systems(inputs, [name for name in inputs.systems if name not in empty])
    costs_of = system_costs(inputs, _known_costs(inputs) if costs is None else costs)
    if not kept.systems:
        return _nothing_retrieved(inputs, primary)
    whole, *others = decision_values(kept, measures, primary)
    systems = ComparedSystems.of(_with_labels(kept, whole.measures[0], labels), whole, costs_of)
    joined, shown_baseline = systems.joined, named if named in kept.systems else default_baseline(kept)
    against = None if named is None else shown_baseline
    grouped = ((values, by_conversation(values, _tested_groups(kept, values, options))) for values in (joined, *others))
    tested = [(values, _tested(units, against, pairs, options)) for values, units in grouped]
    decision = decide_systems(systems, rule, named=named, baseline=shown_baseline)
    decision = replace(decision, reused_replies=reused_replies(inputs.system_runs))
    notes = (
        *left_out_notes(empty, named, shown_baseline),
        *answering_notes(answering),
        *_decision_notes(systems, decision, options),
        *_other_sizes(joined, others),
        *(all_systems_notes(joined, options.test) if tested[0][1] else ()),
        *_power_notes(tested[0][1], joined, options),
    )
    comparison = _comparison(tested, decision, shown_baseline, named is not None, empty, notes, options)
    return _with_further_tables(comparison, joined, groupings, against, _tested_groups(kept, joined, options))


def _with_labels(inputs: AnalysisInput, measure: Measure, labels: str | None) -> AnalysisInput:
    if labels is None:
        return inputs
    from rankproof._analysis.compare.people_labels import with_labels_file

    return with_labels_file(inputs, measure, labels)


def _decision_notes(systems: ComparedSystems, decision: Decision, options: CompareOptions) -> Iterator[str]:
    """Notes on costs, on values and on the queries without a part in the decision."""
    yield from unknown_cost_notes(systems.costs, systems.inputs.systems)
    yield from timing_notes(systems.inputs, systems.costs)
    yield from systems.joined.notes
    is_tested = options.test in WEIGHTED_TESTS
    counted = "risks, intervals and p count conversations" if is_tested else "risks count conversations, p each question"
    yield from conversations_note(systems.groups, counted)
    yield from repeated_queries_note(systems.copies)
    yield from outside_range_note(decision)
    if not decision.is_corrected:
        yield from left_out_queries_note(systems.whole, systems.counted)


def _with_further_tables(
    comparison: Comparison,
    joined: JoinedValues,
    groupings: Sequence[Grouping],
    baseline: str | None,
    groups: IntArray | None,
) -> Comparison:
    """The comparison with its repeated answers and segments before its tables, and the sources of doubt after them."""
    decision = comparison.decision
    segments, tables = segment_tables(joined, groupings, compared_pairs(decision, baseline), comparison.options, groups)
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    repeats = () if decision.repeats is None else (repeats_table(decision.repeats, str(decision.measure)),)
    doubt = (table,) if (table := doubt_table(decision)) is not None else ()
    further = (*repeats, *tables)
    every = Deferred(partial(_joined, further, comparison.tables, doubt))
    notes = (*comparison.notes, *notes)
    return replace(comparison, segments=segments, tables=every, further_tables=further, notes=notes)


def _joined(*parts: Sequence[Table]) -> tuple[Table, ...]:
    return tuple(table for part in parts for table in part)


def _other_sizes(joined: JoinedValues, others: Sequence[JoinedValues]) -> Iterator[str]:
    """The number of common queries of measures that have another number than the primary one."""
    sizes = [f"{other.measures[0]} {len(other.queries):,}" for other in others if len(other.queries) != len(joined.queries)]
    if sizes:
        yield f"other measures have other common questions: n = {', '.join(sizes)}"


def _known_costs(inputs: AnalysisInput) -> dict[str, float]:
    """The costs that the experiment gives for these systems."""
    return {name: cost for name, cost in inputs.decision_settings.costs.items() if name in inputs.systems}


def _tested_groups(inputs: AnalysisInput, joined: JoinedValues, options: CompareOptions) -> IntArray | None:
    """The conversations, for the tests that can be weighted."""
    return conversations(inputs, joined.queries) if options.test in WEIGHTED_TESTS else None


def _tested(
    joined: JoinedValues, baseline: str | None, pairs: Sequence[tuple[str, str]] | None, options: CompareOptions
) -> list[PairComparison]:
    """The tested pairs; none with fewer than two systems or two queries, or if no pair is named."""
    if len(joined.systems) < 2 or len(joined.queries) < 2 or (pairs is not None and not pairs):
        return []
    return compare_pairs(joined, baseline, options) if pairs is None else compare_named_pairs(joined, pairs, options)


def _power_notes(tested: Sequence[PairComparison], joined: JoinedValues, options: CompareOptions) -> Iterator[str]:
    family = [pair for pair in tested if pair.observed.measure == joined.measures[0]]
    return power_notes(family, len(joined.queries), options) if family else iter(())


def _comparison(
    parts: Sequence[ComparedPart],
    decision: Decision,
    baseline: str | None,
    named: bool,
    empty: tuple[str, ...],
    notes: tuple[str, ...],
    options: CompareOptions,
) -> Comparison:
    """The comparison of values on common queries, with their tested pairs; the first part has the primary measure."""
    joined, tested = parts[0]
    names, primary = tuple(str(measure) for part, _ in parts for measure in part.measures), str(joined.measures[0])
    tests = sum(pair.observed.measure == joined.measures[0] for pair in tested)
    shown = [pair for pair in tested if baseline in (pair.observed.one, pair.observed.other)]
    values = {
        system: {str(measure): _mean(part, at, place) for part, _ in parts for place, measure in enumerate(part.measures)}
        for at, system in enumerate(joined.systems)
    }
    method = options.describe(len(joined.queries), tests) if tested else ""
    return Comparison(
        primary=primary,
        measures=names,
        baseline=baseline,
        decision=decision,
        values=values,
        pairs=Deferred(partial(_records, parts, primary)),
        left_out=empty,
        notes=notes,
        method=method,
        options=options,
        table=systems_table(decision, baseline, [pair_record(pair, primary) for pair in shown], values, options),
        tables=Deferred(partial(_details, parts, baseline if named else None, notes, options)) if tested else (),
        tests=tests,
    )


def _records(parts: Sequence[ComparedPart], primary: str) -> tuple[PairRecord, ...]:
    return tuple(pair_record(pair, primary) for _, tested in parts for pair in tested)


def _mean(joined: JoinedValues, system: int, measure: int) -> float:
    return joined.measures[measure].summarise(joined.values[measure, :, system], joined.weights)


def _details(
    parts: Sequence[ComparedPart], baseline: str | None, notes: tuple[str, ...], options: CompareOptions
) -> tuple[Table, ...]:
    """Verdicts on the pairs of each measure, significance letters, and all numbers."""
    joined, first_pairs = parts[0]
    primary = joined.measures[0]
    verdicts = [
        verdict_table(measure, baseline, [pair for pair in tested if pair.observed.measure == measure], options, facts)
        for part, tested in parts
        for facts in [_facts(part, tested, primary, options)]
        for measure in part.measures
    ]
    facts = _facts(joined, first_pairs, primary, options)
    tests = len(first_pairs) // len(joined.measures)
    letters = letters_table(joined, first_pairs, options.describe(len(joined.queries), tests), notes, facts)
    return *verdicts, letters, details_table([pair for _, tested in parts for pair in tested], primary, options, notes, facts)


def _facts(joined: JoinedValues, tested: Sequence[PairComparison], primary: Measure, options: CompareOptions) -> dict[str, Any]:
    return {**comparison_facts(joined, options, len(tested) // len(joined.measures)), "primary": str(primary)}


def _nothing_retrieved(inputs: AnalysisInput, primary: str | Measure | None) -> Comparison:
    """The comparison of systems of which none retrieved anything."""
    joined = primary_first(common_values(inputs.result, None), primary)
    decision = decide(DecisionData(joined.measures[0], (), np.zeros((len(joined.queries), 0))))
    decision = replace(decision, reused_replies=reused_replies(inputs.system_runs))
    empty = replace(joined, systems=(), values=joined.values[:, :, []])
    notes = tuple(left_out_notes(inputs.systems, None, None))
    return _comparison([(empty, [])], decision, None, False, inputs.systems, notes, CompareOptions())
