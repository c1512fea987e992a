"""`segments`: each system by groups of queries, each group tested against the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rankproof._analysis.bands import (
    BandProfile,
    Bands,
    band_text,
    builtin_profiles,
    describe_bands,
    describe_missing_bands,
    has_ratings,
    is_failing,
    profile_for,
    rating_text,
)
from rankproof._analysis.compare.counted_queries import conversations, conversations_note
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.options import SegmentOptions
from rankproof._analysis.query_groups import MIN_QUERIES, Grouping, small_segment_warnings, units_name
from rankproof._analysis.values import measure_results
from rankproof._data.arrays import FloatArray, IntArray, weight_column, weights_by_query
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._data.text import format_p, format_value, pluralise
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.decision_rule import group_means
from rankproof._statistics.intervals import Interval, bounded_mean_interval, describe_interval_method
from rankproof._statistics.means import weighted_mean
from rankproof._statistics.options import CORRECTION_NAMES
from rankproof._statistics.paired import CORRECTIONS, level_of
from rankproof._statistics.permutation import group_label_p, label_p, smallest_label_p, why_not_significant
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One segment of one system; `rest` is None without other queries, `p` is None without a test.

    `interval` is None for a single query, and for equal values of a measure without a finite range. `units` are the conversations
    of the queries in the segment, `other_units` those of the rest; the queries themselves if no two are of one conversation.
    """

    system: str
    segment: str
    n: int
    units: int
    other_units: int
    value: float
    interval: Interval | None
    rest: float | None
    p: float | None = None

    @property
    def difference(self) -> float | None:
        """The value of the segment minus that of the rest."""
        return None if self.rest is None else self.value - self.rest

    def verdict(self, alpha: float) -> str:
        """The verdict on the segment against the rest."""
        if self.rest is None:
            return "no rest"
        if self.p is None:
            return f"too few {units_name([self])}"
        if self.p > alpha or not self.difference:
            return "not significant"
        return "lower" if self.difference < 0 else "higher"


def segment_rows(
    values: Mapping[str, MeasureResult], grouping: Grouping, inputs: AnalysisInput, options: SegmentOptions
) -> list[SegmentRow]:
    """Every segment of every system, lowest first, with p corrected over all of them."""
    rows: list[SegmentRow] = []
    queries = {name: tuple(sorted(value.query_ids)) for name, value in values.items()}
    # Systems with the same queries share the permutations, so that their p-values are comparable and cost one run.
    for ids in dict.fromkeys(queries.values()):
        names = [name for name in values if queries[name] == ids]
        columns = np.array([[per_query[query] for query in ids] for per_query in (values[name].per_query for name in names)])
        first = values[names[0]]
        tested = _Queries(ids, _weights(first, ids), conversations(inputs, ids))
        rows += _rows_over_same_queries(names, tested, columns.T, grouping, options, first.measure.range)
    order = list(values)
    return sorted(_corrected(rows, options), key=lambda row: (order.index(row.system), row.value, row.segment))


class _Queries(NamedTuple):
    """Queries with their weights, and the conversations that they are turns of."""

    ids: Sequence[str]
    weights: FloatArray | None
    groups: IntArray | None

    def units(self, places: IntArray) -> int:
        """How many of the queries at these places are independent: conversations, or queries."""
        return len(places) if self.groups is None else len(np.unique(self.groups[places]))

    def interval(self, values: FloatArray, places: IntArray, level: float, within: Interval) -> Interval | None:
        """The interval of the mean of the values of the queries at these places."""
        weights = None if self.weights is None else self.weights[places]
        if self.groups is not None:
            values, weights = group_means(values, weights, self.groups[places])
        return bounded_mean_interval(values, level=level, within=within, weights=weights)

    def p(self, values: FloatArray, segments: Sequence[IntArray], options: SegmentOptions) -> FloatArray:
        """p of each segment against the rest by column."""
        if self.weights is None and self.groups is None:
            grouped = values[np.concatenate(segments)]
            return label_p(grouped, [len(places) for places in segments], samples=options.samples, seed=options.seed)
        marks = [np.isin(np.arange(len(values)), places) for places in segments]
        return group_label_p(values, marks, self.weights, self.groups, samples=options.samples, seed=options.seed)


