"""The conclusions of a comparison as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.text import format_value, pluralise
from rankproof._statistics.intervals import mean_interval
from rankproof._tokenizer_lab.comparison import Difference, TokenizerComparison
from rankproof._tokenizer_lab.measured import SLOW_MS, MeasuredSystem, QueryCondition, is_conclusive
from rankproof.errors import for_message

_MIN_POINTS = 0.05
"""Ends of an interval below this many percentage points have one more digit."""


def describe_difference(one: Difference, measure: str) -> str:
    """A difference in words."""
    names = for_message(one.one), for_message(one.other)
    if one.is_reliable:
        better, worse = names if one.mean > 0 else names[::-1]
        repeats = ", in every pair of repeats" if one.pairs > 1 else ""
        return f"{better} is better than {worse} by {percentage_points(abs(one.mean))} {measure} {interval_text(one)}{repeats}"
    interval = f"{interval_text(one)} pp" if one.interval else "the same on every query" if one.mean == 0 else "no interval"
    doubt = "signs differ between repeats" if one.repeated else "single training"
    remark = f"; {doubt}" if one.is_significant else ""
    return f"no reliable difference in {measure} between {names[0]} and {names[1]} ({interval}{remark})"


def percentage_points(value: float) -> str:
    """A value in percentage points."""
    return f"{100 * value:.1f} pp"


def interval_text(one: Difference) -> str:
    """The interval of a difference in percentage points, as gains for a reliable difference."""
    if one.interval is None:
        return "no interval"
    low, high = (100 * end for end in one.interval)
    if one.is_reliable and one.mean < 0:
        low, high = -high, -low
    digits = 1 if min(abs(low), abs(high)) >= _MIN_POINTS else 2
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]"


_FEW, _MANY, _MIN_MS = 4, 6, 1e-6


def conclusions(comparison: TokenizerComparison) -> list[str]:
    """The sentences on quality, typos, languages and time."""
    return [
        *_quality_sentences(comparison),
        *_typo_sentences(comparison),
        *_language_sentences(comparison),
        *_time_sentences(comparison),
    ]


def _quality_sentences(comparison: TokenizerComparison) -> Iterator[str]:
    entries = _conclusive_systems(comparison, comparison.base_condition)
    if len(entries) < 2:
        return
    yield _best_sentence(comparison, entries)
    trained = [entry for entry in entries if entry.family == "trained"]
    if len(trained) > 1 and len(trained) < len(entries):
        yield f"among the trained encoders: {_best_sentence(comparison, trained)}"
    pairs = _pairs(comparison, trained if len(trained) > 1 else entries)
    if len(trained) > 1 or len(pairs) <= _MANY:
        yield from (describe_difference(pair, comparison.main) for pair in pairs)


def _conclusive_systems(comparison: TokenizerComparison, condition: QueryCondition) -> list[MeasuredSystem]:
    return [entry for entry in comparison.at_condition(condition) if is_conclusive(entry)]


def _pairs(comparison: TokenizerComparison, entries: Sequence[MeasuredSystem]) -> list[Difference]:
    """The pairs of these systems, all under one condition."""
    names = {entry.system for entry in entries}
    return [pair for pair in comparison.pairs(entries[0].condition) if {pair.one, pair.other} <= names]


def _best_sentence(comparison: TokenizerComparison, entries: Sequence[MeasuredSystem]) -> str:
    """The best system, and which systems it is reliably better than."""
    measure = comparison.main
    first, *others = sorted(entries, key=lambda entry: -entry.mean(measure))
    pairs = [pair for pair in _pairs(comparison, entries) if first.system in (pair.one, pair.other)]
    worse = [pair.other for pair in pairs if pair.is_reliable and pair.mean > 0]
    similar = [entry.system for entry in others if entry.system not in worse]
    head = f"{for_message(first.system)} has the highest {measure}, {format_value(first.mean(measure))}"
    parts = [f"better than {_names(worse)}"] if worse else []
    parts += [f"no reliable difference from {_names(similar)}"] if similar else []
    return f"{head}: {'; '.join(parts)}"


def _typo_sentences(comparison: TokenizerComparison) -> Iterator[str]:
    """The loss of each system by typos, if there are runs without typos."""
    if comparison.edits[0] != 0:
        return
    language, measure = comparison.base_condition.language, comparison.main
    for edits in comparison.edits[1:]:
        entries = _conclusive_systems(comparison, QueryCondition(language, edits))
        changes = {entry: comparison.change(entry) for entry in entries}
        falls = {
            entry: change for entry, change in changes.items() if change is not None and change.is_reliable and change.mean < 0
        }
        parts = [
            f"{for_message(entry.system)} loses {percentage_points(-fall.mean)} {interval_text(fall)}{_share(comparison, entry)}"
            for entry, fall in falls.items()
        ]
        others = [entry.system for entry in entries if entry not in falls]
        parts += [f"no reliable loss for {_names(others)}"] if others else []
        if parts:
            yield f"{measure} with {pluralise(edits, 'edit')} per query: {'; '.join(parts)}"


def _language_sentences(comparison: TokenizerComparison) -> Iterator[str]:
    """The best system in each language, and whether it is reliably better than all others."""
    if len(comparison.languages) < 2:
        return
    measure = comparison.main
    leads: dict[str, list[str]] = {}
    for language in comparison.languages:
        entries = _conclusive_systems(comparison, QueryCondition(language, comparison.edits[0]))
        if len(entries) > 1:
            first = max(entries, key=lambda entry: entry.mean(measure))
            pairs = [pair for pair in _pairs(comparison, entries) if first.system in (pair.one, pair.other)]
            mark = "" if all(pair.is_reliable for pair in pairs) else "*"
            leads.setdefault(first.system, []).append(f"{language}{mark}")
    if leads:
        listed = "; ".join(f"{for_message(name)} in {', '.join(lead)}" for name, lead in leads.items())
        yield f"highest {measure} by language (*: not reliably better than all others): {listed}"


def _time_sentences(comparison: TokenizerComparison) -> Iterator[str]:
    """The slowest system, if it is significantly slower, and the slow queries."""
    entries = comparison.at_condition(comparison.base_condition)
    slowest = max(entries, key=_median_ms)
    if len(entries) > 1 and all(_is_slower(slowest, entry) for entry in entries if entry is not slowest):
        yield f"{for_message(slowest.system)} is the slowest: {_median_ms(slowest):.1f} ms per query (p50, {comparison.store})"
    slow = {entry.system: int(entry.slow.sum()) for entry in entries if entry.slow.any()}
    listed = ", ".join(f"{for_message(name)} {found} of {entries[0].timed}" for name, found in slow.items())
    limit = f"{SLOW_MS:.0f} ms"
    yield f"timed queries over {limit}: {listed}" if slow else f"no timed query took more than {limit}"


def _median_ms(entry: MeasuredSystem) -> float:
    return float(np.median(entry.ms("total")))


def _is_slower(one: MeasuredSystem, other: MeasuredSystem) -> bool:
    """Whether the interval of the ratio of their times lies above 1; cached times are not compared."""
    if one.from_cache or other.from_cache:
        return False
    ours, theirs = (np.log(np.maximum(entry.ms("total"), _MIN_MS)) for entry in (one, other))
    apart: FloatArray = ours - theirs
    interval = mean_interval(apart)
    return bool((interval[0] if interval else apart.mean()) > 0)


def _share(comparison: TokenizerComparison, entry: MeasuredSystem) -> str:
    share = comparison.relative_change(entry)
    return "" if share is None else f" ({-share:.0%})"


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(for_message, names[:_FEW])) + (f" and {len(names) - _FEW} more" if len(names) > _FEW else "")
