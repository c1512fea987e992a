"""Values of several systems side by side, joined by query id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...data.arrays import FloatArray
from ...errors import UsageError, shown
from ...evaluation import Result
from ...measures import Measure, parse_many
from ..wording import counted

MeasuresLike = str | Measure | Sequence[str | Measure] | None
_KINDS = {"sum": "is a sum over queries", "geometric": "is a geometric mean"}


@dataclass(frozen=True, eq=False, slots=True)
class Joined:
    """`values` by measure, query and system; queries in the order of their ids, so that the order of input changes nothing."""

    queries: tuple[str, ...]
    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: FloatArray
    notes: tuple[str, ...]


def join(result: Result, measures: MeasuresLike = None) -> Joined:
    """The systems on the queries that every one of them has, under the measures asked for or all whose means can be compared."""
    names = tuple(system.name for system in result.systems)
    if len(names) < 2:
        raise UsageError("there is one system only", fix="compare two or more")
    chosen, left_out = _chosen(result, measures)
    queries = _common(result, chosen)
    if len(queries) < 2:
        raise UsageError(
            f"the systems have {counted(len(queries), 'query', 'queries')} in common", fix="compare them on two queries or more"
        )
    values = np.array([[_values(result, at, name, queries) for at in range(len(names))] for name in chosen])
    kinds = tuple(result.systems[0].measures[name].measure for name in chosen)
    return Joined(queries, names, kinds, values.transpose(0, 2, 1), (*_missing(result, len(queries)), *left_out))


def _chosen(result: Result, asked: MeasuresLike) -> tuple[list[str], list[str]]:
    """The measures to compare by name, and a note for each that cannot be."""
    shared = [name for name in result.systems[0].measures if all(name in system.measures for system in result.systems)]
    kinds = {name: result.systems[0].measures[name].summary for name in shared}
    if asked is not None:
        return [_checked(str(measure), kinds) for measure in parse_many(asked)], []
    able = [name for name in shared if kinds[name] == "mean"]
    if not able:
        raise UsageError("no measure whose mean can be compared was evaluated", fix="evaluate one, as nDCG@10")
    return able, [f"{name} {_KINDS[kinds[name]]} and is not compared" for name in shared if kinds[name] != "mean"]


def _checked(name: str, kinds: Mapping[str, str]) -> str:
    if name not in kinds:
        raise UsageError(f"{shown(name)} was not evaluated for every system", fix=f"choose from: {', '.join(kinds)}")
    if kinds[name] != "mean":
        raise UsageError(f"{name} {_KINDS[kinds[name]]}, of which there are no paired differences", fix="compare a mean, as AP")
    return name


def _common(result: Result, names: Sequence[str]) -> tuple[str, ...]:
    sets = [set(system.measures[name].query_ids) for system in result.systems for name in names]
    return tuple(sorted(set.intersection(*sets)))


def _values(result: Result, system: int, name: str, queries: Sequence[str]) -> list[float]:
    found = result.systems[system].measures[name].per_query
    return [found[query] for query in queries]


def _missing(result: Result, n: int) -> list[str]:
    absent = len(result.queries) - n
    if not absent:
        notes = [(system.name, note) for system in result.systems for note in system.notes]
        return [f"{shown(name)}: {note.text}" for name, note in notes if note.code == "missing-queries"]
    return [f"{absent:,} of {len(result.queries):,} judged queries are left out, as not every system has them: n = {n:,} for all"]
