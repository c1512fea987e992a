"""Segments: where a system does worse than on the rest of the queries, and whether that is more than chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...errors import UsageError, shown
from ...evaluation import MeasureResult
from ..evidence import Evidence
from ..measured import measured
from ..statistics.correction import NAMES, level_of
from ..statistics.limits import least_label_p, shortage
from ..table import Column, Item, Table
from ..wording import brief, few, p_words
from .groups import Grouping
from .rows import LEAST, Row, SegmentSettings, rows_of


def segments(evidence: Evidence, grouping: Grouping, measure: str, settings: SegmentSettings | None = None) -> list[Table]:
    """Each system's segments beside the rest, worst first; before them the values alone where there are several systems."""
    settings = settings or SegmentSettings()
    values = {name: each[measure] for name, each in measured(evidence, [measure]).items()}
    if next(iter(values.values())).summary != "mean":
        raise UsageError(f"{measure} is no mean over queries", fix="name one that is, such as nDCG@10")
    rows = rows_of(values, grouping, settings)
    tests = sum(row.p is not None for row in rows)
    details = [_detail([row for row in rows if row.system == system], grouping, measure, settings, tests) for system in values]
    last = details[-1]
    notes = (*last.notes, *_limits(rows, values, settings))
    details[-1] = replace(last, sentences=(*last.sentences, _how(tests, settings)), notes=notes)
    return [_overview(rows, values, grouping, measure), *details] if len(values) > 1 else details


def _overview(rows: Sequence[Row], values: Mapping[str, MeasureResult], grouping: Grouping, measure: str) -> Table:
    cells = {(row.segment, row.system): row.value for row in rows}
    sizes = {row.segment: max(each.n for each in rows if each.segment == row.segment) for row in rows}
    names = sorted(sizes, key=lambda name: sum(cells.get((name, system), 0.0) for system in values))
    queries = max(one.queries for one in values.values())
    every: tuple[Item, ...] = ("all queries", queries, *(one.value for one in values.values()))
    body = tuple((name, sizes[name], *(cells.get((name, system)) for system in values)) for name in names)
    return Table(
        name=f"segments by {grouping.by}",
        title=f"{measure} by {grouping.by}, the lowest segment first: n = {queries} queries",
        columns=(Column(grouping.by), Column("n", "count"), *(Column(system, "value") for system in values)),
        rows=(*body, every),
        sentences=tuple(_agreement(rows, list(values))),
        notes=tuple(f"{shown(name)}: n = {one.queries} queries" for name, one in values.items() if one.queries != queries),
        facts={"n": queries, "measure": measure, "by": grouping.by},
    )


def _agreement(rows: Sequence[Row], systems: Sequence[str]) -> list[str]:
    """Which segment is the lowest for most systems, those with too few queries left out."""
    lowest = [
        min((row for row in rows if row.system == system and row.n >= LEAST), key=lambda row: row.value, default=None)
        for system in systems
    ]
    counts = Counter(row.segment for row in lowest if row is not None)
    if not counts:
        return []
    name, times = counts.most_common(1)[0]
    return [f"{shown(name)} is the lowest segment for {times} of {len(systems)} systems."]


def _detail(rows: Sequence[Row], grouping: Grouping, measure: str, settings: SegmentSettings, tests: int) -> Table:
    system, queries = rows[0].system, sum(row.n for row in rows)
    columns = (
        *(Column(grouping.by), Column("n", "count", "queries in the segment")),
        Column("value", "value", f"the mean {measure} of the segment"),
        Column("interval", "interval", f"of the value, {settings.percent}, bootstrap, BCa"),
        Column("rest", "value", "the mean of all other queries"),
        Column("difference", "difference", "the segment less the rest"),
        Column("p", "p", f"permutation of labels, two-sided, {NAMES[settings.correction]} over {tests} tests"),
        Column("verdict", about=f"lower or higher than the rest, or cannot tell; too few: under {LEAST} queries"),
        Column("system"),
    )
    cells = [
        (row.segment, row.n, row.value, row.interval, row.rest, row.difference, row.p, row.verdict(settings.alpha), row.system)
        for row in rows
    ]
    return Table(
        name=f"segments by {grouping.by} against the rest",
        title=f"{measure} of {shown(system)} by {grouping.by}, each segment against the rest: n = {queries} queries",
        columns=columns,
        rows=tuple(cells),
        sentences=_said(rows, measure, settings),
        notes=_warnings(rows),
        facts={
            "system": system,
            "n": queries,
            "measure": measure,
            "by": grouping.by,
            "least": LEAST,
            "tests": tests,
            "correction": settings.correction,
            "alpha": settings.alpha,
            "samples": settings.samples,
            "resamples": settings.resamples,
            "seed": settings.seed,
        },
    )


def _warnings(rows: Sequence[Row]) -> tuple[str, ...]:
    small = sorted(row.segment for row in rows if row.n < LEAST)
    if not small:
        return ()
    return (f"segments of fewer than {LEAST} queries, too few to claim anything: {len(small)} ({few(small)})",)


def _limits(rows: Sequence[Row], values: Mapping[str, MeasureResult], settings: SegmentSettings) -> Iterator[str]:
    """Why no segment could be told from the rest, whatever its values."""
    tested = [row for row in rows if row.p is not None]
    if tested:
        least = min(least_label_p(values[row.system].queries, row.n, settings.samples) for row in tested)
        lacking = shortage(least, level_of(settings.alpha, len(tested), settings.correction))
        if lacking is not None:
            yield f"no segment can be told from the rest: {lacking}"


def _said(rows: Sequence[Row], measure: str, settings: SegmentSettings) -> tuple[str, ...]:
    real = [row for row in rows if row.p is not None and row.p <= settings.alpha and row.difference]
    if len(rows) == 1:
        return (f"All queries of {shown(rows[0].system)} are in one segment: there is no rest.",)
    if not real:
        return (f"No segment of {shown(rows[0].system)} can be told from the rest.",)
    return tuple(_told(row, measure) for row in real)


def _told(row: Row, measure: str) -> str:
    assert row.difference is not None
    assert row.rest is not None
    assert row.p is not None
    word = "lower" if row.difference < 0 else "higher"
    return (
        f"{shown(row.system)} is {word} on {shown(row.segment)} (n = {row.n}): {measure} {brief(row.value)} against"
        f" {brief(row.rest)} on the rest, {row.difference:+.4f}, {p_words(row.p)}."
    )


def _how(tests: int, settings: SegmentSettings) -> str:
    corrected = NAMES[settings.correction] + (
        "" if settings.correction == "none" else f" over {tests} tests (every segment of every system)"
    )
    return (
        f"How: permutation of labels ({settings.samples:,} deals), two-sided, alpha {settings.alpha:g}, {corrected};"
        f" {settings.percent} intervals by bootstrap (BCa, {settings.resamples:,} resamples); seed {settings.seed};"
        f" segments of fewer than {LEAST} queries, or with so few others, are not tested."
    )