def _rows_over_same_queries(
    names: Sequence[str],
    queries: _Queries,
    values: FloatArray,
    grouping: Grouping,
    options: SegmentOptions,
    within: Interval,
) -> list[SegmentRow]:
    """The rows of systems with the same queries; `values` has a row per query in id order and a column per system."""
    at = {query: place for place, query in enumerate(queries.ids)}
    every = {name: sorted(at[query] for query in members if query in at) for name, members in sorted(grouping.segments.items())}
    segments = {segment: np.array(chosen) for segment, chosen in every.items() if chosen}
    p = queries.p(values, list(segments.values()), options)
    rows = []
    for index, (segment, chosen) in enumerate(segments.items()):
        others = np.delete(np.arange(len(values)), chosen)
        own_weights, other_weights = (None if queries.weights is None else queries.weights[part] for part in (chosen, others))
        units = queries.units(chosen), queries.units(others)
        for column, name in enumerate(names):
            own, outside = values[chosen, column], values[others, column]
            value, rest = weighted_mean(own, own_weights), weighted_mean(outside, other_weights) if len(outside) else None
            interval = queries.interval(own, chosen, 1 - options.alpha, within)
            chance = float(p[index, column]) if min(units) >= MIN_QUERIES else None
            rows.append(SegmentRow(name, segment, len(own), *units, value, interval, rest, chance))
    return rows


def _weights(result: MeasureResult, ids: Sequence[str]) -> FloatArray | None:
    if result.weights is None:
        return None
    by_query = weights_by_query(result.query_ids, result.weights)
    return weight_column(by_query[query] for query in ids)


def _corrected(rows: Sequence[SegmentRow], options: SegmentOptions) -> list[SegmentRow]:
    """The rows with p corrected over all tests; both rows of one test have its p."""
    tests = _tests(rows)
    p = CORRECTIONS[options.correction](np.array([test[0].p for test in tests])).tolist() if tests else []
    known = {(row.system, row.segment): chance for test, chance in zip(tests, p, strict=True) for row in test}
    return [replace(row, p=known.get((row.system, row.segment))) for row in rows]


def _tests(rows: Sequence[SegmentRow]) -> list[list[SegmentRow]]:
    """The rows of each test: two segments of a system that are each other's rest are one test."""
    by_system: dict[str, list[SegmentRow]] = {}
    for row in rows:
        by_system.setdefault(row.system, []).append(row)
    # The mirror image of a test is no second test: counting it would make Holm's correction too strict.
    tests = [[own] if len(own) == 2 else [[row] for row in own] for own in by_system.values()]
    return [test for own in tests for test in own if test[0].p is not None]


def describe_lowest_segment(
    rows: Sequence[SegmentRow], systems: Sequence[str], measure: str, options: SegmentOptions
) -> list[str]:
    """The segment with the lowest value for most systems, and for how many it is significantly lower.

    Segments with too few queries are left out, and the sentence says so.
    """
    lowest = [
        min((row for row in rows if row.system == system and row.units >= MIN_QUERIES), key=lambda row: row.value, default=None)
        for system in systems
    ]
    counts = Counter(row.segment for row in lowest if row is not None)
    if not counts:
        return []
    name, times = counts.most_common(1)[0]
    count = sum(row is not None and row.segment == name and row.verdict(options.alpha) == "lower" for row in lowest)
    tested = f"significantly lower than the rest for {count} of them" if count else "but not significantly for any of them"
    among = f" of the segments with at least {MIN_QUERIES} queries" if any(row.units < MIN_QUERIES for row in rows) else ""
    return [f"{for_message(name)} has the lowest {measure}{among} for {times} of {len(systems)} systems, {tested}."]


def segment_limits(rows: Sequence[SegmentRow], options: SegmentOptions) -> Iterator[str]:
    """Why no segment can be significantly different from the rest, whatever its values."""
    tested = [row for row in rows if row.p is not None]
    if tested:
        least = min(smallest_label_p(row.units + row.other_units, row.units, options.samples) for row in tested)
        tests = len(_tests(rows))
        reason = why_not_significant(least, level_of(options.alpha, tests, options.correction, tests))
        if reason is not None:
            yield f"no segment can be significantly different from the rest: {reason}"


