"""Whether rankings go against the grades."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankproof._align.hits import Hits
from rankproof._analysis.doctor.check import NOTHING_FOUND, Z_99, CheckResult, DoctorInput, SystemFault, check, result_of_systems
from rankproof._data.arrays import IntArray

_ENOUGH_PAIRS = 20


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """Pairs of retrieved judged documents of different grade, by query: the higher one above, and below.

    The same for pairs of a relevant document and one of grade 0; `levels` counts all pairs by the grade above and the one below.
    """

    above: IntArray
    below: IntArray
    relevant_above: IntArray
    zero_above: IntArray
    levels: IntArray


@check(
    "reversed-grades",
    "severe",
    "grades that go against the ranking of every system",
    advice="check the scale (does 1 mean best?) and turn it round with --grade-map",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_grades(lambda grades: {doc: 2 - grade for doc, grade in grades.items()}),
)
def reversed_grades(subject: DoctorInput) -> CheckResult:
    """Whether every system ranks the lower grade above the higher one, and does so for all grades."""
    orders = {name: order_of(hits, subject.rel) for name, hits in subject.hits.items()}
    if not all(_is_against(one.above, one.below) and not _has_grades_in_order(one.levels) for one in orders.values()):
        return NOTHING_FOUND
    faults = [_fault(name, one.above, one.below) for name, one in orders.items()]
    return result_of_systems("the lower grade is ranked above the higher one by every system", faults)


def _zeros_second(docs: list[str]) -> list[str]:
    """For an example: the document of grade 2 first, then those of grade 0, then those of grade 1."""
    return [docs[0], *docs[3:12], *docs[1:3], *docs[12:]]


@check(
    "zeros-on-top",
    "warning",
    "documents of grade 0 that every system ranks above relevant ones",
    advice="read some of them: they may be hard negatives, what the queries were made from, or judged by mistake",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_order(_zeros_second, system="bm25").with_order(_zeros_second),
    also=("random-level",),
)
def zeros_on_top(subject: DoctorInput) -> CheckResult:
    """Whether every system ranks documents of grade 0 above relevant ones, though the grades are not reversed."""
    orders = {name: order_of(hits, subject.rel) for name, hits in subject.hits.items()}
    if reversed_grades(subject).count or not all(_is_against(one.relevant_above, one.zero_above) for one in orders.values()):
        return NOTHING_FOUND
    faults = [_fault(name, one.relevant_above, one.zero_above) for name, one in orders.items()]
    return result_of_systems("documents of grade 0 are ranked above relevant ones by every system", faults)


def order_of(hits: Hits, rel: int) -> Order:
    """The pairs of one system."""
    grades, count = np.unique(hits.grades[hits.grades >= 0]), len(hits.queries)
    by_query, levels = np.zeros((4, count), dtype=np.int64), np.zeros((len(grades),) * 2, dtype=np.int64)
    higher, zero = grades[:, None] > grades, grades == 0
    good = grades >= max(rel, 1)
    for at in range(count):
        part = slice(int(hits.offsets[at]), int(hits.offsets[at + 1]))
        pairs = _pairs(hits.ranks[part], hits.grades[part], grades)
        masks = higher, higher.T, np.outer(good, zero), np.outer(zero, good)
        by_query[:, at] = [pairs[mask].sum() for mask in masks]
        levels += pairs
    above, below, relevant_above, zero_above = by_query
    return Order(above, below, relevant_above, zero_above, levels)


def _pairs(ranks: IntArray, found: IntArray, grades: IntArray) -> IntArray:
    """How often a grade (row) stands above another (column) in one ranking."""
    ordered = found[np.argsort(ranks, kind="stable")]
    is_grade = (ordered[ordered >= 0, None] == grades).astype(np.int64)
    before = np.cumsum(is_grade, axis=0) - is_grade
    pairs: IntArray = before.T @ is_grade
    return pairs


def _is_against(right: IntArray, wrong: IntArray) -> bool:
    """Whether clearly more queries are against the grades than for them: a sign test."""
    for_them, against = int(np.sum(right > wrong)), int(np.sum(wrong > right))
    return against > 0 and against - for_them >= Z_99 * math.sqrt(against + for_them)


def _has_grades_in_order(levels: IntArray) -> bool:
    """Whether two grades, of which there are enough pairs, stand the right way round by more than a standard error."""
    right, wrong = np.tril(levels, -1), np.triu(levels, 1).T
    total = right + wrong
    return bool(np.any((total >= _ENOUGH_PAIRS) & (right - wrong > np.sqrt(total))))


def _fault(name: str, right: IntArray, wrong: IntArray) -> SystemFault:
    against, telling = int(np.sum(wrong > right)), int(np.sum(wrong != right))
    share, pairs = wrong.sum() / (wrong.sum() + right.sum()), int(wrong.sum() + right.sum())
    return SystemFault(name, against, telling, f"in {against} of {telling} queries that can tell, {share:.0%} of {pairs} pairs")
