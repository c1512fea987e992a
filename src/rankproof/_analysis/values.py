"""Values of measures, ranked lists, query counts and intervals of means for any analysis."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from rankproof._align.hits import Hits, without_lookup
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._data.ordering import QueryColumns, best_first_order, column_slices, resolve_duplicate_columns
from rankproof._data.run import Run
from rankproof._data.table import Column
from rankproof._data.text import pluralise
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._evaluation.sources import align, prepare_judgements
from rankproof._statistics.intervals import Interval, mean_interval
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure


def format_points(difference: float, measure: Measure) -> str:
    """A difference of means in percentage points, or as a plain number if the range is not 0 to 1; never -0.00."""
    return f"{100 * difference:z.2f} pp" if measure.range == (0.0, 1.0) else f"{difference:z.4f}"


MeasureResults = dict[str, dict[str, MeasureResult]]
"""System to measure name to values."""


def measure_results(inputs: AnalysisInput, measures: Sequence[str], runs: Mapping[str, Run] | None = None) -> MeasureResults:
    """The measures of the systems, or of other runs with the same options; known values are not evaluated again."""
    full_names = {name: str(parse_measure(name).with_rel(inputs.rel)) for name in measures}
    result = inputs.result
    if runs is not None or any(full not in system.measures for full in full_names.values() for system in result.systems):
        result = evaluate_runs(inputs.qrels, inputs.runs if runs is None else runs, list(full_names), inputs.options)
    return {system.name: {name: system.measures[full] for name, full in full_names.items()} for system in result.systems}


def main_measure(inputs: AnalysisInput) -> str:
    """The first of `fraction_measures`."""
    return fraction_measures(inputs)[0]


def fraction_measures(inputs: AnalysisInput) -> list[str]:
    """The measures whose value is a mean from 0 to 1, the highest for documents in the order of their grades."""
    measures = inputs.result.systems[0].measures
    names = [name for name, measure in measures.items() if _is_fraction_of_grades(measure.measure)]
    if not names:
        raise UsageError(f"{_NOT_FRACTION}: {', '.join(measures)}", fix="choose such a measure with -m, such as nDCG@10")
    return names


def check_fraction(inputs: AnalysisInput, measure: str) -> str:
    """The measure's name, or an error if it is not one of `fraction_measures`."""
    if not _is_fraction_of_grades(parse_measure(measure)):
        raise UsageError(f"{_NOT_FRACTION}: {measure}", fix=f"choose from: {', '.join(fraction_measures(inputs))}")
    return measure


_NOT_FRACTION = "not a mean from 0 to 1, or a measure of subtopics"


def _is_fraction_of_grades(measure: Measure) -> bool:
    return measure.is_fraction and measure.best_by_grade


TIE_TOLERANCE = 1e-12
"""Means that differ by at most this much count as equal: the order of summation explains the difference."""


def oriented_value(result: MeasureResult) -> float:
    """The value with its sign such that higher is better; the lowest of all if there is none."""
    if math.isnan(result.value):
        return -math.inf
    return -result.value if result.measure.higher_is_better is False else result.value


def best_systems(values: Mapping[str, float]) -> list[str]:
    """The systems with the highest value, more than one if they tie."""
    highest = max((value for value in values.values() if not math.isnan(value)), default=math.inf)
    return [name for name, value in values.items() if value >= highest - TIE_TOLERANCE]


def best_system(values: Mapping[str, MeasureResult]) -> str:
    """The system with the best value, the first if several tie."""
    return max(values, key=lambda name: oriented_value(values[name]))


def deepest_recall(result: Result) -> str | None:
    """The recall with the deepest cutoff, an upper bound for any reranker; None if no recall was evaluated."""
    measures = result.systems[0].measures
    recalls = [name for name, measure in measures.items() if measure.measure.name == "R"]
    return max(recalls, key=lambda name: measures[name].measure.parameters()["cutoff"] or 0, default=None)


@dataclass(frozen=True, slots=True)
class QueryCounts:
    """System to the queries of its means, and all evaluated queries."""

    queries: Mapping[str, tuple[str, ...]]
    all_queries: tuple[str, ...]

    @property
    def differ(self) -> bool:
        """Whether the systems' means run over different queries."""
        return len(set(self.queries.values())) > 1

    @property
    def common(self) -> tuple[str, ...]:
        """The queries of all means, or all evaluated queries if the means differ in theirs."""
        return self.all_queries if self.differ else next(iter(self.queries.values()))

    @property
    def column(self) -> tuple[Column, ...]:
        """A column for n, if n differs between systems."""
        return (Column("n", "count", "queries that the mean runs over"),) if self.differ else ()

    def cell(self, system: str | None) -> tuple[int, ...]:
        """The cell of that column for a system, or for a row over the common queries if None."""
        chosen = self.common if system is None else self.queries[system]
        return (len(chosen),) if self.differ else ()

    def of(self, system: str) -> str:
        """The n of a system as text."""
        return f"n = {len(self.queries[system])}"

    @property
    def facts(self) -> dict[str, Any]:
        """The counts for JSON."""
        counts = {system: len(queries) for system, queries in self.queries.items()}
        return {"n": len(self.common), **({"n_by_system": counts} if self.differ else {})}

    @property
    def describe(self) -> tuple[str, ...]:
        """A sentence with the n of each system, for a table without a column for it."""
        counts = ", ".join(f"{for_message(system)} {len(queries)}" for system, queries in self.queries.items())
        return (f"A system's means leave out the queries that its run lacks: n = {counts}.",) if self.differ else ()

    def __str__(self) -> str:
        sizes = sorted({len(queries) for queries in self.queries.values()})
        return f"n = {pluralise(sizes[0], 'query', 'queries')}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]} queries"


