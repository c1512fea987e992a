"""Unjudged documents: the judged share of each ranking, and bounds of each value over all possible grades."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass

import numpy as np

from rankproof._align.hits import Hits
from rankproof._analysis.audit.rearranged import Rearrangement, judged_query_hits, rearranged_values
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import (
    EMPTY_LIST,
    RankedList,
    all_hits,
    best_systems,
    in_summary,
    measure_result,
    query_counts,
    ranked_lists,
)
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._data.table import Column, Table, TableSummary
from rankproof._evaluation.result import MeasureResult
from rankproof._evaluation.value_ranges import value_bounds
from rankproof.errors import for_message
from rankproof.measures._base import BinaryMeasure, GainScheme, Measure, discounts, gains
from rankproof.measures._judged import Judged

_UNJUDGED = -1


@dataclass(frozen=True, eq=False, slots=True)
class UnjudgedDocuments:
    """Hits and lists of every system, the unjudged documents that any of them retrieved, by query, and their number."""

    inputs: AnalysisInput
    hits: Mapping[str, Hits]
    lists: Mapping[str, Mapping[str, RankedList]]
    docs: Mapping[str, frozenset[str]]
    counts: Mapping[str, int]

    def ranks(self, system: str, query: str) -> IntArray:
        """The ranks of the system's unjudged documents."""
        docs, grades = self.lists[system].get(query, EMPTY_LIST).docs, self.inputs.qrels[query]
        return np.array([rank for rank, doc in enumerate(docs, start=1) if not is_judged(grades, doc)], dtype=np.int64)

    def in_summary(self, system: str) -> BoolArray:
        """Which of the judged queries are part of the system's means."""
        (own,) = (result for result in self.inputs.result.systems if result.name == system)
        return in_summary(self.hits[system], next(iter(own.measures.values())))


def is_judged(grades: Mapping[str, int], doc: str) -> bool:
    """Whether the document has a grade; a negative grade means unjudged."""
    return grades.get(doc, _UNJUDGED) >= 0


def find_unjudged(inputs: AnalysisInput) -> UnjudgedDocuments:
    """The unjudged documents of all systems."""
    lists = {system: ranked_lists(inputs, system) for system in inputs.systems}
    unjudged = _UnjudgedByQuery(inputs, lists)
    return UnjudgedDocuments(inputs, all_hits(inputs), lists, unjudged, {query: len(docs) for query, docs in unjudged.items()})


class _UnjudgedByQuery(Mapping[str, frozenset[str]]):
    """The unjudged documents of each query, found on each access: those of all queries take more memory than the runs."""

    def __init__(self, inputs: AnalysisInput, lists: Mapping[str, Mapping[str, RankedList]]) -> None:
        self._qrels, self._queries, self._lists = inputs.qrels, dict.fromkeys(inputs.result.queries), lists

    def __getitem__(self, query: str) -> frozenset[str]:
        if query not in self._queries:
            raise KeyError(query)
        grades = self._qrels[query]
        retrieved = {doc for lists in self._lists.values() for doc in lists.get(query, EMPTY_LIST).docs}
        return frozenset(doc for doc in retrieved if not is_judged(grades, doc))

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)


def top_grade(measure: Measure, highest: int) -> int:
    """The grade with the highest gain among those in use, at least the relevance threshold of the measure."""
    if isinstance(measure, BinaryMeasure):
        return max(highest, measure.least)
    grades = np.arange(max(highest, 1) + 1)
    gain_values = gains(grades, getattr(measure, "gain", "linear"))
    return int(grades[np.argmax(gain_values)])


def best_gain(measure: Measure, hits: Hits, query: int, ranks: IntArray, highest: int) -> IntArray:
    """The grades of the unjudged ranks within the cutoff that maximise nDCG, -1 for no grade."""
    gain: GainScheme = getattr(measure, "gain", "linear")
    depth = int(getattr(measure, "depth", 1))
    judged = hits.judged
    every = gains(judged.grades[judged.offsets[query] : judged.offsets[query + 1]], gain)
    grades = np.arange(max(highest, judged.highest, 1) + 1)
    steps: FloatArray = np.unique(np.append(gains(grades, gain), 0.0))
    own_ranks, own_grades = judged_query_hits(hits, query)
    top = own_ranks <= depth
    judged_gain = float((gains(own_grades[top], gain) * discounts(own_ranks[top])).sum())
    reached = _Steps(judged_gain, steps, every, ranks, depth).best()
    return _grade_of(steps, gains(grades, gain))[reached]


