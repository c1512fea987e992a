"""A comparison as CSV files: a row for each system and condition, and a row for each query of each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...data.arrays import FloatArray
from ...experiment.results.tables import csv_number, csv_table
from ...formats.harmless import for_csv
from .comparison import Comparison
from .counts import Lengths
from .entry import Entry
from .measures import plain_name

_FIRST = ("system", "family", "language", "edits", "repeats", "queries")
_TIMES = {"embed": "embedding_ms", "search": "retrieval_ms", "total": "total_ms"}
_LENGTHS = {
    "tokens_document": "document_tokens",
    "tokens_query": "query_tokens",
    "sequence_document": "document_read",
    "sequence_query": "query_read",
}
_LAST = ("unknown_share", "vocabulary", "parameters", "index_bytes", "document_embedding_ms", "quality_per_ms")
_CHANGE = ("change_pp", "change_pp low", "change_pp high", "change_relative")


def comparison_csv(comparison: Comparison) -> str:
    """Means over queries and repeats with their interval over queries and their range over repeats; times in ms."""
    measured = [f"{plain_name(name)}{end}" for name in comparison.measures for end in ("", " low", " high", " min", " max")]
    times = [f"{name}{end}" for name in _TIMES.values() for end in ("", "_p50", "_p95")]
    lengths = [f"{name}_{end}" for name in _LENGTHS for end in ("mean", "p95")]
    header = [*_FIRST, *measured, *times, "slow_queries", "slow_share", *lengths, *_LAST, *_CHANGE, "training"]
    return csv_table(header, (list(_row(comparison, entry)) for entry in comparison.entries))


def queries_csv(comparison: Comparison) -> str:
    """The values and times of every query, means over the repeats; `slow` is 1 where it took longer than feels quick."""
    header = ["system", "language", "edits", "query", *map(plain_name, comparison.measures), *_TIMES.values(), "slow"]
    return csv_table(header, (row for entry in comparison.entries for row in _query_rows(comparison, entry)))


def _row(comparison: Comparison, entry: Entry) -> Iterator[str]:
    yield from _name_cells(entry)
    yield from (str(entry.repeats), str(len(entry.queries)))
    for measure in comparison.measures:
        ends = (*(entry.interval(measure) or (None, None)), *entry.span(measure))
        yield from map(csv_number, (entry.mean(measure), *ends))
    for part in _TIMES:
        yield from map(csv_number, _spread(entry.ms(part)))
    yield from (str(int(entry.slow.sum())), csv_number(float(entry.slow.mean())))
    for name in _LENGTHS.values():
        lengths: Lengths | None = getattr(entry.counts, name)
        yield from map(csv_number, (lengths.mean, lengths.p95) if lengths else (None, None))
    counts = entry.counts
    last = (counts.unknown, counts.vocabulary, counts.parameters, entry.index_bytes, entry.encode_ms)
    yield from map(csv_number, (*last, entry.per_ms(comparison.main)))
    yield from map(csv_number, _change(comparison, entry))
    yield for_csv(entry.training)


def _name_cells(entry: Entry) -> tuple[str, ...]:
    return for_csv(entry.system), entry.family, for_csv(entry.condition.language), str(entry.condition.edits)


def _spread(values: FloatArray) -> tuple[float, float, float]:
    p50, p95 = np.percentile(values, (50, 95)).tolist()
    return float(values.mean()), p50, p95


def _change(comparison: Comparison, entry: Entry) -> tuple[float | None, ...]:
    """How typing errors change the main measure; nothing where there are none, or nothing without them to compare with."""
    found = comparison.change(entry)
    if found is None:
        return (None,) * len(_CHANGE)
    ends = (None, None) if found.interval is None else (100 * found.interval[0], 100 * found.interval[1])
    return (100 * found.mean, *ends, comparison.relative_change(entry))


def _query_rows(comparison: Comparison, entry: Entry) -> Iterator[list[str]]:
    name, _, *condition = _name_cells(entry)
    values = [entry.per_query(measure).tolist() for measure in comparison.measures]
    times = [entry.ms(part).tolist() for part in _TIMES]
    for at, query in enumerate(entry.queries):
        numbers = [repr(column[at]) for column in (*values, *times)]
        yield [name, *condition, for_csv(query), *numbers, str(int(entry.slow[at]))]
