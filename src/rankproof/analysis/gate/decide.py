"""The gate: whether systems may pass, measured against what was blessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...errors import UsageError, shown
from ...measures import parse
from ..evidence import Evidence
from ..segments.groups import Grouping
from .baseline import Baseline, Blessed, blessed_of, chosen_systems, reading_facts
from .changes import Change, change_of, corrected
from .decision import Decision
from .limits import limits
from .rules import on_change, on_missing_system, on_queries, on_segment, on_threshold
from .settings import GateSettings

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
    value = evidence.result.value
    bounds = [on_threshold(one.name, each, value(each.measure, one.name)) for one in now for each in settings.thresholds]
    if baseline is None:
        return Gate(tuple(bounds))
    _refuse_others(evidence, baseline)
    pairs, gone = _paired(now, baseline, named=bool(systems))
    drops, segments = _drops(pairs, settings), _segment_drops(pairs, groupings, settings)
    found = [*map(on_missing_system, gone), *(on_queries(*pair) for pair in pairs), *drops, *segments]
    return Gate((*found, *bounds), (*_notes(now, pairs), *limits(drops, segments, settings)))


def _refuse_others(evidence: Evidence, baseline: Baseline) -> None:
    """A baseline of other data, or one that was made under other rules, says nothing."""
    if baseline.fingerprint != evidence.fingerprint:
        prints = f"fingerprints {shown(baseline.fingerprint[:12])} and {evidence.fingerprint[:12]}"
        raise UsageError(
            f"the baseline {shown(baseline.name)} is about other data than {shown(evidence.name)} ({prints})",
            fix="gate on the documents, queries and judgements that were blessed, or bless again",
        )
    if baseline.rel != evidence.rel:
        raise UsageError(f"the baseline was made with --rel {baseline.rel}, this is {evidence.rel}", fix="use the same --rel")
    if dict(baseline.reading) != reading_facts(evidence):
        raise UsageError("the baseline was made with rankings read otherwise", fix="use the options that it was blessed with")


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