class _Steps:
    """The gains of one query as steps; `counts[s]` unjudged documents reach step s + 1."""

    def __init__(self, judged_gain: float, steps: FloatArray, every: FloatArray, ranks: IntArray, depth: int) -> None:
        self.judged_gain, self.heights, self.size = judged_gain, np.diff(steps), len(ranks)
        self.gained = np.concatenate(([0.0], np.cumsum(discounts(ranks))))
        places = np.arange(1, min(depth, len(every) + len(ranks)) + 1)
        discount_sums = np.concatenate(([0.0], np.cumsum(discounts(places))))
        reaching = np.array([int((every >= step).sum()) for step in steps[1:]], dtype=np.int64)
        self.ideal = np.array(
            [[discount_sums[min(count + more, len(discount_sums) - 1)] for more in range(self.size + 1)] for count in reaching]
        )

    def best(self) -> IntArray:
        """The step of each unjudged document by rank that maximises the ratio (Dinkelbach's algorithm)."""
        counts = np.zeros(len(self.heights), dtype=np.int64)
        ratio = -1.0
        while (now := self._ratio(counts)) > ratio:
            ratio, kept = now, counts
            counts = np.argmax(self.gained - ratio * self.ideal, axis=1)
        return np.array([int((kept > place).sum()) for place in range(self.size)], dtype=np.int64)

    def _ratio(self, counts: IntArray) -> float:
        ideal = float(self.heights @ self.ideal[np.arange(len(counts)), counts])
        gained = self.judged_gain + float(self.heights @ self.gained[counts])
        return gained / ideal if ideal else 0.0


def _grade_of(steps: FloatArray, gain_values: FloatArray) -> IntArray:
    """The lowest grade with the gain of each step, -1 for a gain of 0."""
    return np.array([int(np.argmax(gain_values == step)) if step else -1 for step in steps], dtype=np.int64)


_BATCH_SIZE = 1 << 17


@dataclass(frozen=True, eq=False, slots=True)
class UnjudgedInTop:
    """The unjudged documents of one query for one system: ranks within the cutoff, and the number elsewhere."""

    hits: Hits
    query: int
    ranks: IntArray
    elsewhere: int
    grade: int

    def completed(self, ranks: IntArray, elsewhere: int, grades: IntArray | None = None) -> Rearrangement:
        """The hits if the documents at these ranks, and so many elsewhere, had the top grade (or the given grades)."""
        own_ranks, own_grades = judged_query_hits(self.hits, self.query)
        assumed = np.full(len(ranks), self.grade) if grades is None else grades
        more = np.concatenate((assumed, np.full(elsewhere, self.grade)))
        return Rearrangement(self.query, np.concatenate((own_ranks, ranks)), np.concatenate((own_grades, assumed)), more)


CompletionRule = Callable[[Measure, UnjudgedInTop], Iterator[Rearrangement]]


def none_relevant(measure: Measure, unjudged: UnjudgedInTop) -> Iterator[Rearrangement]:
    """No unjudged document is relevant."""
    yield unjudged.completed(unjudged.ranks[:0], 0)


def all_within(measure: Measure, unjudged: UnjudgedInTop) -> Iterator[Rearrangement]:
    """All unjudged documents within the cutoff are relevant, none elsewhere."""
    yield unjudged.completed(unjudged.ranks, 0)


def all_elsewhere(measure: Measure, unjudged: UnjudgedInTop) -> Iterator[Rearrangement]:
    """All unjudged documents elsewhere are relevant, none within the cutoff."""
    yield unjudged.completed(unjudged.ranks[:0], unjudged.elsewhere)


def first_ones(measure: Measure, unjudged: UnjudgedInTop) -> Iterator[Rearrangement]:
    """For each number of relevant documents, the first within the cutoff are relevant, none elsewhere."""
    for count in range(len(unjudged.ranks) + 1):
        yield unjudged.completed(unjudged.ranks[:count], 0)


