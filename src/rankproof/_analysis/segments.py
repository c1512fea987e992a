"""Segments()."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.query_groups import Grouping
from rankproof._analysis.values import measure_results
from rankproof._data.arrays import FloatArray
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import first_ids, format_p, format_value, pluralise
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.correction import (
    CORRECTION_NAMES,
    CORRECTIONS,
    Correction,
    SamplingOptions,
    check_choice,
    check_samples,
    level_of,
)
from rankproof._statistics.intervals import SMALL_SAMPLE, Interval, describe_interval_method, interval_of, resampled_means
from rankproof._statistics.permutation import label_p, least_label_p, why_not_significant
from rankproof.errors import UsageError, for_message

MIN_QUERIES = 10
"""Fewer queries than this are too few: no test is made of them, and nothing is claimed."""


@dataclass(frozen=True, slots=True)
class SegmentOptions(SamplingOptions):
    """How segments are tested: `samples` deals of the labels, `resamples` for the intervals."""

    samples: int = 10_000
    correction: Correction = "holm"
    resamples: int = 10_000

    def __post_init__(self) -> None:
        SamplingOptions.__post_init__(self)
        check_choice("correction", self.correction, Correction)
        check_samples("resamples", self.resamples)


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One segment of one system; `rest` is None where there is no other query, `p` where there was no test.

    `interval` is None where there is one query, or all have the same value.
    """

    system: str
    segment: str
    n: int
    value: float
    interval: Interval | None
    rest: float | None
    p: float | None = None

    @property
    def difference(self) -> float | None:
        """The segment's value less that of the rest."""
        return None if self.rest is None else self.value - self.rest

    def verdict(self, alpha: float) -> str:
        """What can be said of the segment against the rest."""
        if self.rest is None:
            return "no rest"
        if self.p is None:
            return "too few queries"
        if self.p > alpha or not self.difference:
            return "cannot tell"
        return "lower" if self.difference < 0 else "higher"


def segment_rows(values: Mapping[str, MeasureResult], grouping: Grouping, settings: SegmentOptions) -> list[SegmentRow]:
    """Every segment of every system, p corrected over all of them; systems as they come, their lowest segment first."""
    found: list[SegmentRow] = []
    queries = {name: tuple(sorted(one.query_ids)) for name, one in values.items()}
    for ids in dict.fromkeys(queries.values()):
        names = [name for name in values if queries[name] == ids]
        columns = np.array([[each[query] for query in ids] for each in (values[name].per_query for name in names)])
        found += _rows_over_same_queries(names, ids, columns.T, grouping, settings, values[names[0]].measure.range)
    order = list(values)
    return sorted(_corrected(found, settings), key=lambda row: (order.index(row.system), row.value, row.segment))


def _rows_over_same_queries(
    names: Sequence[str],
    ids: Sequence[str],
    values: FloatArray,
    grouping: Grouping,
    settings: SegmentOptions,
    within: Interval,
) -> list[SegmentRow]:
    """The rows of systems whose means run over the same queries, in the order of their ids: a column of values each."""
    at = {query: place for place, query in enumerate(ids)}
    every = {name: sorted(at[query] for query in queries if query in at) for name, queries in sorted(grouping.segments.items())}
    places = {segment: chosen for segment, chosen in every.items() if chosen}
    sizes = [len(chosen) for chosen in places.values()]
    dealt = values[np.concatenate(list(places.values()))]
    p = label_p(dealt, sizes, samples=settings.samples, seed=settings.seed)
    found = []
    for index, (segment, chosen) in enumerate(places.items()):
        inside, outside = values[chosen], np.delete(values, chosen, axis=0)
        means = resampled_means(inside, settings.resamples, settings.seed)
        is_tested = min(len(inside), len(outside)) >= MIN_QUERIES
        for column, name in enumerate(names):
            own = inside[:, column]
            rest = _mean(outside[:, column]) if len(outside) else None
            interval = interval_of(own, means[:, column], "bca", 1 - settings.alpha, within)
            chance = float(p[index, column]) if is_tested else None
            found.append(SegmentRow(name, segment, len(own), _mean(own), interval, rest, chance))
    return found


def _mean(values: FloatArray) -> float:
    return math.fsum(values.tolist()) / len(values)


def _corrected(rows: Sequence[SegmentRow], settings: SegmentOptions) -> list[SegmentRow]:
    tested = [row.p for row in rows if row.p is not None]
    raised = iter(CORRECTIONS[settings.correction](np.array(tested)).tolist() if tested else ())
    return [row if row.p is None else replace(row, p=next(raised)) for row in rows]


