"""Which judged document each hit is: alignment by document codes, with the grades of documents for each subtopic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from rankproof._data.arrays import IntArray
from rankproof._data.qrels import Qrels

if TYPE_CHECKING:
    from rankproof._align.hits import Hits, JudgedQueries


@dataclass(frozen=True, eq=False)
class SubtopicGrades:
    """The grades of documents for subtopics, by document; the subtopics of query i are offsets[i] to offsets[i + 1].

    `documents` are indexes in JudgedDocuments, `subtopics` indexes in `names`.
    """

    offsets: IntArray
    names: tuple[str, ...]
    documents: IntArray
    subtopics: IntArray
    grades: IntArray

    def between(self, start: int, end: int, documents: IntArray) -> SubtopicGrades:
        """The grades of the queries from start to end; `documents` are the bounds of their documents."""
        bounds = self.offsets[start : end + 1]
        rows = slice(*np.searchsorted(self.documents, documents[[0, -1]]))
        return SubtopicGrades(
            offsets=bounds - bounds[0],
            names=self.names[bounds[0] : bounds[-1]],
            documents=self.documents[rows] - documents[0],
            subtopics=self.subtopics[rows] - bounds[0],
            grades=self.grades[rows],
        )

    def repeated(self, times: int, documents: int) -> SubtopicGrades:
        """The grades of a single query, as if they were so many queries with `documents` judged documents each."""
        copy = np.repeat(np.arange(times), len(self.documents))
        return SubtopicGrades(
            offsets=np.arange(times + 1) * len(self.names),
            names=self.names * times,
            documents=np.tile(self.documents, times) + copy * documents,
            subtopics=np.tile(self.subtopics, times) + copy * len(self.names),
            grades=np.tile(self.grades, times),
        )


@dataclass(frozen=True, eq=False)
class JudgedDocuments:
    """The judged documents of query i are offsets[i] to offsets[i + 1], the largest id first.

    The code of a document is its index among those of its query. `subtopics` is None where no document is judged for subtopics.
    """

    offsets: IntArray
    ids: tuple[str, ...]
    grades: IntArray
    subtopics: SubtopicGrades | None = None

    def between(self, start: int, end: int) -> JudgedDocuments:
        """The documents of the queries from start to end."""
        bounds = self.offsets[start : end + 1]
        span = slice(bounds[0], bounds[-1])
        subtopics = None if self.subtopics is None else self.subtopics.between(start, end, bounds)
        return JudgedDocuments(bounds - bounds[0], self.ids[span], self.grades[span], subtopics)

    def repeated(self, times: int) -> JudgedDocuments:
        """The documents of a single query, as if they were those of so many queries."""
        count = len(self.ids)
        subtopics = None if self.subtopics is None else self.subtopics.repeated(times, count)
        return JudgedDocuments(np.arange(times + 1) * count, self.ids * times, np.tile(self.grades, times), subtopics)


def judge_by_code(
    judge: Callable[[Qrels, Collection[str] | None], JudgedQueries], qrels: Qrels, only: Collection[str] | None
) -> JudgedQueries:
    """The judgements by an engine's function, ready for an alignment whose hits have codes; those of all queries are kept.

    The engine gets -1 - code in place of the grade, which may be any negative number; `with_codes` looks the grade up.
    """
    # Kept on the judgements, with which several runs are aligned.
    kept: dict[object, JudgedQueries] = qrels.aligned
    if only is not None:
        return _judged_by_code(judge, qrels, only)
    if judge not in kept:
        kept[judge] = _judged_by_code(judge, qrels, None)
    return kept[judge]


def _judged_by_code(
    judge: Callable[[Qrels, Collection[str] | None], JudgedQueries], qrels: Qrels, only: Collection[str] | None
) -> JudgedQueries:
    ids = {query: sorted(docs, reverse=True) for query, docs in qrels.items()}
    coded = {query: {doc: -1 - code for code, doc in enumerate(docs)} for query, docs in ids.items()}
    judged = judge(Qrels.of_checked(coded, source=qrels.source), only)
    chosen = [ids[query] for query in judged.queries]
    grades_by_query = (map(qrels[query].__getitem__, docs) for query, docs in zip(judged.queries, chosen, strict=True))
    grades = np.fromiter(chain.from_iterable(grades_by_query), dtype=np.int64)
    documents = JudgedDocuments(
        offsets=judged.offsets,
        ids=tuple(chain.from_iterable(chosen)),
        grades=grades,
        subtopics=_subtopic_grades(judged, coded, qrels.subtopics) if qrels.subtopics else None,
    )
    highest = max((max(docs.values()) for docs in qrels.values()), default=0)
    best_first = grades[np.lexsort((-grades, judged.query_index))]
    return replace(judged, grades=best_first, highest=highest, documents=documents).counted(qrels, only)


def with_codes(hits: Hits) -> Hits:
    """The hits of judgements by code, with the code and the grade of each."""
    documents = hits.judged.documents
    assert documents is not None, "judged by code"
    codes = -1 - hits.grades
    return replace(hits, codes=codes, grades=documents.grades[documents.offsets[hits.query_index] + codes])


def _subtopic_grades(
    judged: JudgedQueries, coded: Mapping[str, Mapping[str, int]], subtopics: Mapping[str, Mapping[str, Mapping[str, int]]]
) -> SubtopicGrades:
    names: list[str] = []
    offsets, starts, sizes = [0], [], []
    codes: list[int] = []
    grades: list[int] = []
    for start, query in zip(judged.offsets.tolist(), judged.queries, strict=False):
        for subtopic, docs in sorted(subtopics.get(query, {}).items()):
            codes += map(coded[query].__getitem__, docs)
            grades += docs.values()
            names.append(subtopic)
            starts.append(start)
            sizes.append(len(docs))
        offsets.append(len(names))
    topics = np.repeat(np.arange(len(names)), sizes)
    documents = np.repeat(np.array(starts, dtype=np.int64), sizes) - 1 - np.array(codes, dtype=np.int64)
    order = np.argsort(documents, kind="stable")
    return SubtopicGrades(
        offsets=np.array(offsets, dtype=np.int64),
        names=tuple(names),
        documents=documents[order],
        subtopics=topics[order],
        grades=np.array(grades, dtype=np.int64)[order],
    )