def last_ones(measure: Measure, unjudged: UnjudgedInTop) -> Iterator[Rearrangement]:
    """For each number of relevant documents, all elsewhere and the last within the cutoff are relevant."""
    for count in range(len(unjudged.ranks) + 1):
        yield unjudged.completed(unjudged.ranks[len(unjudged.ranks) - count :], unjudged.elsewhere)


def best_grades(measure: Measure, unjudged: UnjudgedInTop) -> Iterator[Rearrangement]:
    """The grades within the cutoff that maximise nDCG."""
    grades = best_gain(measure, unjudged.hits, unjudged.query, unjudged.ranks, unjudged.grade)
    kept = grades >= 0
    yield unjudged.completed(unjudged.ranks[kept], 0, grades[kept])


COMPLETION_RULES: dict[str, tuple[CompletionRule, CompletionRule]] = {
    **dict.fromkeys(("P", "RR", "Success", "RBP", "DCG", "ERR"), (none_relevant, all_within)),
    **dict.fromkeys(("R", "F1"), (all_elsewhere, all_within)),
    "AP": (last_ones, first_ones),
    "nDCG": (last_ones, best_grades),
}


def bounds_of(measure: Measure, unjudged_docs: UnjudgedDocuments, system: str) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest value of each query."""
    hits = unjudged_docs.hits[system]
    documents = np.array([unjudged_docs.counts[query] for query in hits.queries], dtype=np.int64)
    if (bounds := value_bounds(measure, hits, documents)) is not None:
        return bounds
    low, high = COMPLETION_RULES[measure.name]
    every = [_unjudged_in_top(measure, unjudged_docs, system, query) for query in range(len(hits.queries))]
    lowest = _extreme_values(measure, hits, every, low, np.minimum)
    return lowest, _extreme_values(measure, hits, every, high, np.maximum)


def _unjudged_in_top(measure: Measure, unjudged_docs: UnjudgedDocuments, system: str, query: int) -> UnjudgedInTop:
    hits = unjudged_docs.hits[system]
    name = hits.queries[query]
    ranks = unjudged_docs.ranks(system, name)
    within = ranks[ranks <= getattr(measure, "depth", len(ranks))]
    elsewhere = unjudged_docs.counts[name] - len(within)
    return UnjudgedInTop(hits, query, within, elsewhere, top_grade(measure, hits.judged.highest))


def _extreme_values(
    measure: Measure, hits: Hits, every: list[UnjudgedInTop], choice: CompletionRule, better: np.ufunc
) -> FloatArray:
    """The extreme value of each query over its completions, computed in batches."""
    values = np.full(len(every), -np.inf if better is np.maximum else np.inf)
    batch: list[Rearrangement] = []
    size = 0
    for unjudged in every:
        for completion in choice(measure, unjudged):
            batch.append(completion)
            size += len(completion.ranks) + len(completion.more)
        if size > _BATCH_SIZE:
            _update_extremes(values, measure, hits, batch, better)
            batch, size = [], 0
    _update_extremes(values, measure, hits, batch, better)
    return values


def _update_extremes(values: FloatArray, measure: Measure, hits: Hits, batch: list[Rearrangement], better: np.ufunc) -> None:
    better.at(
        values, np.array([completion.query for completion in batch], dtype=np.int64), rearranged_values(measure, hits, batch)
    )


DEFAULT_DEPTH = 10
_COLUMNS = (
    Column("measure"),
    Column("system"),
    Column("judged", "share", "judged share of the documents within the cutoff, or of the top 10"),
    Column("value", "value", "unjudged documents count as not relevant"),
    Column("lowest", "value", "the value if the unjudged documents of this ranking got the grades that lower it most"),
    Column("highest", "value", "the value if the unjudged documents of this ranking got the grades that raise it most"),
)


def _has_bounds(measure: Measure) -> bool:
    return measure.name in COMPLETION_RULES and measure.summary == "mean" and not getattr(measure, "judged_only", False)


_BOUNDS_NOTE = "Bounds are for each system alone. Systems share documents, so overlapping bounds need not mean another order."


@dataclass(frozen=True, slots=True)
class _UnjudgedRow:
    """One measure of one system: judged share, value and bounds; fields are columns."""

    measure: str
    system: str
    judged: float
    value: float
    lowest: float
    highest: float


def audit_unjudged(inputs: AnalysisInput, unjudged_docs: UnjudgedDocuments) -> Table:
    """The judged share and bounds of every value."""
    measures = {name: measure.measure for name, measure in inputs.result.systems[0].measures.items()}
    bounded = [name for name, measure in measures.items() if _has_bounds(measure)]
    rows = [_row(unjudged_docs, measure_result(inputs, system, name), system) for name in bounded for system in inputs.systems]
    highest = max(hits.judged.highest for hits in unjudged_docs.hits.values())
    counts, pairs = query_counts(inputs), sum(unjudged_docs.counts.values())
    sentences = [*_leads(rows), f"{pairs} retrieved pairs of query and document are unjudged."]
    if bounded:
        grade = top_grade(measures[bounded[0]], highest)
        sentences.append(f"An unjudged document could have any grade up to {grade}, the highest in use.")
        sentences.append("Documents that no system retrieved are left out of the bounds.")
    if len(bounded) < len(measures):
        sentences.append(f"There are no bounds for {', '.join(name for name in measures if name not in bounded)}.")
    return Table(
        name="audit-unjudged",
        title=f"Unjudged documents: bounds of each value, {counts}",
        columns=(*_COLUMNS, *counts.column),
        rows=tuple((*astuple(row), *counts.cell(row.system)) for row in rows),
        sentences=tuple(sentences),
        facts={**counts.facts, "unjudged_pairs": pairs, "grade": highest},
        verdict_first=True,
        summary=TableSummary(
            (*(("measure",) if len(bounded) > 1 else ()), "system", *(column.name for column in (*_COLUMNS[2:], *counts.column))),
            tuple(range(len(inputs.systems) if bounded else 0)),
        ),
    )


def _row(unjudged_docs: UnjudgedDocuments, measured: MeasureResult, system: str) -> _UnjudgedRow:
    hits = unjudged_docs.hits[system]
    chosen = in_summary(hits, measured)
    low, high = bounds_of(measured.measure, unjudged_docs, system)
    judged = (Judged @ (getattr(measured.measure, "cutoff", None) or DEFAULT_DEPTH)).values(hits)
    share, lowest, highest = (measured.measure.summarise(values[chosen], measured.weights) for values in (judged, low, high))
    return _UnjudgedRow(str(measured.measure), system, share, measured.value, lowest, highest)


def _leads(rows: list[_UnjudgedRow]) -> list[str]:
    """For each measure, whether the best system leads for all possible grades of the unjudged documents."""
    sentences, overlap = [], False
    for measure in dict.fromkeys(row.measure for row in rows):
        these = {row.system: row for row in rows if row.measure == measure}
        best = best_systems({name: row.value for name, row in these.items()})
        if len(these) > 1:
            others = [row for name, row in these.items() if name not in best]
            first = [these[name] for name in best]
            sentences.append(f"By {measure}, {_lead(first, others)}.")
            overlap = overlap or _overlapping(first, others) > 0
    return [*sentences, _BOUNDS_NOTE] if overlap else sentences


def _lead(best: list[_UnjudgedRow], others: list[_UnjudgedRow]) -> str:
    names = " and ".join(for_message(row.system) for row in best)
    overlapping = _overlapping(best, others)
    others_named = "the other system" if len(others) == 1 else f"{overlapping} of {len(others)} other systems"
    if len(best) > 1:
        return f"{names} tie at {best[0].value:.4f}" + (
            f", and their bounds overlap those of {others_named}" if overlapping else ""
        )
    if overlapping:
        return f"{names} leads, but its bounds overlap those of {others_named}"
    return f"{names} leads for all possible grades of the unjudged documents"


def _overlapping(best: list[_UnjudgedRow], others: list[_UnjudgedRow]) -> int:
    return sum(row.highest > min(row_of_best.lowest for row_of_best in best) for row in others)
