"""The anchor: the first baseline, against which slow losses over several accepted baselines are seen."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rankproof._analysis.compare.joined_values import weight_notes
from rankproof._analysis.decision.decide import DecisionData
from rankproof._analysis.decision.sentences import margin_text, points
from rankproof._analysis.gate.baseline import (
    FORMAT,
    Baseline,
    SavedValues,
    baseline_json,
    different_settings,
    make_baseline,
    parse_baseline,
)
from rankproof._analysis.gate.changes import BaselineChange, ChangeInput
from rankproof._analysis.gate.result import GateResult
from rankproof._analysis.gate.rules import GateCheck
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import weight_column
from rankproof._data.text import pluralise
from rankproof._io.files import write_blocks
from rankproof._results.provenance import utc_now
from rankproof._statistics.gate_rule import GateOutcome, detectable_drop, raises_alarm
from rankproof._version import __version__
from rankproof.errors import InputError, RankproofError, UsageError, for_message
from rankproof.measures._parse import parse_measure

_FORMAT_WITHIN = 4096
"""The name of the format stands among the first bytes of a baseline."""
_MOVED = 0.2
"""The share of queries that a typical change moves."""


def check_anchor(changes: ChangeInput, now: SavedValues, baseline: Baseline) -> GateCheck | None:
    """Whether a system lost too much against its first baseline, or an alarm lasts; None if the baseline is the first."""
    anchor = baseline.anchor_of(now.name)
    if anchor is None or str(changes.measure) not in anchor.measures:
        return None
    change = changes.change(now, anchor)
    if change.p is None or change.obstacle:
        return None
    measure, name = changes.measure, for_message(now.name)
    side = "above" if measure.higher_is_better is False else "below"
    apart = f"{points(change.difference, measure)} {side}"
    numbers = f"{apart} the first baseline ({change.before:.4f} to {change.now:.4f}, n = {change.n:,})"
    ends = f"it ends within {margin_text(change.margin / 2, measure)} of that baseline, or with --accept-loss"
    result: GateOutcome = "unsure" if change.doubt else "failed"
    doubt = f"; unsure: {change.doubt}" if change.doubt else ""
    if change.is_worse and raises_alarm(abs(change.difference), change.p, change.margin):
        text = f"{measure} is {numbers}: an alarm; {ends}{doubt}"
    elif (anchor.name, str(measure)) in baseline.alarm and not _has_recovered(change):
        text = f"{measure} is still {numbers} after an alarm; {ends}{doubt}"
    else:
        seen = f"{numbers}: no alarm" if change.is_worse else f"not {side} the first baseline"
        result, text = "passed", f"{measure} is {seen}"
    return GateCheck("anchor", now.name, result, f"{name}: {text}.", str(measure), change=change)


def _has_recovered(change: BaselineChange) -> bool:
    return not change.is_worse or abs(change.difference) <= change.margin / 2


def with_alarms(baseline: Baseline, checks: Sequence[GateCheck]) -> Baseline:
    """The baseline with the alarms that these checks raise, and without those that they end; an unsure check does neither."""
    decided = [check for check in checks if check.kind == "anchor" and check.result != "unsure"]
    anchors = [(baseline.anchor_of(check.system), check) for check in decided]
    lasts = {(anchor.name, check.measure): check.result == "failed" for anchor, check in anchors if anchor is not None}
    kept = (alarm for alarm in baseline.alarm if alarm not in lasts)
    return replace(baseline, alarm=tuple(sorted({*kept, *(alarm for alarm, is_raised in lasts.items() if is_raised)})))


def save_alarms(path: str, before: Baseline, after: Baseline) -> Iterator[str]:
    """Writes the baseline if its anchor or an alarm changed; a note if an alarm cannot be written."""
    if after.alarm == before.alarm and after.anchor == before.anchor:
        return
    try:
        write_blocks(path, [baseline_json(after).encode()])
    except (OSError, RankproofError):
        # An alarm that is not written still failed this gate, but without its anchor a file would hide later losses.
        if after.anchor != before.anchor:
            raise
        yield f"{for_message(path)} cannot be written, so the next gate does not know of this alarm"


def next_baseline(
    inputs: AnalysisInput, path: str, systems: Sequence[str], checks: Sequence[GateCheck] = (), *, accept_loss: bool = False
) -> tuple[Baseline, list[str]]:
    """The values of the systems as the baseline that the file holds next, after these checks of a gate; and notes on it."""
    check_replaceable_baseline(path)
    made = make_baseline(inputs, version=__version__, made=utc_now(), systems=systems)
    kept, anchor_notes = with_anchor(made, path, accept_loss=accept_loss)
    baseline = with_alarms(kept, checks)
    notes = weight_notes(baseline.weights.values())
    for system in baseline.systems:
        if system.missing:
            missing = pluralise(len(system.missing), "judged query", "judged queries")
            notes.append(f"{for_message(system.name)} has no results for {missing}; the gate accepts that")
    names = ", ".join(for_message(system.name) for system in baseline.systems)
    queries = pluralise(len(inputs.result.queries), "query", "queries")
    notes.append(f"{for_message(path)}: saved {names} with {', '.join(baseline.measures)} on {queries}")
    return baseline, [*notes, *anchor_notes, *power_notes(baseline)]


def not_saved(path: str, gate: GateResult) -> str:
    """Why the gate saves no baseline."""
    return f"{for_message(path)} was not written, because the gate {'failed' if gate.outcome == 'failed' else 'is unsure'}"


def with_anchor(new: Baseline, path: str, *, accept_loss: bool = False) -> tuple[Baseline, tuple[str, ...]]:
    """The baseline with the anchor of the file that it replaces, and a note if that is of other data."""
    old = None if accept_loss else _replaced(path)
    if old is None:
        return new, ()
    if differs := different_settings(new, old):
        return new, (f"this is the first baseline of its data: the replaced one has {differs}",)
    kept = {system.name: system for system in (*old.systems, *old.anchor)}
    anchor = tuple(kept[system.name] for system in new.systems if system.name in kept)
    if len(old.systems) == len(new.systems) == 1:
        anchor = old.anchor or old.systems
    anchor = tuple(_newly_labelled(system, new) for system in anchor)
    names = {system.name for system in anchor}
    return replace(new, anchor=anchor, alarm=tuple(alarm for alarm in old.alarm if alarm[0] in names)), ()


def _newly_labelled(anchor: SavedValues, new: Baseline) -> SavedValues:
    """The anchor, with the labels of the new values if both are of the same rankings or answers."""
    same = (system for system in new.systems if system.digest and system.digest == anchor.digest and system.people)
    return next((replace(anchor, people=system.people) for system in same), anchor)


def check_replaceable_baseline(path: str) -> None:
    """Raises an error if the path is a file that holds anything else than a baseline."""
    try:
        if not os.path.isfile(path):
            return
        with open(path, "rb") as file:
            start = file.read(_FORMAT_WITHIN)
    except OSError:
        return
    if start and FORMAT.encode() not in start:
        raise UsageError(f"{for_message(path)} exists and is not a baseline", fix="specify another file, or remove this one")


def _replaced(path: str) -> Baseline | None:
    """The baseline in a file that is replaced; None if there is none that can be read."""
    if not os.path.isfile(path):
        # A pipe or a device would wait for somebody to write.
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return parse_baseline(file.read(), path)
    except (OSError, UnicodeDecodeError, InputError):
        return None


def power_notes(baseline: Baseline) -> Iterator[str]:
    """The drop that a gate on this baseline detects, for a change of every query and of one query in five."""
    name = next((name for name in baseline.measures if parse_measure(name).has_winner), None)
    if name is None:
        return
    for system in baseline.systems:
        values = np.array(list(system.measures[name].values()))
        if len(values) < 2:
            continue
        shares = weight_column(baseline.weights[query] for query in system.measures[name]) if baseline.weights else None
        measure = parse_measure(name)
        better = DecisionData(measure, (), values).oriented(values)
        every, few = (points(detectable_drop(better, shares, moved), measure) for moved in (1.0, _MOVED))
        if_ = f" if a change moves each query as much as queries differ, of {few} if it moves one in five"
        shown = f"a drop of {every} in {measure} of {for_message(system.name)} with 80% chance"
        yield f"the gate detects {shown}{'' if every == few else if_}"
