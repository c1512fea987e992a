"""The gate: whether systems may pass, measured against what was blessed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...errors import UsageError, shown
from ...measures import parse
from ..evidence import Evidence
from ..segments.groups import Grouping
from .baseline import Baseline, Blessed, blessed_of, chosen_systems, refuse_others
from .changes import Change, change_of, corrected
from .decision import Decision
from .limits import blind, small_segments
from .rules import on_change, on_missing_system, on_queries, on_segment, on_threshold
from .settings import GateSettings, Threshold

_LACKING = ("missing-queries", "missing-answers", "failed-answers")
Pairs = Sequence[tuple[Blessed, Blessed]]


@dataclass(frozen=True, slots=True)
class Gate:
    """What was decided, and what must be known beside it."""

    decisions: tuple[Decision, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether everything passes."""
        return all(decision.passed for decision in self.decisions)


def decide(
    evidence: Evidence,
    baseline: Baseline | None,
    settings: GateSettings,
    *,
    systems: Sequence[str] = (),
    groupings: Iterable[Grouping] = (),
) -> Gate:
    """Every decision: queries that went missing, drops against the baseline, in whole and by segment, and thresholds."""
    settings = settings.under(evidence.rel)
    now = [blessed_of(evidence, name) for name in chosen_systems(evidence, systems)]
    bounds = [_bound(evidence, one, each) for one in now for each in settings.thresholds]
    missing = tuple(_missing(evidence, {one.name for one in now}))
    if baseline is None:
        return Gate(tuple(bounds), missing)
    refuse_others(evidence, baseline)
    pairs, gone = _paired(now, baseline, named=bool(systems))
    drops, segments = _drops(pairs, settings), _segment_drops(pairs, groupings, settings)
    found = [*map(on_missing_system, gone), *(on_queries(*pair) for pair in pairs), *drops, *segments]
    tests, small = blind(drops, segments, settings), small_segments(segments, settings)
    return Gate((*tests, *found, *bounds), (*missing, *_notes(now, pairs), *small))


def _bound(evidence: Evidence, now: Blessed, threshold: Threshold) -> Decision:
    value = evidence.result.value(threshold.measure, now.name)
    return on_threshold(now.name, threshold, value, len(now.measures[threshold.measure]))


def _missing(evidence: Evidence, systems: Collection[str]) -> Iterator[str]:
    """The judged queries that a run lacks, and whether they count."""
    for system in evidence.result.systems:
        if system.name in systems:
            yield from (f"{shown(system.name)}: {note.text}" for note in system.notes if note.code in _LACKING)


def _paired(now: Sequence[Blessed], baseline: Baseline, *, named: bool) -> tuple[Pairs, list[str]]:
    """Systems now and before, by name, or the only ones on both sides; and those of the baseline that are gone."""
    before = {system.name: system for system in baseline.systems}
    if len(before) == 1 and len(now) == 1:
        return [(now[0], baseline.systems[0])], []
    pairs = [(one, before[one.name]) for one in now if one.name in before]
    if not pairs:
        blessed = ", ".join(map(shown, before))
        raise UsageError(
            "no system has the name of a blessed one", fix=f"choose with --system, or bless again; blessed: {blessed}"
        )
    here = {one.name for one in now}
    return pairs, [] if named else [name for name in before if name not in here]


def _tested(pairs: Pairs) -> list[tuple[Blessed, Blessed, str]]:
    """What is tested: each system under each measure whose mean may be better or worse."""
    shared = [(now, before, name) for now, before in pairs for name in now.measures if name in before.measures]
    return [(now, before, name) for now, before, name in shared if _can_be_worse(name)]


def _can_be_worse(name: str) -> bool:
    measure = parse(name)
    return measure.summary == "mean" and measure.higher_is_better is not None


def _drops(pairs: Pairs, settings: GateSettings) -> list[Decision]:
    tested = _tested(pairs)
    known = dict.fromkeys(name for _, _, name in tested)
    if not known:
        raise UsageError("nothing of the baseline is measured", fix=f"measure some of: {', '.join(pairs[0][1].measures)}")
    for measure in settings.max_drops:
        if measure not in known:
            raise UsageError(f"{measure} was not blessed: no drop can be seen", fix=f"choose from: {', '.join(known)}")
    changes = [_change(now, before, name, before.measures[name], settings) for now, before, name in tested]
    return [
        on_change(now.name, name, change, settings, tests=len(tested))
        for (now, _, name), change in zip(tested, corrected(changes), strict=True)
    ]


def _segment_drops(pairs: Pairs, groupings: Iterable[Grouping], settings: GateSettings) -> list[Decision]:
    segments = {f"{each.by} {name}": queries for each in groupings for name, queries in each.segments.items()}
    tested = [(*one, segment) for one in _tested(pairs) for segment in segments]
    changes = [_change(now, before, name, segments[segment], settings) for now, before, name, segment in tested]
    return [
        on_segment(now.name, name, segment, change, settings, tests=len(tested))
        for (now, _, name, segment), change in zip(tested, corrected(changes), strict=True)
    ]


def _change(now: Blessed, before: Blessed, name: str, queries: Iterable[str], settings: GateSettings) -> Change:
    return change_of(name, before.measures[name], now.measures[name], queries, settings)


def _notes(now: Sequence[Blessed], pairs: Pairs) -> Iterator[str]:
    """What is measured against a system of another name, and what is not measured against anything."""
    before = {one.name: theirs for one, theirs in pairs}
    for one in now:
        if one.name not in before:
            yield f"{shown(one.name)} is new: there is nothing blessed to measure it against"
        elif before[one.name].name != one.name:
            yield f"{shown(one.name)} is measured against {shown(before[one.name].name)}, the only system that was blessed"
    one, theirs = pairs[0]
    if left_out := [name for name in one.measures if name not in theirs.measures]:
        yield f"not measured against the baseline, which lacks them: {', '.join(left_out)}"
    if strange := [name for name in one.measures if name in theirs.measures and not _can_be_worse(name)]:
        yield f"not tested, being no means that can be better or worse: {', '.join(strange)}"
