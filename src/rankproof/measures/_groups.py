"""Measures averaged over judgement groups, the judgements of several people: map_avgjg, P_avgjg and Rprec_mult_avgjg."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from rankproof._align.hits import Hits, Ties
from rankproof._align.judged_documents import SubtopicGrades
from rankproof._data.arrays import FloatArray, IntArray, list_numbers, list_places
from rankproof._registry import Option
from rankproof.measures._average_precision import AveragePrecision
from rankproof.measures._base import Advice, BinaryCutoffMeasure, BinaryMeasure, Measure
from rankproof.measures._precision_recall import Precision, PrecisionAtMultiple
from rankproof.measures._relevant import cached_on, ratio, sum_by_query


class GroupedHits(NamedTuple):
    """The hits with each judgement group as a query of its own, and the query of each group."""

    hits: Hits
    owners: IntArray


@cached_on
def grouped_hits(hits: Hits) -> GroupedHits:
    """The hits by group, in the order of queries and then of the names of groups; the judgements are one group without names."""
    documents = hits.judged.documents
    grades = None if documents is None else documents.subtopics
    if documents is None or grades is None:
        return GroupedHits(hits, np.arange(len(hits.queries)))
    owners = list_numbers(np.diff(grades.offsets))
    order = np.array(sorted(range(len(owners)), key=lambda at: (owners[at], grades.names[at])), dtype=np.int64)
    place = np.argsort(order)
    split = _split_by_group(hits, grades, place, documents.offsets[hits.query_index] + _codes(hits))
    by_group = replace(split, present=hits.present[owners], retrieved=hits.retrieved[owners])
    # A document that only another group judged is unjudged in this one.
    return GroupedHits(by_group.judged_only() if hits.only_judged else by_group, owners)


def _codes(hits: Hits) -> IntArray:
    assert hits.codes is not None, "judged by code"
    return hits.codes


def _split_by_group(hits: Hits, grades: SubtopicGrades, place: IntArray, documents: IntArray) -> Hits:
    """The hits and judgements of each group; `place` is the index of each group, `documents` the document of each hit."""
    groups = place[grades.subtopics]
    judged_order = np.lexsort((-grades.grades, groups))
    starts = np.searchsorted(grades.documents, documents, side="left")
    counts = np.searchsorted(grades.documents, documents, side="right") - starts
    hit = list_numbers(counts)
    row = list_places(counts) + starts[hit]
    order = np.lexsort((hits.ranks[hit], groups[row]))
    ranks = hits.ranks[hit][order]
    judged = replace(
        hits.judged,
        queries=tuple(map(str, range(len(place)))),
        offsets=_offsets(groups, len(place)),
        grades=grades.grades[judged_order],
        documents=None,
    )
    return replace(
        hits,
        judged=judged,
        offsets=_offsets(groups[row], len(place)),
        ranks=ranks,
        grades=grades.grades[row][order],
        ties=Ties.none(ranks),
        codes=None,
    )


def _offsets(groups: IntArray, count: int) -> IntArray:
    return np.concatenate(([0], np.cumsum(np.bincount(groups, minlength=count), dtype=np.int64)))


class GroupMean(BinaryMeasure):
    """A measure of each judgement group of a query, averaged over the groups."""

    family = "preferences"
    best_by_grade = False

    @abstractmethod
    def of_group(self) -> Measure:
        """The measure of one group."""

    def values(self, hits: Hits) -> FloatArray:
        grouped = grouped_hits(hits)
        sums = sum_by_query(grouped.owners, self.of_group().values(grouped.hits), len(hits.queries))
        return ratio(sums, np.bincount(grouped.owners, minlength=len(hits.queries)))


_USE = "several people judged the same queries, and the second column of the qrels names them."
_AVOID = "the second column names subtopics of the query: AP_IA and P_IA leave out subtopics without relevant documents."


class GroupAveragePrecision(GroupMean):
    """Average precision by the judgements of each group, averaged over the groups."""

    name = "map_avgjg"
    title = "Average precision, averaged over judgement groups"
    formula = "mean of AP over the judgement groups"
    definition = "The mean of AP over the judgement groups of a query, each with its own relevant documents."
    source = "trec_eval map_avgjg"
    parity = "trec_eval"
    advice = Advice("ordering", _USE, _AVOID)

    def of_group(self) -> Measure:
        return AveragePrecision(rel=self.rel)


map_avgjg = GroupAveragePrecision()


class GroupPrecision(GroupMean, BinaryCutoffMeasure):
    """Precision by the judgements of each group, averaged over the groups."""

    name = "P_avgjg"
    title = "Precision, averaged over judgement groups"
    formula = "mean of P@k over the judgement groups"
    definition = "The mean of P@k over the judgement groups of a query, each with its own relevant documents."
    source = "trec_eval P_avgjg"
    parity = "trec_eval"
    advice = Advice("ordering", _USE, _AVOID)
    needs = "P_avgjg@10"

    def of_group(self) -> Measure:
        return Precision(rel=self.rel, cutoff=self.depth)


P_avgjg = GroupPrecision()


@dataclass(frozen=True, kw_only=True, repr=False)
class GroupPrecisionAtMultiple(GroupMean):
    """Precision at a multiple of the number of relevant documents of each group, averaged over the groups."""

    multiple: Annotated[float | None, Option("multiple of the number of relevant documents", least=0)] = None
    name = "Rprec_mult_avgjg"
    title = "Precision at a multiple of R, averaged over judgement groups"
    formula = "mean of Rprec_mult@x over the judgement groups"
    definition = "The mean of Rprec_mult@x over the judgement groups of a query, each with its own relevant documents."
    source = "trec_eval Rprec_mult_avgjg"
    parity = "trec_eval"
    advice = Advice("ordering", _USE, _AVOID)
    at: ClassVar[str | None] = "multiple"
    suffix: ClassVar[str | None] = "multiple"
    needs = "Rprec_mult_avgjg@1.5"

    def of_group(self) -> Measure:
        self.complete()
        return PrecisionAtMultiple(rel=self.rel, multiple=self.multiple)


Rprec_mult_avgjg = GroupPrecisionAtMultiple()