def describe_segments(rows: Sequence[SegmentRow], measure: str, options: SegmentOptions) -> tuple[str, ...]:
    """The significant segments of one system, a sentence each; of two segments only the first, as they are one test."""
    real = [row for row in rows if row.p is not None and row.p <= options.alpha and row.difference]
    if len(rows) == 1:
        return (f"All queries of {for_message(rows[0].system)} are in one segment, so there is no rest to compare with.",)
    if not real:
        return (f"No segment of {for_message(rows[0].system)} differs significantly from the rest.",)
    return tuple(_describe_finding({**asdict(row), "measure": measure}) for row in (real[:1] if len(rows) == 2 else real))


def _describe_finding(row: Mapping[str, Any]) -> str:
    """A significant segment in a sentence, from the fields of a SegmentRow and its measure."""
    difference = row["value"] - row["rest"]
    return (
        f"{for_message(row['system'])} is significantly {'lower' if difference < 0 else 'higher'} on"
        f" {for_message(row['segment'])} (n = {row['n']}): {row['measure']} {format_value(row['value'])} against"
        f" {format_value(row['rest'])} on the rest, {difference:+.4f}, {format_p(row['p'])}."
    )


_SHOWN_SEGMENTS = 10
"""The segments of a grouping that are shown without details: the lowest ones."""
_SHOWN_FINDINGS = 5
_ONE_TEST = "; two segments that are each other's rest are one test"


def describe_tests(rows: Sequence[SegmentRow], tests: int, options: SegmentOptions) -> str:
    """The method of the tests in one sentence."""
    shared = _ONE_TEST if any(len(test) == 2 for test in _tests(rows)) else ""
    units = units_name(rows)
    of_units = " of whole conversations" if units == "conversations" else ""
    corrected = CORRECTION_NAMES[options.correction] + (
        "" if options.correction == "none" else f" over {pluralise(tests, 'test')} (every segment of every system{shared})"
    )
    return (
        f"Method: label permutation test ({options.samples:,} permutations{of_units}), two-sided,"
        f" alpha {options.alpha:g}, {corrected}; {options.percent} intervals ({describe_interval_method()};"
        f" Wilson's if all values are equal), not corrected; seed {options.seed};"
        f" segments with fewer than {MIN_QUERIES} {units} inside or outside are not tested."
    )


def segments(
    inputs: AnalysisInput,
    grouping: Grouping,
    measure: str,
    options: SegmentOptions | None = None,
    profiles: Sequence[BandProfile] | None = None,
) -> list[Table]:
    """A table per system of its segments against the rest, lowest first; an overview comes first if there are several systems.

    The bands are those of the first profile with the measure, by default a built-in one; a note says if given ones lack it.
    """
    options = options or SegmentOptions()
    every = {name: result[measure] for name, result in measure_results(inputs, [measure]).items()}
    values = {name: known for name, known in every.items() if known.queries}
    if not values:
        raise UsageError(f"no system has a value of {measure}: every answer failed", fix="run the experiment again")
    first = next(iter(values.values()))
    if first.summary != "mean":
        raise UsageError(f"{measure} is not a mean over queries", fix="choose a mean, such as nDCG@10")
    rows = segment_rows(values, grouping, inputs, options)
    view = _view(first.measure, grouping, measure, options, builtin_profiles().values() if profiles is None else profiles)
    tests = len(_tests(rows))
    details = [_detail([row for row in rows if row.system == system], view, tests) for system in values]
    last = details[-1]
    without = (f"{for_message(name)} has no value of {measure} and is left out" for name in every if name not in values)
    turns = "".join(conversations_note(conversations(inputs, first.query_ids), "p and intervals count conversations"))
    unrated = describe_missing_bands(first.measure, profiles or ())
    notes = (*grouping.notes, *last.notes, *segment_limits(rows, options), *filter(None, [turns]), *without, *unrated)
    failing = view.failing_sentences(rows) if len(values) == 1 else ()
    sentences = (*failing, *last.sentences, *view.band_sentences, describe_tests(rows, tests, options))
    details[-1] = replace(last, sentences=sentences, notes=notes, facts={**last.facts, "turns": turns} if turns else last.facts)
    if len(values) > 1:
        return [_overview(rows, values, view), *(replace(table, summary=TableSummary(sentences=())) for table in details)]
    columns = tuple(column.name for column in last.columns if column.name not in ("difference", "system"))
    shown = TableSummary(columns, tuple(range(min(len(last.rows), _SHOWN_SEGMENTS))), tuple(range(len(failing))))
    return [replace(details[-1], verdict_first=True, summary=shown)]


