"""Gate()."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rankproof._analysis.gate.baseline import Baseline, SavedValues, check_same_data, chosen_systems, saved_values
from rankproof._analysis.gate.rules import (
    BaselineChange,
    Decision,
    GateOptions,
    Threshold,
    baseline_change,
    decide_change,
    decide_missing_system,
    decide_queries,
    decide_segment,
    decide_threshold,
    holm_corrected,
    small_segments,
    undetectable_drops,
)
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.query_groups import Grouping
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._statistics.permutation import MAX_EXACT_QUERIES
from rankproof.errors import UsageError, for_message
from rankproof.measures._parse import parse_measure

_MISSING_NOTES = ("missing-queries", "missing-answers", "failed-answers")
SystemPairs = Sequence[tuple[SavedValues, SavedValues]]


@dataclass(frozen=True, slots=True)
class GateResult:
    """What was decided, and what must be known beside it."""

    decisions: tuple[Decision, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether everything passes."""
        return all(decision.passed for decision in self.decisions)


def decide(
    inputs: AnalysisInput,
    baseline: Baseline | None,
    settings: GateOptions,
    *,
    systems: Sequence[str] = (),
    groupings: Iterable[Grouping] = (),
) -> GateResult:
    """Every decision: queries that went missing, drops against the baseline, in whole and by segment, and thresholds."""
    settings = settings.with_rel(inputs.rel)
    now = [saved_values(inputs, name) for name in chosen_systems(inputs, systems)]
    bounds = [_decide_threshold(inputs, one, each) for one in now for each in settings.thresholds]
    missing = tuple(_missing(inputs, {one.name for one in now}))
    if baseline is None:
        return GateResult(tuple(bounds), missing)
    check_same_data(inputs, baseline)
    pairs, gone = _paired(now, baseline, named=bool(systems))
    drops, segments = _drops(pairs, settings), _segment_drops(pairs, groupings, settings)
    found = [*map(decide_missing_system, gone), *(decide_queries(*pair) for pair in pairs), *drops, *segments]
    tests, small = undetectable_drops(drops, segments, settings), small_segments(segments, settings)
    return GateResult((*tests, *found, *bounds), (*missing, *_notes(now, pairs), *small))


def _decide_threshold(inputs: AnalysisInput, now: SavedValues, threshold: Threshold) -> Decision:
    value = inputs.result.value(threshold.measure, now.name)
    return decide_threshold(now.name, threshold, value, len(now.measures[threshold.measure]))


def _missing(inputs: AnalysisInput, systems: Collection[str]) -> Iterator[str]:
    """The judged queries that a run lacks, and whether they count."""
    for system in inputs.result.systems:
        if system.name in systems:
            yield from (f"{for_message(system.name)}: {note.text}" for note in system.notes if note.code in _MISSING_NOTES)


def _paired(now: Sequence[SavedValues], baseline: Baseline, *, named: bool) -> tuple[SystemPairs, list[str]]:
    """Systems now and before, by name, or the only ones on both sides; and those of the baseline that are gone."""
    before = {system.name: system for system in baseline.systems}
    if len(before) == 1 and len(now) == 1:
        return [(now[0], baseline.systems[0])], []
    pairs = [(one, before[one.name]) for one in now if one.name in before]
    if not pairs:
        blessed = ", ".join(map(for_message, before))
        raise UsageError(
            "no system has the name of a blessed one", fix=f"choose with --system, or bless again; blessed: {blessed}"
        )
    here = {one.name for one in now}
    return pairs, [] if named else [name for name in before if name not in here]


def _tested(pairs: SystemPairs) -> list[tuple[SavedValues, SavedValues, str]]:
    """What is tested: each system under each measure whose mean may be better or worse."""
    shared = [(now, before, name) for now, before in pairs for name in now.measures if name in before.measures]
    return [(now, before, name) for now, before, name in shared if _can_be_worse(name)]


def _can_be_worse(name: str) -> bool:
    measure = parse_measure(name)
    return measure.summary == "mean" and measure.higher_is_better is not None


def _drops(pairs: SystemPairs, settings: GateOptions) -> list[Decision]:
    tested = _tested(pairs)
    known = dict.fromkeys(name for _, _, name in tested)
    if not known:
        raise UsageError("nothing of the baseline is measured", fix=f"measure some of: {', '.join(pairs[0][1].measures)}")
    for measure in settings.max_drops:
        if measure not in known:
            raise UsageError(f"{measure} was not blessed: no drop can be seen", fix=f"choose from: {', '.join(known)}")
    changes = [_change(now, before, name, before.measures[name], settings) for now, before, name in tested]
    return [
        decide_change(now.name, name, change, settings, tests=len(tested))
        for (now, _, name), change in zip(tested, holm_corrected(changes), strict=True)
    ]


def _segment_drops(pairs: SystemPairs, groupings: Iterable[Grouping], settings: GateOptions) -> list[Decision]:
    segments = {f"{each.by} {name}": queries for each in groupings for name, queries in each.segments.items()}
    tested = [(*one, segment) for one in _tested(pairs) for segment in segments]
    changes = [_change(now, before, name, segments[segment], settings) for now, before, name, segment in tested]
    return [
        decide_segment(now.name, name, segment, change, settings, tests=len(tested))
        for (now, _, name, segment), change in zip(tested, holm_corrected(changes), strict=True)
    ]


