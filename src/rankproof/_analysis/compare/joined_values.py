"""The values of systems on their common queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.text import pluralise
from rankproof._evaluation.result import Result
from rankproof._statistics.means import effective_size
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import MeasureLike, parse_measures

MeasuresLike = MeasureLike | Sequence[MeasureLike] | None
_SUMMARY_TEXTS = {"sum": "is a sum over queries", "geometric": "is a geometric mean"}


@dataclass(frozen=True, eq=False, slots=True)
class JoinedValues:
    """Values by measure, query and system; queries are sorted by id, so that the input order does not matter."""

    queries: tuple[str, ...]
    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: FloatArray
    notes: tuple[str, ...]
    weights: FloatArray | None = None


def join_systems(result: Result, measures: MeasuresLike = None) -> JoinedValues:
    """The common values of systems that can be tested; fewer than two systems or two common queries are an error."""
    joined = common_values(result, measures)
    if len(joined.systems) < 2:
        raise UsageError("there is only one system", fix="compare two or more")
    if len(joined.queries) < 2:
        raise UsageError(
            f"the systems have {pluralise(len(joined.queries), 'query', 'queries')} in common",
            fix="compare them on at least two common queries",
        )
    return joined


def common_values(result: Result, measures: MeasuresLike = None) -> JoinedValues:
    """The systems on their common queries, under the given measures or all whose means can be compared."""
    names = tuple(system.name for system in result.systems)
    chosen, left_out = _selected_measures(result, measures)
    columns = [[system.measures[name] for system in result.systems] for name in chosen]
    queries, places = _common(one.query_ids for row in columns for one in row)
    values = np.array([[one.values[places[id(one.query_ids)]] for one in row] for row in columns])
    kinds = tuple(result.systems[0].measures[name].measure for name in chosen)
    known = result.weights
    weights = None if known is None else np.array([known[query] for query in queries])
    notes = (*_missing(result, len(queries)), *_weighted(weights), *left_out)
    return JoinedValues(queries, names, kinds, values.transpose(0, 2, 1), notes, weights)


def _weighted(weights: FloatArray | None) -> list[str]:
    if weights is None:
        return []
    size = effective_size(len(weights), weights)
    return [f"queries are weighted: n = {len(weights):,} is worth {pluralise(round(size), 'query', 'queries')} of equal weight"]


def _selected_measures(result: Result, measures: MeasuresLike) -> tuple[list[str], list[str]]:
    """The measures to compare by name, and a note for each that cannot be compared."""
    shared = [name for name in result.systems[0].measures if all(name in system.measures for system in result.systems)]
    kinds = {name: result.systems[0].measures[name].summary for name in shared}
    if measures is not None:
        return [_checked(str(measure), kinds) for measure in parse_measures(measures)], []
    able = [name for name in shared if kinds[name] == "mean"]
    if not able:
        raise UsageError("only means can be compared, and no evaluated measure is a mean", fix="evaluate one, such as nDCG@10")
    return able, [f"{name} {_SUMMARY_TEXTS[kinds[name]]} and is not compared" for name in shared if kinds[name] != "mean"]


def _checked(name: str, kinds: Mapping[str, str]) -> str:
    if name not in kinds:
        raise UsageError(f"{for_message(name)} was not evaluated for every system", fix=f"choose from: {', '.join(kinds)}")
    if kinds[name] != "mean":
        raise UsageError(f"{name} {_SUMMARY_TEXTS[kinds[name]]} and has no paired differences", fix="compare a mean, such as AP")
    return name


def _common(every: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], dict[int, IntArray]]:
    """The queries that all have, sorted, and where each of these tuples, by its id(), has them."""
    own = {id(ids): ids for ids in every}
    queries = tuple(sorted(set.intersection(*map(set, own.values()))))
    places = {}
    for key, ids in own.items():
        at = {query: place for place, query in enumerate(ids)}
        places[key] = np.fromiter((at[query] for query in queries), np.int64, len(queries))
    return queries, places


def _missing(result: Result, n: int) -> list[str]:
    absent = len(result.queries) - n
    if not absent:
        notes = [(system.name, note) for system in result.systems for note in system.notes]
        return [f"{for_message(name)}: {note.text}" for name, note in notes if note.code == "missing-queries"]
    of_answers = any(one.measure.kind == "answer" for one in result.systems[0].measures.values())
    what, lacks = ("questions", "has no value for them") if of_answers else ("judged queries", "lacks them")
    return [f"{absent:,} of {len(result.queries):,} {what} are left out because a system {lacks}: n = {n:,}"]
