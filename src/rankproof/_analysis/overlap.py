"""Rankings without judgements: their lengths and times, and how much the rankings of two systems have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np

from rankproof._data.ordering import ranked_documents
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._results.experiment_result import ExperimentResult, SystemRun, timed_queries
from rankproof._statistics.options import PERSISTENCE
from rankproof._statistics.rank_correlation import rank_biased_overlap
from rankproof.errors import for_message

TOP = 10
NEXT_STEP = (
    "Without judgements no system can be called better. Grade the top documents of all systems: with a language model"
    " (rankproof judge RESULTS --model NAME), or in the browser (rankproof serve RESULTS --judge)."
)
_Rankings = Mapping[str, Sequence[str]]


def rankings_table(results: ExperimentResult) -> Table:
    """The latency of each system, how many documents it retrieves, and for how many queries it retrieves none."""
    timing = timed_queries(results.system_runs)
    rows = tuple(_rankings_row(results, system_run) for system_run in results.system_runs)
    return Table(
        "rankings",
        f"{pluralise(len(results.queries), 'query', 'queries')} without judgements",
        (
            Column("system"),
            Column("ms p50", "number", f"median milliseconds per query: {timing}"),
            Column("ms p95", "number", f"95th percentile of milliseconds per query: {timing}"),
            Column("documents", "number", "mean number of documents in a ranking"),
            Column("empty", "count", "queries for which no document was retrieved"),
        ),
        rows,
        sentences=(*_empty_sentences(results, rows), *([f"Latency: {timing}."] if timing else [])),
    )


def _rankings_row(results: ExperimentResult, system_run: SystemRun) -> tuple[CellValue, ...]:
    run, times = system_run.stored_run, system_run.time_of("total")
    latency = (None, None) if times is None else (times.p50, times.p95)
    if run is None:
        return system_run.name, *latency, None, None
    lengths = run.offsets[1:] - run.offsets[:-1]
    empty = len(results.queries) - int(np.count_nonzero(lengths))
    mean = float(lengths.sum()) / max(len(results.queries), 1)
    return system_run.name, *latency, mean, empty


def _empty_sentences(results: ExperimentResult, rows: Sequence[tuple[CellValue, ...]]) -> Iterator[str]:
    for name, *_, empty in rows:
        if empty:
            queries = f"{empty} of {pluralise(len(results.queries), 'query', 'queries')}"
            yield f"{for_message(str(name))} retrieves nothing for {queries}."


def overlap_table(results: ExperimentResult) -> Table | None:
    """How much the rankings of each two systems have in common; None for a single system."""
    rankings = {run.name: ranked_documents(run.stored_run) for run in results.system_runs if run.stored_run is not None}
    if len(rankings) < 2:
        return None
    overlaps = {pair: mean_overlaps(results.queries, rankings, *pair) for pair in combinations(rankings, 2)}
    rows = tuple((*pair, *overlaps[pair]) for pair in sorted(overlaps, key=lambda pair: -(overlaps[pair][0] or 0)))
    return Table(
        "overlap",
        "Overlap of the rankings, most alike first",
        (Column("system"), Column("other"), *overlap_columns()),
        rows,
        sentences=tuple(_overlap_sentences(rows)),
        facts={"p": PERSISTENCE, "top": TOP, "queries": len(results.queries), "source": "Webber, Moffat and Zobel (2010)"},
    )


def overlap_columns() -> tuple[Column, ...]:
    """The columns of `mean_overlaps`."""
    return (
        Column("RBO", "value", f"rank-biased overlap (p = {PERSISTENCE}), 1 for equal rankings"),
        Column(f"shared top {TOP}", "number", f"mean number of documents in the top {TOP} of both"),
        Column("same first", "share", "queries with the same document first"),
    )


def mean_overlaps(
    queries: Sequence[str], rankings: Mapping[str, _Rankings], system: str, other: str
) -> tuple[float | None, float | None, float | None]:
    """RBO, shared top documents and equal first documents: means over the queries for which one of the systems retrieves any."""
    pairs = [(rankings[system].get(query, ()), rankings[other].get(query, ())) for query in queries]
    # A query for which neither system retrieves anything says nothing about how alike they are.
    retrieved = [pair for pair in pairs if any(pair)]
    if not retrieved:
        return None, None, None
    shared = fmean(len({*mine[:TOP]} & {*theirs[:TOP]}) for mine, theirs in retrieved)
    first = fmean(bool(mine[:1] and mine[:1] == theirs[:1]) for mine, theirs in retrieved)
    return fmean(rank_biased_overlap(mine, theirs) for mine, theirs in retrieved), shared, first


def _overlap_sentences(rows: Sequence[tuple[CellValue, ...]]) -> Iterator[str]:
    for system, other, overlap, *_ in rows:
        if overlap == 1:
            yield f"{for_message(str(system))} and {for_message(str(other))} have the same rankings."
