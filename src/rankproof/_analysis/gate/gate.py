"""`gate`: checks on the systems, and their table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.decision_data import only_systems
from rankproof._analysis.decision import Decision
from rankproof._analysis.gate.baseline import Baseline, SavedValues, check_same_data, chosen_systems, saved_values
from rankproof._analysis.gate.changes import (
    SystemPairs,
    changed_pairs,
    compare_with_saved,
    no_change,
    segment_changes,
    tested_change,
)
from rankproof._analysis.gate.rules import (
    GateCheck,
    GateOptions,
    Threshold,
    check_change,
    check_empty_system,
    check_missing_system,
    check_queries,
    check_segment,
    check_threshold,
    small_segments,
    undetectable_drops,
)
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.query_groups import Grouping
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._data.view import View, Viewed
from rankproof._evaluation.options import USUAL_PRIMARY
from rankproof._statistics.permutation import MAX_EXACT_QUERIES
from rankproof.errors import UsageError, for_message
from rankproof.measures._parse import parse_measure

_MISSING_NOTES = ("missing-queries", "missing-answers", "failed-answers")


@dataclass(frozen=True, slots=True, repr=False)
class GateResult(Viewed):
    """The checks and notes of a gate; `comparison` compares with the baseline and has the decision.

    `comparison` is None without a baseline, or if the only system is unchanged. `tests` is the number of tests of drops.
    """

    checks: tuple[GateCheck, ...]
    notes: tuple[str, ...] = ()
    comparison: Comparison | None = None
    tests: int = 0

    @property
    def passed(self) -> bool:
        """Whether all checks pass."""
        return all(check.passed for check in self.checks)

    @property
    def decision(self) -> Decision | None:
        """Which system to ship; None if nothing was compared."""
        return None if self.comparison is None else self.comparison.decision

    def _view(self) -> View:
        failed = tuple(check.sentence for check in self.checks if not check.passed)
        decided = () if self.decision is None else self.decision.sentences
        rows = tuple(map(_row, self.checks))
        table = (Table("checks", "", COLUMNS, rows),) if rows else ()
        return View(gate_verdict(self), table, (*failed, *decided), self.notes)


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
    measures = _tested_measures(pairs, options)
    primary, changed = _primary(inputs, measures, options), changed_pairs(pairs, measures)
    comparison = compare_with_saved(only_systems(inputs, [one.name for one in now]), changed, measures, options, primary=primary)
    drops = _drops(inputs, pairs, measures, changed, comparison, options)
    segments = _segment_drops(inputs, pairs, groupings, primary, options)
    found = [*map(check_missing_system, missing_systems), *(check_queries(*pair) for pair in pairs), *drops, *segments]
    tests, small = undetectable_drops(drops, segments, options), small_segments(segments, options)
    return GateResult((*tests, *found, *bounds), (*missing, *_notes(now, pairs), *small), comparison, len(changed))


def _check_threshold(inputs: AnalysisInput, now: SavedValues, threshold: Threshold) -> GateCheck:
    value = inputs.result.value(threshold.measure, now.name)
    found = next(system for system in inputs.result.systems if system.name == now.name).measures[threshold.measure]
    return check_threshold(now.name, threshold, value, len(now.measures[threshold.measure]), found.bounds)


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


def _tested_measures(pairs: SystemPairs, options: GateOptions) -> list[str]:
    """The measures of the baseline that were evaluated and whose mean can be better or worse."""
    now, before = pairs[0]
    found = [name for name in now.measures if name in before.measures and _can_be_worse(name)]
    if not found:
        raise UsageError("no measure of the baseline was evaluated", fix=f"evaluate some of: {', '.join(before.measures)}")
    for measure in options.max_drops:
        if measure not in found:
            raise UsageError(f"{measure} is not in the baseline, so its drop is unknown", fix=f"choose from: {', '.join(found)}")
    return found


def _primary(inputs: AnalysisInput, measures: Sequence[str], options: GateOptions) -> str:
    """The measure that can fail the gate: the named one, that of the experiment, nDCG@10, or the first that ranks systems."""
    able = [name for name in measures if parse_measure(name).has_winner]
    if not able:
        raise UsageError(f"no measure of the baseline ranks systems: {', '.join(measures)}", fix="save a baseline with nDCG@10")
    if options.primary is not None and options.primary not in able:
        why = "is not in the baseline" if options.primary not in measures else "does not rank systems"
        raise UsageError(f"{options.primary} {why}", fix=f"choose from: {', '.join(able)}")
    usual = [name for name in (inputs.decision_settings.primary, USUAL_PRIMARY) if name in able]
    return options.primary or next(iter(usual), able[0])


def _can_be_worse(name: str) -> bool:
    measure = parse_measure(name)
    return measure.summary == "mean" and measure.higher_is_better is not None


def _drops(
    inputs: AnalysisInput,
    pairs: SystemPairs,
    measures: Sequence[str],
    changed: SystemPairs,
    comparison: Comparison | None,
    options: GateOptions,
) -> list[GateCheck]:
    """A check for each system and measure; a changed system that retrieved nothing fails."""
    found, primary, names = [], _primary(inputs, measures, options), {now.name for now, _ in changed}
    values = {system.name: system.measures for system in inputs.result.systems}
    for now, _ in pairs:
        if comparison is None or now.name not in names:
            changes = {name: no_change(values[now.name][name], exploratory=name != primary) for name in measures}
        elif now.name in comparison.left_out:
            found.append(check_empty_system(now.name))
            continue
        else:
            changes = {name: tested_change(comparison, now, name) for name in measures}
        found += [check_change(now.name, name, change, options, tests=len(changed)) for name, change in changes.items()]
    return found


def _segment_drops(
    inputs: AnalysisInput, pairs: SystemPairs, groupings: Iterable[Grouping], primary: str, options: GateOptions
) -> list[GateCheck]:
    """A check for each system and segment by the primary measure."""
    segments = {f"{each.by} {name}": queries for each in groupings for name, queries in each.segments.items()}
    found = segment_changes(inputs, pairs, primary, segments, options)
    return [check_segment(system, primary, segment, change, options, tests=len(found)) for system, segment, change in found]


def _notes(now: Sequence[SavedValues], pairs: SystemPairs) -> Iterator[str]:
    """Systems that are new or compared with another name, and measures that are not compared."""
    before = {one.name: theirs for one, theirs in pairs}
    if new := [for_message(one.name) for one in now if one.name not in before]:
        yield f"{', '.join(new)} {'is' if len(new) == 1 else 'are'} not in the baseline and not compared with it"
    for one in now:
        if one.name in before and before[one.name].name != one.name:
            other = for_message(before[one.name].name)
            yield f"{for_message(one.name)} is compared with {other}, the only system of the baseline"
    one, theirs = pairs[0]
    if left_out := [name for name in one.measures if name not in theirs.measures]:
        yield f"measures not in the baseline, so not compared: {', '.join(left_out)}"
    if untested := [name for name in one.measures if name in theirs.measures and not _can_be_worse(name)]:
        yield f"measures not tested, because they are not means or do not measure quality: {', '.join(untested)}"


COLUMNS = (
    Column("check", about="system and measure, segment, queries or threshold; or the test"),
    Column("result", about="failed or passed"),
    Column("before", "value", "mean in the baseline"),
    Column("now", "value", "mean now, on the same queries"),
    Column("difference", "difference", "now minus before"),
    Column("p", "p", "sign-flip randomisation test, two-sided, not corrected"),
    Column("p Holm", "p", "corrected over all systems, and separately over all segments"),
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
            *(() if gate.decision is None else (str(gate.decision),)),
            *(f"{check.result}: {check.sentence}" for check in described),
            *_passed_segments(ordered),
            *_how(ordered, options, gate.tests),
        ),
        notes=gate.notes,
        facts={
            "passed": gate.passed,
            "alpha": options.alpha,
            "samples": options.samples,
            "seed": options.seed,
            "correction": "holm",
            "decision": None if gate.decision is None else gate.decision.to_dict(),
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


def _how(checks: list[GateCheck], options: GateOptions, tests: int) -> list[str]:
    """The method of the tests in one sentence."""
    families = [tests, sum(one.kind == "segment" for one in checks)]
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
    numbers: tuple[CellValue, ...] = (None, check.value, None, None, None, check.n)
    if change is not None:
        numbers = (change.before, change.now, change.difference, change.p, change.p_adjusted, change.n)
    return (check.name, check.result, *numbers)
