"""`gate`: checks on the systems, and their table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rankproof._analysis.gate.baseline import Baseline, SavedValues, check_same_data, chosen_systems, saved_values
from rankproof._analysis.gate.rules import (
    BaselineChange,
    GateCheck,
    GateOptions,
    Threshold,
    baseline_change,
    check_change,
    check_missing_system,
    check_queries,
    check_segment,
    check_threshold,
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
    """The checks and notes of a gate."""

    checks: tuple[GateCheck, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all checks pass."""
        return all(check.passed for check in self.checks)


def run_gate(
    inputs: AnalysisInput,
    baseline: Baseline | None,
    options: GateOptions,
    *,
    systems: Sequence[str] = (),
    groupings: Iterable[Grouping] = (),
) -> GateResult:
    """All checks: missing systems and queries, drops against the baseline overall and by segment, and thresholds."""
    options = options.with_rel(inputs.rel)
    now = [saved_values(inputs, name) for name in chosen_systems(inputs, systems)]
    bounds = [_check_threshold(inputs, one, each) for one in now for each in options.thresholds]
    missing = tuple(_missing(inputs, {one.name for one in now}))
    if baseline is None:
        return GateResult(tuple(bounds), missing)
    check_same_data(inputs, baseline)
    pairs, missing_systems = _paired(now, baseline, named=bool(systems))
    drops, segments = _drops(pairs, options), _segment_drops(pairs, groupings, options)
    found = [*map(check_missing_system, missing_systems), *(check_queries(*pair) for pair in pairs), *drops, *segments]
    tests, small = undetectable_drops(drops, segments, options), small_segments(segments, options)
    return GateResult((*tests, *found, *bounds), (*missing, *_notes(now, pairs), *small))


def _check_threshold(inputs: AnalysisInput, now: SavedValues, threshold: Threshold) -> GateCheck:
    value = inputs.result.value(threshold.measure, now.name)
    return check_threshold(now.name, threshold, value, len(now.measures[threshold.measure]))


def _missing(inputs: AnalysisInput, systems: Collection[str]) -> Iterator[str]:
    """The notes on missing queries and answers."""
    for system in inputs.result.systems:
        if system.name in systems:
            yield from (f"{for_message(system.name)}: {note.text}" for note in system.notes if note.code in _MISSING_NOTES)


def _paired(now: Sequence[SavedValues], baseline: Baseline, *, named: bool) -> tuple[SystemPairs, list[str]]:
    """Systems now and in the baseline, matched by name or as the only ones; and the missing systems of the baseline."""
    before = {system.name: system for system in baseline.systems}
    if len(before) == 1 and len(now) == 1:
        return [(now[0], baseline.systems[0])], []
    pairs = [(one, before[one.name]) for one in now if one.name in before]
    if not pairs:
        saved = ", ".join(map(for_message, before))
        fix = f"choose with --system, or save a new baseline; systems of the baseline: {saved}"
        raise UsageError("no system has the name of a system in the baseline", fix=fix)
    here = {one.name for one in now}
    return pairs, [] if named else [name for name in before if name not in here]


def _tested(pairs: SystemPairs) -> list[tuple[SavedValues, SavedValues, str]]:
    """The tests: each system under each measure whose mean can be better or worse."""
    shared = [(now, before, name) for now, before in pairs for name in now.measures if name in before.measures]
    return [(now, before, name) for now, before, name in shared if _can_be_worse(name)]


def _can_be_worse(name: str) -> bool:
    measure = parse_measure(name)
    return measure.summary == "mean" and measure.higher_is_better is not None


def _drops(pairs: SystemPairs, options: GateOptions) -> list[GateCheck]:
    tested = _tested(pairs)
    known = dict.fromkeys(name for _, _, name in tested)
    if not known:
        raise UsageError("no measure of the baseline was evaluated", fix=f"evaluate some of: {', '.join(pairs[0][1].measures)}")
    for measure in options.max_drops:
        if measure not in known:
            raise UsageError(f"{measure} is not in the baseline, so its drop is unknown", fix=f"choose from: {', '.join(known)}")
    changes = [_change(now, before, name, before.measures[name], options) for now, before, name in tested]
    return [
        check_change(now.name, name, change, options, tests=len(tested))
        for (now, _, name), change in zip(tested, holm_corrected(changes), strict=True)
    ]


def _segment_drops(pairs: SystemPairs, groupings: Iterable[Grouping], options: GateOptions) -> list[GateCheck]:
    segments = {f"{each.by} {name}": queries for each in groupings for name, queries in each.segments.items()}
    tested = [(*one, segment) for one in _tested(pairs) for segment in segments]
    changes = [_change(now, before, name, segments[segment], options) for now, before, name, segment in tested]
    return [
        check_segment(now.name, name, segment, change, options, tests=len(tested))
        for (now, _, name, segment), change in zip(tested, holm_corrected(changes), strict=True)
    ]


