"""`compare --by`: the paired difference of two systems in each segment of queries, with p corrected over the segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from rankproof._analysis.compare.counted_queries import by_conversation
from rankproof._analysis.compare.joined_values import JoinedValues, only_queries
from rankproof._analysis.compare.pairs import ObservedDifference, Verdict, judge_family, observe_pairs
from rankproof._analysis.compare.significance import TESTS
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.options import CompareOptions
from rankproof._analysis.query_groups import MIN_QUERIES, Grouping, small_segment_warnings, units_name
from rankproof._analysis.values import format_points
from rankproof._data.arrays import IntArray
from rankproof._data.table import Column, Table
from rankproof._data.text import format_p, pluralise
from rankproof._statistics.intervals import Interval
from rankproof._statistics.means import weighted_mean
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure

SEGMENT_DIFFERENCES = "segment differences"
SegmentVerdict = Verdict | Literal["too few queries", "too few conversations"]
SystemPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SegmentDifference:
    """Two systems in one segment of queries: `difference` is the mean of `system` minus the mean of `other`.

    `by` names the grouping. `n` counts queries, `units` the conversations that they are turns of. `p` is not corrected,
    `p_adjusted` is corrected over all tests of the grouping; both are None in a segment of fewer than 10 units, which is not
    tested. `ci` is None there too, and where few units differ.
    """

    by: str
    segment: str
    system: str
    other: str
    n: int
    units: int
    value: float
    other_value: float
    difference: float
    ci: Interval | None = None
    p: float | None = None
    p_adjusted: float | None = None
    verdict: SegmentVerdict = "too few queries"

    def to_dict(self) -> dict[str, Any]:
        """The difference as JSON."""
        return asdict(self)


def segment_tables(
    joined: JoinedValues,
    groupings: Sequence[Grouping],
    pairs: Sequence[SystemPair],
    options: CompareOptions,
    groups: IntArray | None,
) -> tuple[tuple[SegmentDifference, ...], tuple[Table, ...]]:
    """The differences of the pairs in the segments of each grouping, and their tables; `groups` are conversations of queries."""
    by_grouping = [(grouping, segment_differences(joined, grouping, pairs, options, groups)) for grouping in groupings if pairs]
    tables = (segment_differences_table(rows, grouping, joined.measures[0], options) for grouping, rows in by_grouping)
    return tuple(row for _, rows in by_grouping for row in rows), tuple(tables)


def compared_pairs(decision: Decision, baseline: str | None) -> list[SystemPair]:
    """Every system against a named baseline; else the chosen or leading system against its rival."""
    if baseline is not None:
        return [(system.name, baseline) for system in decision.by_system if system.name != baseline]
    others = (*(pair.other for pair in decision.against), *(system.name for system in decision.by_system))
    rival = decision.rival or next((name for name in others if name != decision.first), None)
    return [] if decision.first is None or rival is None else [(decision.first, rival)]


def segment_differences(
    joined: JoinedValues,
    grouping: Grouping,
    pairs: Sequence[SystemPair],
    options: CompareOptions,
    groups: IntArray | None,
) -> list[SegmentDifference]:
    """Each pair in each segment by the first measure, lowest difference first; every test of the grouping is in one family."""
    if TESTS[options.test].all_pairs is not None:
        title = TESTS[options.test].title
        raise UsageError(f"{title} tests all systems at once and cannot test segments", fix="use --test randomisation")
    tested: list[tuple[SegmentDifference, ObservedDifference]] = []
    small: list[SegmentDifference] = []
    for segment, part, units in _segments(joined, grouping, groups):
        for pair in pairs:
            row = _row(part, grouping.by, segment, pair, len(units.queries))
            if row.units < MIN_QUERIES:
                small.append(row)
            else:
                tested.append((row, _observed(units, pair, options)))
    too_few: SegmentVerdict = "too few queries" if groups is None else "too few conversations"
    rows = [*(replace(row, verdict=too_few) for row in small), *_with_tests(tested, options)]
    sign = -1 if joined.measures[0].higher_is_better is False else 1
    return sorted(rows, key=lambda row: (pairs.index((row.system, row.other)), sign * row.difference, row.segment))


def _segments(
    joined: JoinedValues, grouping: Grouping, groups: IntArray | None
) -> Iterator[tuple[str, JoinedValues, JoinedValues]]:
    """Each segment that has queries, with its values of the first measure by query, and by conversation."""
    first = replace(joined, measures=joined.measures[:1], values=joined.values[:1])
    for segment, queries in grouping.segments.items():
        members = frozenset(queries)
        inside = [query in members for query in joined.queries]
        part = only_queries(first, inside)
        if part.queries:
            yield segment, part, by_conversation(part, None if groups is None else groups[inside])


def _of_pair(part: JoinedValues, pair: SystemPair) -> JoinedValues:
    return replace(part, systems=pair, values=part.values[:, :, [part.systems.index(name) for name in pair]])


def _row(part: JoinedValues, by: str, segment: str, pair: SystemPair, units: int) -> SegmentDifference:
    value, other_value = (weighted_mean(column, part.weights) for column in _of_pair(part, pair).values[0].T)
    return SegmentDifference(by, segment, *pair, len(part.queries), units, value, other_value, value - other_value)


def _observed(part: JoinedValues, pair: SystemPair, options: CompareOptions) -> ObservedDifference:
    return observe_pairs(_of_pair(part, pair), [(0, 0, 1)], options)[0]


def _with_tests(
    tested: Sequence[tuple[SegmentDifference, ObservedDifference]], options: CompareOptions
) -> Iterator[SegmentDifference]:
    judged = judge_family([observed for _, observed in tested], options) if tested else []
    for (row, observed), comparison in zip(tested, judged, strict=True):
        yield replace(
            row,
            difference=observed.differences.mean,
            ci=observed.interval,
            p=observed.p,
            p_adjusted=comparison.p,
            verdict=comparison.verdict,
        )


def segment_differences_table(
    rows: Sequence[SegmentDifference], grouping: Grouping, measure: Measure, options: CompareOptions
) -> Table:
    """A row for each segment and pair, and for each pair in which segments it is worse or better."""
    pairs = list(dict.fromkeys((row.system, row.other) for row in rows))
    tests = sum(row.p is not None for row in rows)
    n = sum(row.n for row in rows) // max(len(pairs), 1)
    corrected = (
        "not corrected" if options.correction_name is None else f"{options.correction_name} over {pluralise(tests, 'test')}"
    )
    columns = (
        Column(grouping.by),
        *([] if len(pairs) == 1 else [Column("system")]),
        Column("n", "count", "queries in the segment"),
        Column("value", "value", "mean of the system"),
        Column("other value", "value", "mean of the other system"),
        Column("difference", "difference", "mean of the system minus mean of the other"),
        Column(f"{options.percent} CI", "interval", "of the difference, for this segment alone"),
        Column("p", "p", f"two-sided, {corrected}"),
        Column("verdict", about=f"on the system; too few {units_name(rows)}: fewer than {MIN_QUERIES}"),
    )
    body = tuple((row.segment, *([] if len(pairs) == 1 else [row.system]), *_cells(row)) for row in rows)
    first = "each system" if len(pairs) != 1 else for_message(pairs[0][0])
    title = f"{measure} of {first} minus {for_message(pairs[0][1])} by {grouping.by}: n = {pluralise(n, 'query', 'queries')}"
    sentences = tuple(_sentence([row for row in rows if (row.system, row.other) == pair], measure, options) for pair in pairs)
    notes = (*grouping.notes, *small_segment_warnings([row for row in rows if row.system == pairs[0][0]]))
    facts = {"n": n, "measure": str(measure), "by": grouping.by, "min_queries": MIN_QUERIES, "tests": tests}
    facts |= {"correction": options.correction, "alpha": options.alpha, "samples": options.samples, "seed": options.seed}
    return Table(SEGMENT_DIFFERENCES, title, columns, body, sentences, notes, facts, verdict_first=True)


def _cells(row: SegmentDifference) -> tuple[Any, ...]:
    return (row.n, row.value, row.other_value, row.difference, row.ci, row.p_adjusted, row.verdict)


def _sentence(rows: Sequence[SegmentDifference], measure: Measure, options: CompareOptions) -> str:
    """In which segments the first system of the pair is significantly worse, then in which it is better."""
    tested, both = [row for row in rows if row.p is not None], f"than {for_message(rows[0].other)}"
    if not tested:
        return f"No segment has {MIN_QUERIES} {units_name(rows)}, so none is tested."
    worse, better = ([row for row in tested if row.verdict == verdict] for verdict in ("worse", "better"))
    among = f"of {pluralise(len(tested), 'tested segment')}"
    return (
        f"{for_message(rows[0].system)} is significantly worse {both} in {len(worse) or 'none'} {among}"
        f"{_listed(worse, measure, options)}; significantly better in {len(better) or 'none'}{_listed(better, measure, options)}."
    )


def _listed(rows: Sequence[SegmentDifference], measure: Measure, options: CompareOptions) -> str:
    after = "" if options.correction_name is None else f" after {options.correction_name}"
    texts = [
        f"{for_message(row.segment)} ({'+' if row.difference > 0 else ''}{format_points(row.difference, measure)},"
        f" {format_p(row.p_adjusted or 0.0)}{after}, n = {row.n:,})"
        for row in rows
    ]
    return f": {', '.join(texts)}" if texts else ""