def describe_lowest_segment(
    rows: Sequence[SegmentRow], systems: Sequence[str], measure: str, settings: SegmentOptions
) -> list[str]:
    """Which segment has the lowest value for most systems, and for how many that is told; where some have too few queries for
    a claim, it is the lowest of the others, and said to be.
    """
    lowest = [
        min((row for row in rows if row.system == system and row.n >= MIN_QUERIES), key=lambda row: row.value, default=None)
        for system in systems
    ]
    counts = Counter(row.segment for row in lowest if row is not None)
    if not counts:
        return []
    name, times = counts.most_common(1)[0]
    told = sum(row is not None and row.segment == name and row.verdict(settings.alpha) == "lower" for row in lowest)
    surely = f"for {told} of them lower than the rest beyond chance" if told else "but for none of them beyond chance"
    among = f" of the segments with {MIN_QUERIES} or more queries" if any(row.n < MIN_QUERIES for row in rows) else ""
    return [f"{for_message(name)} has the lowest {measure}{among} for {times} of {len(systems)} systems, {surely}."]


def small_segment_warnings(rows: Sequence[SegmentRow]) -> tuple[str, ...]:
    """The segments that have too few queries for a claim, or for an interval to rely on."""
    small = sorted(row.segment for row in rows if row.n < MIN_QUERIES)
    rough = sorted(row.segment for row in rows if MIN_QUERIES <= row.n < SMALL_SAMPLE)
    found = []
    if small:
        found.append(
            f"segments of fewer than {MIN_QUERIES} queries, too few to claim anything: {len(small)} ({first_ids(small)})"
        )
    if rough:
        found.append(
            f"segments of fewer than {SMALL_SAMPLE} queries, whose intervals are rough: {len(rough)} ({first_ids(rough)})"
        )
    return tuple(found)


def segment_limits(rows: Sequence[SegmentRow], values: Mapping[str, MeasureResult], settings: SegmentOptions) -> Iterator[str]:
    """Why no segment could be told from the rest, whatever its values."""
    tested = [row for row in rows if row.p is not None]
    if tested:
        least = min(least_label_p(values[row.system].queries, row.n, settings.samples) for row in tested)
        lacking = why_not_significant(least, level_of(settings.alpha, len(tested), settings.correction, len(tested)))
        if lacking is not None:
            yield f"no segment can be told from the rest: {lacking}"


def describe_segments(rows: Sequence[SegmentRow], measure: str, settings: SegmentOptions) -> tuple[str, ...]:
    """What can be said of one system's segments."""
    real = [row for row in rows if row.p is not None and row.p <= settings.alpha and row.difference]
    if len(rows) == 1:
        return (f"All queries of {for_message(rows[0].system)} are in one segment: there is no rest.",)
    if not real:
        return (f"No segment of {for_message(rows[0].system)} can be told from the rest.",)
    return tuple(_describe_row(row, measure) for row in real)


def _describe_row(row: SegmentRow, measure: str) -> str:
    assert row.difference is not None
    assert row.rest is not None
    assert row.p is not None
    word = "lower" if row.difference < 0 else "higher"
    return (
        f"{for_message(row.system)} is {word} on {for_message(row.segment)} (n = {row.n}): {measure} {format_value(row.value)} against"
        f" {format_value(row.rest)} on the rest, {row.difference:+.4f}, {format_p(row.p)}."
    )


def describe_tests(rows: Sequence[SegmentRow], tests: int, settings: SegmentOptions) -> str:
    """How it was done, in a sentence."""
    corrected = CORRECTION_NAMES[settings.correction] + (
        "" if settings.correction == "none" else f" over {pluralise(tests, 'test')} (every segment of every system)"
    )
    sizes = [row.n for row in rows]
    intervals = describe_interval_method("bca", settings.resamples, min(sizes), max(sizes))
    return (
        f"How: permutation of labels ({settings.samples:,} deals), two-sided, alpha {settings.alpha:g}, {corrected};"
        f" {settings.percent} intervals ({intervals}); seed {settings.seed};"
        f" segments of fewer than {MIN_QUERIES} queries, or with so few others, are not tested."
    )