def _change(now: SavedValues, before: SavedValues, name: str, queries: Iterable[str], options: GateOptions) -> BaselineChange:
    return baseline_change(name, before.measures[name], now.measures[name], queries, options)


def _notes(now: Sequence[SavedValues], pairs: SystemPairs) -> Iterator[str]:
    """Systems that are new or compared with another name, and measures that are not compared."""
    before = {one.name: theirs for one, theirs in pairs}
    for one in now:
        if one.name not in before:
            yield f"{for_message(one.name)} is not in the baseline and is not compared"
        elif before[one.name].name != one.name:
            other = for_message(before[one.name].name)
            yield f"{for_message(one.name)} is compared with {other}, the only system of the baseline"
    one, theirs = pairs[0]
    if left_out := [name for name in one.measures if name not in theirs.measures]:
        yield f"not compared, because they are not in the baseline: {', '.join(left_out)}"
    if untested := [name for name in one.measures if name in theirs.measures and not _can_be_worse(name)]:
        yield f"not tested, because a change in them is neither better nor worse, or they are not means: {', '.join(untested)}"


COLUMNS = (
    Column("check", about="system and measure, segment, queries or threshold; or the test"),
    Column("result", about="failed or passed"),
    Column("before", "value", "mean in the baseline"),
    Column("now", "value", "mean now, on the same queries"),
    Column("difference", "difference", "now minus before"),
    Column(
        "p", "p", "sign-flip randomisation test, two-sided, Holm over all systems and measures, and separately over all segments"
    ),
    Column("n", "count", "common queries; for a threshold, the queries of the mean"),
)


def gate_table(gate: GateResult, options: GateOptions) -> Table:
    """All checks, failed ones first, with a sentence for each; passed segments are only counted."""
    ordered = sorted(gate.checks, key=lambda check: check.passed)
    described = [check for check in ordered if not check.passed or check.kind != "segment"]
    return Table(
        "gate",
        gate_verdict(gate),
        COLUMNS,
        tuple(map(_row, ordered)),
        sentences=(
            *(f"{check.result}: {check.sentence}" for check in described),
            *_passed_segments(ordered),
            *_how(ordered, options),
        ),
        notes=gate.notes,
        facts={
            "passed": gate.passed,
            "alpha": options.alpha,
            "samples": options.samples,
            "seed": options.seed,
            "correction": "holm",
            "checks": list(map(_check_facts, ordered)),
        },
        highlighted=frozenset(at for at, check in enumerate(ordered) if not check.passed),
    )


def _passed_segments(checks: list[GateCheck]) -> list[str]:
    """The number of passed segments in one sentence."""
    passed = [check for check in checks if check.passed and check.kind == "segment"]
    if not passed:
        return []
    drops = sum(bool(check.change and check.change.is_worse) for check in passed)
    return [f"passed: {len(passed):,} tests of segments, {drops:,} of them drops that are not significant."]


def _how(checks: list[GateCheck], options: GateOptions) -> list[str]:
    """The method of the tests in one sentence."""
    families = [sum(one.kind == kind for one in checks) for kind in ("drop", "segment")]
    if not any(families):
        return []
    families_text = " and over ".join(
        pluralise(many, f"test of {what}", f"tests of {what}") for many, what in _family_names(families)
    )
    most = max(one.change.n for one in checks if one.change)
    flips = (
        f"{options.samples:,} flips, exact up to {MAX_EXACT_QUERIES} queries" if most > MAX_EXACT_QUERIES else "exact, all flips"
    )
    how = f"sign-flip randomisation test ({flips}), two-sided, alpha {options.alpha:g}"
    return [f"Method: {how}, Holm over {families_text}; seed {options.seed}."]


def _family_names(families: list[int]) -> list[tuple[int, str]]:
    return [(many, what) for many, what in zip(families, ("drops", "segments"), strict=True) if many]


def _check_facts(check: GateCheck) -> dict[str, Any]:
    change = asdict(check.change) if check.change else None
    named = {"system": check.system or None, "measure": check.measure or None, "segment": check.segment or None}
    return {
        "result": check.result,
        "kind": check.kind,
        **named,
        "sentence": check.sentence,
        "value": check.value,
        "n": change["n"] if change else check.n,
        "change": change,
    }


def gate_verdict(gate: GateResult) -> str:
    """The result in one line."""
    checks = gate.checks
    failed = sum(not check.passed for check in checks)
    count = f"{len(checks):,} check{'' if len(checks) == 1 else 's'}"
    return f"The gate failed: {failed:,} of {count} failed" if failed else f"The gate passed: {count}"


def _row(check: GateCheck) -> tuple[CellValue, ...]:
    change = check.change
    numbers: tuple[CellValue, ...] = (None, check.value, None, None, check.n)
    if change is not None:
        numbers = (change.before, change.now, change.difference, change.p, change.n)
    return (check.name, check.result, *numbers)