@dataclass(frozen=True, slots=True)
class _View:
    """What the tables of one grouping and measure share; `profile` is None for a measure without bands."""

    grouping: Grouping
    measure: str
    options: SegmentOptions
    profile: BandProfile | None
    bands: Bands

    @property
    def band_sentences(self) -> tuple[str, ...]:
        """The bands of the measure."""
        return () if self.profile is None else (describe_bands(self.profile, self.bands, self.options.percent),)

    def band_columns(self) -> tuple[Column, ...]:
        """The columns of the band and its rating, as far as the profile has them."""
        if self.profile is None:
            return ()
        about = f"of the profile {self.profile.name}; in brackets those within the interval"
        rating = Column("rating", about=f"good, weak or failing by the band; too few queries: fewer than {MIN_QUERIES}")
        return (Column("band", about=f"band of the value, {about}"), *([rating] if has_ratings(self.bands) else []))

    def band_cells(self, row: SegmentRow) -> tuple[CellValue, ...]:
        """The cells of these columns."""
        if self.profile is None:
            return ()
        rating = rating_text(self.bands, row.value, row.interval, enough=row.units >= MIN_QUERIES)
        return (band_text(self.bands, row.value, row.interval), *([rating] if has_ratings(self.bands) else []))

    def failing_sentences(self, rows: Sequence[SegmentRow]) -> list[str]:
        """The segments whose whole interval is failing, each with its systems."""
        failing: dict[str, list[str]] = {}
        for row in rows:
            if self.profile is not None and row.units >= MIN_QUERIES and is_failing(self.bands, row.interval):
                failing.setdefault(row.segment, []).append(row.system)
        if self.profile is None or not failing:
            return []
        listed = "; ".join(f"{for_message(name)} ({', '.join(map(for_message, systems))})" for name, systems in failing.items())
        return [f"Failing by the bands of {self.profile.name}, with the whole {self.options.percent} interval: {listed}."]


def _view(measure: Measure, grouping: Grouping, name: str, options: SegmentOptions, profiles: Iterable[BandProfile]) -> _View:
    profile = profile_for(measure, profiles)
    return _View(grouping, name, options, profile, () if profile is None else profile.bands_of(measure) or ())


def _overview(rows: Sequence[SegmentRow], values: Mapping[str, MeasureResult], view: _View) -> Table:
    grouping, measure = view.grouping, view.measure
    cells = {(row.segment, row.system): row.value for row in rows}
    sizes = {row.segment: max(other.n for other in rows if other.segment == row.segment) for row in rows}
    names = sorted(sizes, key=lambda name: sum(cells.get((name, system), 0.0) for system in values))
    queries = max(value.queries for value in values.values())
    every: tuple[CellValue, ...] = ("all queries", queries, *(value.value for value in values.values()))
    body = tuple((name, sizes[name], *(cells.get((name, system)) for system in values)) for name in names)
    columns = (Column(grouping.by), Column("n", "count"), *(Column(system, "value") for system in values))
    shown = (*range(min(len(body), _SHOWN_SEGMENTS)), len(body))
    return Table(
        name=f"segments by {grouping.by}",
        title=f"{measure} by {grouping.by}, lowest segment first: n = {pluralise(queries, 'query', 'queries')}",
        columns=columns,
        rows=(*body, every),
        sentences=(*describe_lowest_segment(rows, list(values), measure, view.options), *view.failing_sentences(rows)),
        notes=tuple(
            f"{for_message(name)}: n = {pluralise(value.queries, 'query', 'queries')}"
            for name, value in values.items()
            if value.queries != queries
        ),
        facts={"n": queries, "measure": measure, "by": grouping.by},
        verdict_first=True,
        summary=TableSummary(tuple(column.name for column in columns), shown),
    )