def segments(inputs: AnalysisInput, grouping: Grouping, measure: str, settings: SegmentOptions | None = None) -> list[Table]:
    """Each system's segments beside the rest, worst first; before them the values alone where there are several systems."""
    settings = settings or SegmentOptions()
    every = {name: each[measure] for name, each in measure_results(inputs, [measure]).items()}
    values = {name: one for name, one in every.items() if one.queries}
    if not values:
        raise UsageError(f"no system has a value of {measure}", fix="run the experiment again: every answer failed")
    if next(iter(values.values())).summary != "mean":
        raise UsageError(f"{measure} is no mean over queries", fix="name one that is, such as nDCG@10")
    rows = segment_rows(values, grouping, settings)
    tests = sum(row.p is not None for row in rows)
    details = [_detail([row for row in rows if row.system == system], grouping, measure, settings, tests) for system in values]
    last = details[-1]
    without = (f"{for_message(name)} has no value of {measure} and is left out" for name in every if name not in values)
    notes = (*last.notes, *segment_limits(rows, values, settings), *without)
    details[-1] = replace(last, sentences=(*last.sentences, describe_tests(rows, tests, settings)), notes=notes)
    return [_overview(rows, values, grouping, measure, settings), *details] if len(values) > 1 else details


def _overview(
    rows: Sequence[SegmentRow], values: Mapping[str, MeasureResult], grouping: Grouping, measure: str, settings: SegmentOptions
) -> Table:
    cells = {(row.segment, row.system): row.value for row in rows}
    sizes = {row.segment: max(each.n for each in rows if each.segment == row.segment) for row in rows}
    names = sorted(sizes, key=lambda name: sum(cells.get((name, system), 0.0) for system in values))
    queries = max(one.queries for one in values.values())
    every: tuple[CellValue, ...] = ("all queries", queries, *(one.value for one in values.values()))
    body = tuple((name, sizes[name], *(cells.get((name, system)) for system in values)) for name in names)
    return Table(
        name=f"segments by {grouping.by}",
        title=f"{measure} by {grouping.by}, the lowest segment first: n = {pluralise(queries, 'query', 'queries')}",
        columns=(Column(grouping.by), Column("n", "count"), *(Column(system, "value") for system in values)),
        rows=(*body, every),
        sentences=tuple(describe_lowest_segment(rows, list(values), measure, settings)),
        notes=tuple(
            f"{for_message(name)}: n = {pluralise(one.queries, 'query', 'queries')}"
            for name, one in values.items()
            if one.queries != queries
        ),
        facts={"n": queries, "measure": measure, "by": grouping.by},
    )


def _detail(rows: Sequence[SegmentRow], grouping: Grouping, measure: str, settings: SegmentOptions, tests: int) -> Table:
    system, queries = rows[0].system, sum(row.n for row in rows)
    n = pluralise(queries, "query", "queries")
    columns = (
        *(Column(grouping.by), Column("n", "count", "queries in the segment")),
        Column("value", "value", f"the mean {measure} of the segment"),
        Column("interval", "interval", f"of the value, {settings.percent}; none for 1 query, or where all have one value"),
        Column("rest", "value", "the mean of all other queries"),
        Column("difference", "difference", "the segment less the rest"),
        Column(
            "p", "p", f"permutation of labels, two-sided, {CORRECTION_NAMES[settings.correction]} over {pluralise(tests, 'test')}"
        ),
        Column("verdict", about=f"lower or higher than the rest, or cannot tell; too few: under {MIN_QUERIES} queries"),
        Column("system"),
    )
    cells = [
        (row.segment, row.n, row.value, row.interval, row.rest, row.difference, row.p, row.verdict(settings.alpha), row.system)
        for row in rows
    ]
    return Table(
        name=f"segments by {grouping.by} against the rest",
        title=f"{measure} of {for_message(system)} by {grouping.by}, each segment against the rest: n = {n}",
        columns=columns,
        rows=tuple(cells),
        sentences=describe_segments(rows, measure, settings),
        notes=small_segment_warnings(rows),
        facts={
            "system": system,
            "n": queries,
            "measure": measure,
            "by": grouping.by,
            "least": MIN_QUERIES,
            "tests": tests,
            "correction": settings.correction,
            "alpha": settings.alpha,
            "samples": settings.samples,
            "resamples": settings.resamples,
            "seed": settings.seed,
        },
    )


def flat_segments_table(tables: Sequence[Table]) -> Table:
    """The tables of segments against the rest as one, a row for each segment of each system under each measure."""
    details = [table for table in tables if "system" in table.facts]
    columns = (Column("measure"), Column("by", about="what queries are grouped by"), Column("segment"), *details[0].columns[1:])
    rows = tuple((table.facts["measure"], table.facts["by"], *row) for table in details for row in table.rows)
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return Table("segments", "Every segment against the rest", columns, rows, notes=notes)
