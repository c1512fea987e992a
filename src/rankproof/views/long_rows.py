"""A climb as one long table: a number a row, for data frames and spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..evaluation import Result
from ..experiment.rung import TIMES, Climb, Rung
from .escape import for_csv

COLUMNS = ("level", "kind", "system", "query", "measure", "value")


class LongRow(NamedTuple):
    """One number: `level` is query or system, `kind` what sort of number it is; `query` is None where it is a system's."""

    level: str
    kind: str
    system: str
    query: str | None
    measure: str
    value: float


def long_rows(climb: Climb) -> Iterator[LongRow]:
    """Every system's rows, then every query's: values of measures, times in ms, costs."""
    results = {"measure": climb.result, "chunks": climb.chunks, "answers": climb.answers}
    known = {kind: result for kind, result in results.items() if result is not None}
    for kind, result in known.items():
        yield from _summaries(kind, result)
    for rung in climb.rungs:
        yield from _costs(rung)
    for kind, result in known.items():
        yield from _values(kind, result)
    for rung in climb.rungs:
        yield from _query_costs(climb, rung)


def as_long_csv(climb: Climb) -> str:
    """The table as CSV, numbers at full precision."""
    lines = [
        ",".join((row.level, row.kind, for_csv(row.system), for_csv(row.query or ""), for_csv(row.measure), repr(row.value)))
        for row in long_rows(climb)
    ]
    return "\n".join([",".join(COLUMNS), *lines]) + "\n"


def costs_of(rung: Rung) -> dict[str, float]:
    """What the system costs by name: milliseconds a query, its indexes, what asking language models came to."""
    times = {f"{part}_ms_{which}": value for part in TIMES for which, value in rung.time_of(part).items()}
    found = {"throughput": rung.throughput, "recall_of_exact": rung.recall_of_exact()}
    asked = {name: float(rung.total(name)) for name in _asked(rung)}
    money = {"money": rung.money} if asked else {}
    index = {"index_seconds": rung.index_seconds, "index_bytes": float(rung.index_bytes)}
    return {**times, **index, **{name: value for name, value in found.items() if value is not None}, **asked, **money}


def _asked(rung: Rung) -> list[str]:
    """The counts of a system that asks language models; none for one that does not."""
    return list(rung.counts) if any(map(rung.total, rung.counts)) else []


def _summaries(kind: str, result: Result) -> Iterator[LongRow]:
    for system in result.systems:
        for name, one in ((name, one) for name, one in system.measures.items() if one.queries):
            yield LongRow("system", kind, system.name, None, name, float(one.value))


def _values(kind: str, result: Result) -> Iterator[LongRow]:
    for system in result.systems:
        for name, one in system.measures.items():
            for query, value in zip(one.query_ids, one.values.tolist(), strict=True):
                yield LongRow("query", kind, system.name, query, name, value)


def _costs(rung: Rung) -> Iterator[LongRow]:
    for name, value in costs_of(rung).items():
        yield LongRow("system", "time" if "_ms_" in name else "cost", rung.name, None, name, value)


def _query_costs(climb: Climb, rung: Rung) -> Iterator[LongRow]:
    for part in TIMES:
        for query, value in zip(climb.queries, rung.times[part].tolist(), strict=True):
            yield LongRow("query", "time", rung.name, query, f"{part}_ms", value)
    for name in _asked(rung):
        for query, value in zip(climb.queries, rung.counts[name].tolist(), strict=True):
            yield LongRow("query", "cost", rung.name, query, name, float(value))
