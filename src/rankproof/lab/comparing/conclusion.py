"""What the numbers show, in words, and nothing beyond their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...analysis.statistics.intervals import mean_interval
from ...analysis.wording import brief
from ...data.arrays import FloatArray
from ...data.counting import counted
from ...errors import shown
from .comparison import Comparison
from .differences import Difference
from .entry import SLOW_MS, Condition, Entry
from .remarks import is_conclusive
from .wording import bounds, points, said

_FEW, _MANY, _LEAST_MS = 4, 6, 1e-6


def conclusions(comparison: Comparison) -> list[str]:
    """Sentences about quality, typing errors, languages and time, each only as far as the numbers reach."""
    return [
        *_quality(comparison),
        *_typos(comparison),
        *_languages(comparison),
        *_times(comparison),
    ]


def _quality(comparison: Comparison) -> Iterator[str]:
    entries = _conclusive(comparison, comparison.first)
    if len(entries) < 2:
        return
    yield _best(comparison, entries)
    trials = [entry for entry in entries if entry.family == "trial"]
    if len(trials) > 1 and len(trials) < len(entries):
        yield f"among the trials, which differ in their tokenizer alone: {_best(comparison, trials)}"
    pairs = _pairs(comparison, trials if len(trials) > 1 else entries)
    if len(trials) > 1 or len(pairs) <= _MANY:
        yield from (said(one, comparison.main) for one in pairs)


def _conclusive(comparison: Comparison, condition: Condition) -> list[Entry]:
    return [entry for entry in comparison.under(condition) if is_conclusive(entry)]


def _pairs(comparison: Comparison, entries: Sequence[Entry]) -> list[Difference]:
    """The pairs of these systems, which are under one condition."""
    names = {entry.system for entry in entries}
    return [one for one in comparison.pairs(entries[0].condition) if {one.one, one.other} <= names]


def _best(comparison: Comparison, entries: Sequence[Entry]) -> str:
    """Who leads, whom it really beats and whom it is not shown to beat."""
    measure = comparison.main
    first, *others = sorted(entries, key=lambda entry: -entry.mean(measure))
    pairs = [one for one in _pairs(comparison, entries) if first.system in (one.one, one.other)]
    beaten = [one.other for one in pairs if one.is_real and one.mean > 0]
    open_ones = [entry.system for entry in others if entry.system not in beaten]
    head = f"{shown(first.system)} has the highest {measure}, {brief(first.mean(measure))}"
    parts = [f"it is better than {_names(beaten)}"] if beaten else []
    parts += [f"no difference to {_names(open_ones)} is shown"] if open_ones else []
    return f"{head}: {'; '.join(parts)}"


def _typos(comparison: Comparison) -> Iterator[str]:
    """How much each system loses by typing errors, where it was asked without them too."""
    if comparison.edits[0] != 0:
        return
    language, measure = comparison.first.language, comparison.main
    for edits in comparison.edits[1:]:
        entries = _conclusive(comparison, Condition(language, edits))
        changes = {entry: comparison.change(entry) for entry in entries}
        falls = {entry: one for entry, one in changes.items() if one is not None and one.is_real and one.mean < 0}
        parts = [
            f"{shown(entry.system)} falls by {points(-one.mean)} {bounds(one)}{_share(comparison, entry)}"
            for entry, one in falls.items()
        ]
        others = [entry.system for entry in entries if entry not in falls]
        parts += [f"no fall of {_names(others)} is shown"] if others else []
        if parts:
            yield f"{measure} with {counted(edits, 'edit')} a query: {'; '.join(parts)}"


def _languages(comparison: Comparison) -> Iterator[str]:
    """Which system is the highest in each language, and whether it is really better than every other."""
    if len(comparison.languages) < 2:
        return
    measure = comparison.main
    leads: dict[str, list[str]] = {}
    for language in comparison.languages:
        entries = _conclusive(comparison, Condition(language, comparison.edits[0]))
        if len(entries) > 1:
            first = max(entries, key=lambda entry: entry.mean(measure))
            pairs = [one for one in _pairs(comparison, entries) if first.system in (one.one, one.other)]
            mark = "" if all(one.is_real for one in pairs) else "*"
            leads.setdefault(first.system, []).append(f"{language}{mark}")
    if leads:
        listed = "; ".join(f"{shown(name)} in {', '.join(found)}" for name, found in leads.items())
        yield f"highest {measure} by language (* not shown to be better than every other): {listed}"


def _times(comparison: Comparison) -> Iterator[str]:
    """Who is slowest, where that is sure, and which queries feel slow."""
    entries = comparison.under(comparison.first)
    slowest = max(entries, key=_middle)
    if len(entries) > 1 and all(_is_slower(slowest, entry) for entry in entries if entry is not slowest):
        yield f"the slowest is {shown(slowest.system)}: {_middle(slowest):.1f} ms a query (p50, {comparison.store})"
    slow = {entry.system: int(entry.slow.sum()) for entry in entries if entry.slow.any()}
    count = len(entries[0].queries)
    listed = ", ".join(f"{shown(name)} {found} of {count}" for name, found in slow.items())
    limit = f"{SLOW_MS:.0f} ms"
    yield f"queries over {limit}: {listed}" if slow else f"no query took more than {limit}"


def _middle(entry: Entry) -> float:
    return float(np.median(entry.ms("total")))


def _is_slower(one: Entry, other: Entry) -> bool:
    """Whether the interval of the ratio of their times on the same queries lies above 1; times of two days are not compared."""
    if one.remembered or other.remembered:
        return False
    ours, theirs = (np.log(np.maximum(entry.ms("total"), _LEAST_MS)) for entry in (one, other))
    apart: FloatArray = ours - theirs
    interval = mean_interval(apart)
    return bool((interval[0] if interval else apart.mean()) > 0)


def _share(comparison: Comparison, entry: Entry) -> str:
    share = comparison.relative_change(entry)
    return "" if share is None else f" ({-share:.0%})"


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(shown, names[:_FEW])) + (f" and {len(names) - _FEW} more" if len(names) > _FEW else "")
