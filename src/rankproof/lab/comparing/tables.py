"""A comparison as tables for people: quality, cost, typing errors, languages, pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...analysis.table import Column, Item, Table
from ...data.counting import counted
from .comparison import Comparison
from .conclusion import conclusions
from .condition_tables import languages, typos
from .cost_tables import time, tokens
from .differences import is_lone_trial
from .entry import Entry
from .remarks import remarks

_SHOWN, _SHOWN_WITH_SEEDS = 4, 2
"""So many measures fit beside the intervals in a terminal of 80 columns."""


def tables_of(comparison: Comparison) -> list[Table]:
    """Those that there is something to say in; the conclusion last."""
    return [
        _quality(comparison),
        tokens(comparison),
        time(comparison),
        *([typos(comparison)] if len(comparison.edits) > 1 else []),
        *([languages(comparison)] if len(comparison.languages) > 1 else []),
        *([_pairs(comparison)] if comparison.pairs(comparison.first) else []),
        Table("conclusion", "Conclusion", (Column("what"),), (), tuple(conclusions(comparison)), verdict_first=True),
    ]


def page_of(comparison: Comparison) -> list[Table]:
    """The tables, and below them as sentences whatever must be known beside them, for a page that stands alone."""
    tables = tables_of(comparison)
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return [*tables, Table("notes", "Notes", (Column("note"),), (), notes)] if notes else tables


def _quality(comparison: Comparison) -> Table:
    entries, main = comparison.under(comparison.first), comparison.main
    repeated = any(entry.repeats > 1 for entry in entries)
    measures = comparison.measures[: _SHOWN_WITH_SEEDS if repeated else _SHOWN]
    columns = [Column("system"), Column(main, "value", "the mean over queries and repeats")]
    columns += [Column(f"{main} 95%", "interval", "over queries and over repeats")]
    columns += [Column("seeds", "interval", "the lowest and the highest mean of a repeat")] if repeated else []
    columns += [Column(name, "value") for name in measures[1:]]
    rows = tuple((entry.system, *_values(entry, main, measures, repeated=repeated)) for entry in entries)
    queries = counted(len(entries[0].queries), "query", "queries")
    title = f"{comparison.dataset}: {queries}, {comparison.documents:,} documents, {comparison.store}"
    told = (*remarks(entries, main, comparison.chance), *_trained_once(entries), *_remembered(entries))
    notes = tuple(dict.fromkeys((*comparison.notes, *told)))
    return Table("quality", title, tuple(columns), rows, notes=notes, strong=_best_row(entries, main))


def _trained_once(entries: Sequence[Entry]) -> list[str]:
    """What the intervals of a trial without repeats do not hold."""
    names = [entry.system for entry in entries if is_lone_trial(entry)]
    about = "trained once, so that its interval knows of the queries alone and no difference from it is called real"
    return [f"{name}: {about}" for name in names]


def _remembered(entries: Sequence[Entry]) -> list[str]:
    """Times are those of the run that took them, which may be of another day and another load."""
    kept = [entry.system for entry in entries if entry.remembered]
    whose = "all systems" if len(kept) == len(entries) else ", ".join(kept)
    return [f"times of {whose} are those of an earlier run, from the cache; an empty --cache takes them anew"] if kept else []


def _values(entry: Entry, main: str, measures: Sequence[str], *, repeated: bool) -> Iterator[Item]:
    yield entry.mean(main)
    yield entry.interval(main)
    if repeated:
        yield entry.span(main) if entry.repeats > 1 else None
    yield from (entry.mean(name) for name in measures[1:])


def _best_row(entries: Sequence[Entry], measure: str) -> frozenset[int]:
    return frozenset({max(range(len(entries)), key=lambda at: entries[at].mean(measure))}) if len(entries) > 1 else frozenset()


def _pairs(comparison: Comparison) -> Table:
    columns = (
        Column("higher"),
        Column("lower"),
        Column("difference", "difference"),
        Column("95%", "interval", "paired, of the mean over the repeats"),
        Column("real", "flag", "the interval excludes 0, and the sign is the same in every pair of two repeats or more"),
    )
    found = comparison.pairs(comparison.first)
    rows: tuple[tuple[Item, ...], ...] = tuple((one.one, one.other, one.mean, one.interval, one.is_real) for one in found)
    about = f"{counted(len(found), 'pair')}; each interval is of 95%, and none is corrected for their number"
    return Table("pairs", f"Differences in {comparison.main}", columns, rows, (about,))