def query_counts(inputs: AnalysisInput) -> QueryCounts:
    """The queries of each system; all measures of a system have the same."""
    firsts = {system.name: next(iter(system.measures.values())) for system in inputs.result.systems}
    return QueryCounts({name: first.query_ids for name, first in firsts.items()}, inputs.result.queries)


@dataclass(frozen=True, eq=False, slots=True)
class RankedList:
    """The documents of one query, best first, with their scores and the keys that ordered them."""

    docs: tuple[str, ...]
    scores: FloatArray
    keys: FloatArray


EMPTY_LIST = RankedList((), np.zeros(0), np.zeros(0))


class RankedLists(Mapping[str, RankedList]):
    """The ranked lists of one system by query.

    A query whose rows are in order is a slice of the run, made on each access: the ids of all queries take more memory than the
    run. Other lists are sorted once.
    """

    def __init__(self, inputs: AnalysisInput, system: str, queries: Collection[str]) -> None:
        self._run, self._depth = inputs.runs[system].restricted_to(frozenset(queries)), inputs.read_options.depth
        columns = column_slices(self._run, inputs.read_options)
        self._sorted: dict[str, RankedList] = {}
        self._slices: dict[str, slice] = {}
        if columns is None or inputs.read_options.judged_only:
            resolved = resolve_duplicate_columns(self._run, inputs.read_options)
            self._sorted = {query: _ranked_list(inputs, query, resolved[query]) for query in queries if query in resolved}
            self._queries: tuple[str, ...] = tuple(self._sorted)
            return
        rows_of, self._keys = columns
        falls = np.append(self._keys[1:] < self._keys[:-1], True)
        unordered = np.concatenate(([0], np.cumsum(~falls))).tolist()
        self._queries = tuple(query for query in queries if query in rows_of)
        for query in self._queries:
            rows = rows_of[query]
            if rows.stop - rows.start < 2 or unordered[rows.stop - 1] == unordered[rows.start]:
                self._slices[query] = rows
            else:
                whole = (self._run.docs[rows], self._run.scores[rows], self._keys[rows])
                self._sorted[query] = _ranked_list(inputs, query, whole)

    def __getitem__(self, query: str) -> RankedList:
        rows = self._slices.get(query)
        if rows is None:
            return self._sorted[query]
        rows = rows if self._depth is None else slice(rows.start, min(rows.stop, rows.start + self._depth))
        return RankedList(self._run.docs[rows], self._run.scores[rows], self._keys[rows])

    def __contains__(self, query: object) -> bool:
        return query in self._slices or query in self._sorted

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)


def ranked_lists(inputs: AnalysisInput, system: str, only: Collection[str] | None = None) -> RankedLists:
    """The system's ranked lists by judged query, restricted to `only` if given."""
    if only is not None:
        return RankedLists(inputs, system, only)
    # Several analyses of one input need all lists.
    lists: RankedLists | None = inputs.ranked_lists_cache.get(system)
    if lists is None:
        lists = inputs.ranked_lists_cache[system] = RankedLists(inputs, system, inputs.result.queries)
    return lists


def all_hits(inputs: AnalysisInput) -> Mapping[str, Hits]:
    """The hits of every system over the same judged queries, in the order of the result."""
    judged = prepare_judgements(inputs.qrels, inputs.options)
    return without_lookup({name: align(judged, inputs.runs[name], name, inputs.options) for name in inputs.systems})


def in_summary(hits: Hits, result: MeasureResult) -> BoolArray:
    """Which of the judged queries are part of the summary."""
    ids = frozenset(result.query_ids)
    return np.array([query in ids for query in hits.queries], dtype=np.bool_)


def measure_result(inputs: AnalysisInput, system: str, measure: str) -> MeasureResult:
    """One measure of one system."""
    return next(system_result for system_result in inputs.result.systems if system_result.name == system).measures[measure]


def relevant_docs(grades: Mapping[str, int], rel: int) -> list[str]:
    """The relevant documents, highest grade first."""
    return sorted((doc for doc, grade in grades.items() if grade >= rel), key=lambda doc: -grades[doc])


def _ranked_list(inputs: AnalysisInput, query: str, columns: QueryColumns) -> RankedList:
    read_options = inputs.read_options
    docs, scores, keys = columns
    if read_options.depth is None and not read_options.judged_only and bool(np.all(keys[1:] < keys[:-1])):
        return RankedList(tuple(docs), scores, keys)
    order: IntArray = best_first_order(docs, keys)[: read_options.depth]
    if read_options.judged_only:
        grades = inputs.qrels[query]
        order = np.array([at for at in order.tolist() if grades.get(docs[at], -1) >= 0], dtype=np.int64)
    return RankedList(tuple(docs[at] for at in order.tolist()), scores[order], keys[order])


IntervalKey = TypeVar("IntervalKey", bound=Hashable)


def mean_intervals(values: Mapping[IntervalKey, MeasureResult], *, level: float = 0.95) -> dict[IntervalKey, Interval | None]:
    """The interval of each mean (Student's t); None for a sum, a single query, or equal values."""
    return {
        key: mean_interval(value.values, level=level, within=value.measure.range, weights=value.weights)
        if value.summary == "mean" and value.queries
        else None
        for key, value in values.items()
    }
