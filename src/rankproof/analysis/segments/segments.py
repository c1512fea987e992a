"""Segments: where a system does worse than on the rest of the queries, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...errors import UsageError, shown
from ...evaluation import MeasureResult
from ..evidence import Evidence
from ..measured import measured
from ..statistics.correction import NAMES
from ..table import Column, Item, Table
from ..wording import counted
from .groups import Grouping
from .rows import LEAST, Row, SegmentSettings, rows_of
from .words import agreement, how, limits, said, warnings


def segments(evidence: Evidence, grouping: Grouping, measure: str, settings: SegmentSettings | None = None) -> list[Table]:
    """Each system's segments beside the rest, worst first; before them the values alone where there are several systems."""
    settings = settings or SegmentSettings()
    every = {name: each[measure] for name, each in measured(evidence, [measure]).items()}
    values = {name: one for name, one in every.items() if one.queries}
    if not values:
        raise UsageError(f"no system has a value of {measure}", fix="run the experiment again: every answer failed")
    if next(iter(values.values())).summary != "mean":
        raise UsageError(f"{measure} is no mean over queries", fix="name one that is, such as nDCG@10")
    rows = rows_of(values, grouping, settings)
    tests = sum(row.p is not None for row in rows)
    details = [_detail([row for row in rows if row.system == system], grouping, measure, settings, tests) for system in values]
    last = details[-1]
    without = (f"{shown(name)} has no value of {measure} and is left out" for name in every if name not in values)
    notes = (*last.notes, *limits(rows, values, settings), *without)
    details[-1] = replace(last, sentences=(*last.sentences, how(rows, tests, settings)), notes=notes)
    return [_overview(rows, values, grouping, measure, settings), *details] if len(values) > 1 else details


def _overview(
    rows: Sequence[Row], values: Mapping[str, MeasureResult], grouping: Grouping, measure: str, settings: SegmentSettings
) -> Table:
    cells = {(row.segment, row.system): row.value for row in rows}
    sizes = {row.segment: max(each.n for each in rows if each.segment == row.segment) for row in rows}
    names = sorted(sizes, key=lambda name: sum(cells.get((name, system), 0.0) for system in values))
    queries = max(one.queries for one in values.values())
    every: tuple[Item, ...] = ("all queries", queries, *(one.value for one in values.values()))
    body = tuple((name, sizes[name], *(cells.get((name, system)) for system in values)) for name in names)
    return Table(
        name=f"segments by {grouping.by}",
        title=f"{measure} by {grouping.by}, the lowest segment first: n = {counted(queries, 'query', 'queries')}",
        columns=(Column(grouping.by), Column("n", "count"), *(Column(system, "value") for system in values)),
        rows=(*body, every),
        sentences=tuple(agreement(rows, list(values), measure, settings)),
        notes=tuple(
            f"{shown(name)}: n = {counted(one.queries, 'query', 'queries')}"
            for name, one in values.items()
            if one.queries != queries
        ),
        facts={"n": queries, "measure": measure, "by": grouping.by},
    )


def _detail(rows: Sequence[Row], grouping: Grouping, measure: str, settings: SegmentSettings, tests: int) -> Table:
    system, queries = rows[0].system, sum(row.n for row in rows)
    n = counted(queries, "query", "queries")
    columns = (
        *(Column(grouping.by), Column("n", "count", "queries in the segment")),
        Column("value", "value", f"the mean {measure} of the segment"),
        Column("interval", "interval", f"of the value, {settings.percent}; none for 1 query, or where all have one value"),
        Column("rest", "value", "the mean of all other queries"),
        Column("difference", "difference", "the segment less the rest"),
        Column("p", "p", f"permutation of labels, two-sided, {NAMES[settings.correction]} over {counted(tests, 'test')}"),
        Column("verdict", about=f"lower or higher than the rest, or cannot tell; too few: under {LEAST} queries"),
        Column("system"),
    )
    cells = [
        (row.segment, row.n, row.value, row.interval, row.rest, row.difference, row.p, row.verdict(settings.alpha), row.system)
        for row in rows
    ]
    return Table(
        name=f"segments by {grouping.by} against the rest",
        title=f"{measure} of {shown(system)} by {grouping.by}, each segment against the rest: n = {n}",
        columns=columns,
        rows=tuple(cells),
        sentences=said(rows, measure, settings),
        notes=warnings(rows),
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
