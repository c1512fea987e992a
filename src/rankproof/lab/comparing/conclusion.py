"""What the numbers show, in words, and nothing beyond their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...analysis.wording import brief
from ...data.counting import counted
from ...errors import shown
from .comparison import Comparison
from .differences import Difference, all_pairs, difference
from .entry import SLOW_MS, Condition, Entry
from .standing import speaks

_FEW, _MANY, _LEAST = 4, 6, 0.05


def conclusions(comparison: Comparison) -> list[str]:
    """Sentences about quality, typing errors, languages and time, each only as far as the numbers reach."""
    return [
        *_quality(comparison),
        *_typos(comparison),
        *_languages(comparison),
        *_times(comparison),
    ]


def said(one: Difference, measure: str) -> str:
    """A difference in words: better and by how much, or that none is shown."""
    names = shown(one.one), shown(one.other)
    if one.is_real:
        better, worse = names if one.mean > 0 else names[::-1]
        repeats = ", in every pair of repeats" if one.pairs > 1 else ""
        return f"{better} is better than {worse} by {points(abs(one.mean))} {measure} {bounds(one)}{repeats}"
    why = f"{bounds(one)} pp" if one.interval else "the same on every query" if one.mean == 0 else "no interval"
    repeats = ", but not in every pair of repeats" if one.is_sure else ""
    return f"no difference in {measure} between {names[0]} and {names[1]} is shown ({why}{repeats})"


def points(value: float) -> str:
    """Percentage points."""
    return f"{100 * value:.1f} pp"


def bounds(one: Difference) -> str:
    """The interval of a difference in percentage points; of a better one, both ends as gains."""
    if one.interval is None:
        return "no interval"
    low, high = (100 * end for end in one.interval)
    if one.is_real and one.mean < 0:
        low, high = -high, -low
    digits = 1 if min(abs(low), abs(high)) >= _LEAST else 2
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]"


def _quality(comparison: Comparison) -> Iterator[str]:
    entries = [entry for entry in comparison.under(comparison.first) if speaks(entry)]
    if len(entries) < 2:
        return
    yield _best(entries, comparison.main)
    trials = [entry for entry in entries if entry.family == "trial"]
    if len(trials) > 1 and len(trials) < len(entries):
        yield f"among the trials, which differ in their tokenizer alone: {_best(trials, comparison.main)}"
    pairs = all_pairs(trials if len(trials) > 1 else entries, comparison.main)
    if len(trials) > 1 or len(pairs) <= _MANY:
        yield from (said(one, comparison.main) for one in pairs)


def _best(entries: Sequence[Entry], measure: str) -> str:
    """Who leads, whom it really beats and whom it is not shown to beat."""
    first, *others = sorted(entries, key=lambda entry: -entry.mean(measure))
    pairs = [one for one in all_pairs(entries, measure) if first.system in (one.one, one.other)]
    beaten = [one.other for one in pairs if one.is_real and one.mean > 0]
    open_ones = [entry.system for entry in others if entry.system not in beaten]
    head = f"{shown(first.system)} has the highest {measure}, {brief(first.mean(measure))}"
    parts = [f"it is better than {_names(beaten)}"] if beaten else []
    parts += [f"no difference to {_names(open_ones)} is shown"] if open_ones else []
    return f"{head}: {'; '.join(parts)}"


def _typos(comparison: Comparison) -> Iterator[str]:
    """How much each system loses by typing errors."""
    if len(comparison.edits) < 2 or comparison.edits[0] != 0:
        return
    language, measure = comparison.first.language, comparison.main
    for edits in comparison.edits[1:]:
        entries = [entry for entry in comparison.under(Condition(language, edits)) if speaks(entry)]
        lost = {entry: drop(comparison, entry, measure) for entry in entries}
        falls = {entry: one for entry, one in lost.items() if one.is_real and one.mean < 0}
        parts = [
            f"{shown(entry.system)} falls by {points(-one.mean)} {bounds(one)}{_share(comparison, entry)}"
            for entry, one in falls.items()
        ]
        others = [entry.system for entry in entries if entry not in falls]
        parts += [f"no fall of {_names(others)} is shown"] if others else []
        if parts:
            yield f"{measure} with {counted(edits, 'edit')} a query: {'; '.join(parts)}"


def drop(comparison: Comparison, entry: Entry, measure: str) -> Difference:
    """The system under this condition less itself without typing errors, on the same queries."""
    plain = comparison.entry(entry.system, Condition(entry.condition.language, comparison.edits[0]))
    return difference(entry, plain, measure)


def relative_drop(comparison: Comparison, entry: Entry, measure: str) -> float | None:
    """The drop as a share of the value without typing errors."""
    plain = comparison.entry(entry.system, Condition(entry.condition.language, comparison.edits[0])).mean(measure)
    return drop(comparison, entry, measure).mean / plain if plain else None


def _languages(comparison: Comparison) -> Iterator[str]:
    """In which languages one system is really better than every other of its family."""
    if len(comparison.languages) < 2:
        return
    measure = comparison.main
    leads: dict[str, list[str]] = {}
    for language in comparison.languages:
        entries = [entry for entry in comparison.under(Condition(language, comparison.edits[0])) if speaks(entry)]
        if len(entries) > 1:
            first = max(entries, key=lambda entry: entry.mean(measure))
            pairs = [one for one in all_pairs(entries, measure) if first.system in (one.one, one.other)]
            mark = "" if all(one.is_real for one in pairs) else "*"
            leads.setdefault(first.system, []).append(f"{language}{mark}")
    if leads:
        listed = "; ".join(f"{shown(name)} in {', '.join(found)}" for name, found in leads.items())
        yield f"highest {measure} by language (* not shown to be better than every other): {listed}"


def _times(comparison: Comparison) -> Iterator[str]:
    """Who is slowest, and which queries feel slow."""
    entries = comparison.under(comparison.first)
    slowest = max(entries, key=lambda entry: float(np.median(entry.ms("total"))))
    if len(entries) > 1:
        middle = float(np.median(slowest.ms("total")))
        yield f"the slowest is {shown(slowest.system)}: {middle:.1f} ms a query (p50, {comparison.store})"
    slow = {entry.system: int(entry.slow.sum()) for entry in entries if entry.slow.any()}
    count = len(entries[0].queries)
    listed = ", ".join(f"{shown(name)} {found} of {count}" for name, found in slow.items())
    limit = f"{SLOW_MS:.0f} ms"
    yield f"queries over {limit}: {listed}" if slow else f"no query took more than {limit}"


def _share(comparison: Comparison, entry: Entry) -> str:
    share = relative_drop(comparison, entry, comparison.main)
    return "" if share is None else f" ({-share:.0%})"


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(shown, names[:_FEW])) + (f" and {len(names) - _FEW} more" if len(names) > _FEW else "")