def _detail(rows: Sequence[SegmentRow], view: _View, tests: int) -> Table:
    grouping, measure, options = view.grouping, view.measure, view.options
    system, queries = rows[0].system, sum(row.n for row in rows)
    n = pluralise(queries, "query", "queries")
    columns = (
        *(Column(grouping.by), Column("n", "count", "queries in the segment")),
        Column("value", "value", f"mean {measure} of the segment"),
        Column(f"{options.percent} CI", "interval", "of the value; none for a single query"),
        Column("rest", "value", "mean of all other queries"),
        Column("difference", "difference", "the segment minus the rest"),
        Column(
            "p", "p", f"label permutation test, two-sided, {CORRECTION_NAMES[options.correction]} over {pluralise(tests, 'test')}"
        ),
        Column("verdict", about=f"lower, higher, or not significant; too few {units_name(rows)}: fewer than {MIN_QUERIES}"),
        *(*view.band_columns(), Column("system")),
    )
    cells = [
        (
            *(row.segment, row.n, row.value, row.interval, row.rest, row.difference, row.p, row.verdict(options.alpha)),
            *(*view.band_cells(row), row.system),
        )
        for row in rows
    ]
    return Table(
        name=f"segments by {grouping.by} against the rest",
        title=f"{measure} of {for_message(system)} by {grouping.by}, each segment against the rest: n = {n}",
        columns=columns,
        rows=tuple(cells),
        sentences=describe_segments(rows, measure, options),
        notes=small_segment_warnings(rows),
        facts={
            "system": system,
            "n": queries,
            "measure": measure,
            "by": grouping.by,
            "min_queries": MIN_QUERIES,
            "tests": tests,
            "correction": options.correction,
            "alpha": options.alpha,
            "samples": options.samples,
            "seed": options.seed,
            **({} if view.profile is None else {"profile": view.profile.name, "bands_source": view.profile.source}),
        },
    )


def flat_segments_table(tables: Sequence[Table]) -> Table:
    """All segment tables as one, a row for each measure, system and segment; a measure without bands has empty cells."""
    details = [table for table in tables if "system" in table.facts]
    widest = max(details, key=lambda table: len(table.columns)).columns[1:]
    columns = (Column("measure"), Column("by", about="the grouping of the queries"), Column("segment"), *widest)
    rows = []
    for table in details:
        known = [dict(zip((column.name for column in table.columns[1:]), row[1:], strict=True)) for row in table.rows]
        cells = (tuple(cells_of_row.get(column.name) for column in widest) for cells_of_row in known)
        rows += [(table.facts["measure"], table.facts["by"], row[0], *rest) for row, rest in zip(table.rows, cells, strict=True)]
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return Table("segments", "Every segment against the rest", columns, tuple(rows), notes=notes)


_FINDING_COLUMNS = ("measure", "by", "segment", "system", "n", "value", "rest", "difference", "p", "rating")


def segment_findings(tables: Sequence[Table]) -> Table:
    """The segments of all tables that differ significantly from the rest, lower ones first: the answer of the short view."""
    flat = flat_segments_table(tables)
    records: list[dict[str, Any]] = [dict(record) for record in flat.records()]
    findings = [record for verdict in ("lower", "higher") for record in records if record["verdict"] == verdict]
    lower = [record for record in findings if record["verdict"] == "lower"]
    sentences = [_describe_finding(record) for record in lower[:_SHOWN_FINDINGS]]
    if len(lower) > len(sentences):
        sentences.append(f"{pluralise(len(lower) - len(sentences), 'more segment is', 'more segments are')} significantly lower.")
    tested = sum(record["p"] is not None for record in records)
    if not lower:
        sentences.append(_NOTHING_LOWER if tested else _why_untested(records))
    verb = "differs" if len(findings) == 1 else "differ"
    verdict = f"{len(findings)} of {pluralise(tested, 'tested segment')} {verb} significantly from the rest"
    shared = {name: records[0][name] for name in ("measure", "by") if len({record[name] for record in records}) == 1}
    subject = f"{' by '.join(map(str, shared.values()))}: " if len(shared) == 2 else ""
    columns = tuple(column for name in _FINDING_COLUMNS for column in flat.columns if column.name == name not in shared)
    return Table(
        "segment findings",
        f"{subject}{verdict if tested else 'no segment was tested against the rest'}",
        columns,
        tuple(tuple(record[column.name] for column in columns) for record in findings),
        tuple(sentences),
        tuple(dict.fromkeys(table.facts["turns"] for table in tables if table.facts.get("turns"))),
        verdict_first=True,
    )


_NOTHING_LOWER = "No system is significantly lower on any segment than on the rest."


def _why_untested(records: Sequence[Mapping[str, Any]]) -> str:
    if all(record["rest"] is None for record in records):
        return "All queries are in one segment, so there is no rest to compare with."
    few = next(record["verdict"] for record in records if record["rest"] is not None)
    return f"Every segment has {few}, fewer than {MIN_QUERIES}, or all others have."
