"""Each system's ranked lists and hits, by the same reading as its values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ..align.hits import Hits
from ..data.arrays import BoolArray, FloatArray, IntArray
from ..data.order import Columns, best_first, settled_columns
from ..evaluation import MeasureResult
from ..evaluation.inputs import align, judge
from .evidence import Evidence


@dataclass(frozen=True, eq=False, slots=True)
class Listing:
    """One query's documents, best first: their scores as they came, and the keys that ordered them."""

    docs: tuple[str, ...]
    scores: FloatArray
    keys: FloatArray


EMPTY = Listing((), np.zeros(0), np.zeros(0))


def listings(evidence: Evidence, system: str, only: Collection[str] | None = None) -> dict[str, Listing]:
    """The lists of the judged queries that the system has, or of those among `only`."""
    if only is None:
        if system not in evidence.drawn_up:
            evidence.drawn_up[system] = _listings(evidence, system, evidence.result.queries)
        return dict(evidence.drawn_up[system])
    return _listings(evidence, system, only)


def _listings(evidence: Evidence, system: str, queries: Collection[str]) -> dict[str, Listing]:
    columns = settled_columns(evidence.runs[system].among(frozenset(queries)), evidence.reading)
    return {query: _listing(evidence, query, columns[query]) for query in queries if query in columns}


def all_hits(evidence: Evidence) -> dict[str, Hits]:
    """The hits of every system, over one set of judged queries in the order of the result."""
    judged = judge(evidence.qrels, evidence.options)
    return {name: align(judged, evidence.runs[name], name, evidence.options) for name in evidence.systems}


def counted(hits: Hits, one: MeasureResult) -> BoolArray:
    """Which of the judged queries the summary runs over."""
    ids = frozenset(one.query_ids)
    return np.array([query in ids for query in hits.queries], dtype=np.bool_)


def result_of(evidence: Evidence, system: str, measure: str) -> MeasureResult:
    """One measure of one system."""
    return next(one for one in evidence.result.systems if one.name == system).measures[measure]


def relevant_docs(grades: Mapping[str, int], rel: int) -> list[str]:
    """The relevant documents, those of the highest grade first."""
    return sorted((doc for doc, grade in grades.items() if grade >= rel), key=lambda doc: -grades[doc])


def _listing(evidence: Evidence, query: str, columns: Columns) -> Listing:
    reading = evidence.reading
    docs, scores, keys = columns
    order: IntArray = best_first(docs, keys)[: reading.depth]
    if reading.judged_only:
        grades = evidence.qrels[query]
        order = np.array([at for at in order.tolist() if grades.get(docs[at], -1) >= 0], dtype=np.int64)
    return Listing(tuple(docs[at] for at in order.tolist()), scores[order], keys[order])