def _change(now: SavedValues, before: SavedValues, name: str, queries: Iterable[str], settings: GateOptions) -> BaselineChange:
    return baseline_change(name, before.measures[name], now.measures[name], queries, settings)


def _notes(now: Sequence[SavedValues], pairs: SystemPairs) -> Iterator[str]:
    """What is measured against a system of another name, and what is not measured against anything."""
    before = {one.name: theirs for one, theirs in pairs}
    for one in now:
        if one.name not in before:
            yield f"{for_message(one.name)} is new: there is nothing blessed to measure it against"
        elif before[one.name].name != one.name:
            yield f"{for_message(one.name)} is measured against {for_message(before[one.name].name)}, the only system that was blessed"
    one, theirs = pairs[0]
    if left_out := [name for name in one.measures if name not in theirs.measures]:
        yield f"not measured against the baseline, which lacks them: {', '.join(left_out)}"
    if strange := [name for name in one.measures if name in theirs.measures and not _can_be_worse(name)]:
        yield f"not tested, being no means that can be better or worse: {', '.join(strange)}"


COLUMNS = (
    Column("what", about="system, measure and segment; or its queries; or a bound; or the test itself"),
    Column("decision", about="failed or passed"),
    Column("before", "value", "the mean in the baseline"),
    Column("now", "value", "the mean now, on the same queries"),
    Column("difference", "difference", "now less before"),
    Column(
        "p", "p", "sign-flip randomisation test, two-sided, Holm over all measures and systems, or over all of these by segments"
    ),
    Column("n", "count", "queries that both have; of a bound, those that the mean runs over"),
)


def gate_table(gate: GateResult, settings: GateOptions) -> Table:
    """All decisions, failed ones first, a sentence for each; segments that passed are counted only."""
    ordered = sorted(gate.decisions, key=lambda decision: decision.passed)
    told = [decision for decision in ordered if not decision.passed or decision.kind != "segment"]
    return Table(
        "gate",
        gate_verdict(gate),
        COLUMNS,
        tuple(map(_row, ordered)),
        sentences=(
            *(f"{decision_outcome(decision)}: {decision.sentence}" for decision in told),
            *_passed_segments(ordered),
            *_how(ordered, settings),
        ),
        notes=gate.notes,
        facts={
            "passed": gate.passed,
            "alpha": settings.alpha,
            "samples": settings.samples,
            "seed": settings.seed,
            "correction": "holm",
            "decisions": list(map(_decision_facts, ordered)),
        },
        highlighted=frozenset(at for at, decision in enumerate(ordered) if not decision.passed),
    )


def _passed_segments(decisions: list[Decision]) -> list[str]:
    """The segments that passed, in one sentence."""
    passed = [decision for decision in decisions if decision.passed and decision.kind == "segment"]
    if not passed:
        return []
    drops = sum(bool(decision.change and decision.change.is_worse) for decision in passed)
    return [f"passed: {len(passed):,} tests of segments, {drops:,} of them drops that chance may explain."]


def _how(decisions: list[Decision], settings: GateOptions) -> list[str]:
    """How changes were tested, in a sentence."""
    families = [sum(one.kind == matter for one in decisions) for matter in ("drop", "segment")]
    if not any(families):
        return []
    over = " and over ".join(pluralise(many, f"test of {what}", f"tests of {what}") for many, what in _family_names(families))
    most = max(one.change.n for one in decisions if one.change)
    flips = (
        f"{settings.samples:,} flips, exact up to {MAX_EXACT_QUERIES} queries"
        if most > MAX_EXACT_QUERIES
        else "exact, every flip"
    )
    how = f"sign-flip randomisation test ({flips}), two-sided, alpha {settings.alpha:g}"
    return [f"How: {how}, Holm over {over}; seed {settings.seed}."]


def _family_names(families: list[int]) -> list[tuple[int, str]]:
    return [(many, what) for many, what in zip(families, ("drops", "segments"), strict=True) if many]


def _decision_facts(decision: Decision) -> dict[str, Any]:
    change = asdict(decision.change) if decision.change else None
    named = {"system": decision.system or None, "measure": decision.measure or None, "segment": decision.segment or None}
    return {
        "passed": decision.passed,
        "matter": decision.kind,
        **named,
        "said": decision.sentence,
        "value": decision.value,
        "n": change["n"] if change else decision.n,
        "change": change,
    }


def gate_verdict(gate: GateResult) -> str:
    """The whole in a line."""
    decisions = gate.decisions
    failed = sum(not decision.passed for decision in decisions)
    count = f"{len(decisions):,} decision{'' if len(decisions) == 1 else 's'}"
    return f"The gate failed: {failed:,} of {count}" if failed else f"The gate passed: {count}"


def decision_outcome(decision: Decision) -> str:
    """How it was decided, in a word."""
    return "passed" if decision.passed else "failed"


def _row(decision: Decision) -> tuple[CellValue, ...]:
    change = decision.change
    numbers: tuple[CellValue, ...] = (None, decision.value, None, None, decision.n)
    if change is not None:
        numbers = (change.before, change.now, change.difference, change.p, change.n)
    return (decision.name, decision_outcome(decision), *numbers)
