"""What nobody judged: per query, the documents that some system retrieved and that have no grade, or a negative one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...align.hits import Hits
from ...data.arrays import BoolArray, IntArray
from ...measures import Binary, Measure
from ...measures.gain import gains
from ..evidence import Evidence
from ..listings import EMPTY, Listing, all_hits, counted, listings

_UNJUDGED = -1


@dataclass(frozen=True, eq=False, slots=True)
class Holes:
    """Hits and lists of every system, and for each query all documents without a grade that any of them retrieved."""

    evidence: Evidence
    hits: Mapping[str, Hits]
    lists: Mapping[str, Mapping[str, Listing]]
    unjudged: Mapping[str, frozenset[str]]

    def ranks(self, system: str, query: str) -> IntArray:
        """The ranks of the system's documents without a grade."""
        docs = self.lists[system].get(query, EMPTY).docs
        return np.array([rank for rank, doc in enumerate(docs, start=1) if doc in self.unjudged[query]], dtype=np.int64)

    def counted(self, system: str) -> BoolArray:
        """Which of the judged queries the system's means run over."""
        (one,) = (each for each in self.evidence.result.systems if each.name == system)
        return counted(self.hits[system], next(iter(one.measures.values())))


def is_judged(grades: Mapping[str, int], doc: str) -> bool:
    """Whether the document has a grade; a negative one says that nobody judged it."""
    return grades.get(doc, _UNJUDGED) >= 0


def holes_of(evidence: Evidence) -> Holes:
    """The holes of all systems together."""
    lists = {system: listings(evidence, system) for system in evidence.systems}
    unjudged = {query: _unjudged(evidence, query, lists) for query in evidence.result.queries}
    return Holes(evidence, all_hits(evidence), lists, unjudged)


def _unjudged(evidence: Evidence, query: str, lists: Mapping[str, Mapping[str, Listing]]) -> frozenset[str]:
    judged = [doc for doc in evidence.qrels[query] if is_judged(evidence.qrels[query], doc)]
    return frozenset().union(*(each.get(query, EMPTY).docs for each in lists.values())).difference(judged)


def top_grade(measure: Measure, highest: int) -> int:
    """The grade that stands for `relevant`: the one worth most among those in use, and at least what the measure asks for."""
    if isinstance(measure, Binary):
        return max(highest, measure.least)
    grades = np.arange(max(highest, 1) + 1)
    worth = gains(grades, getattr(measure, "gain", "linear"))
    return int(grades[np.argmax(worth)])
