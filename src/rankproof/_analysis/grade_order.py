"""Whether a system ranks documents of higher grades above those of lower ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import IntArray

Z_99 = 2.576
"""The two-sided critical value of the normal distribution at 99%."""
_MIN_PAIRS = 20


@dataclass(frozen=True, eq=False, slots=True)
class GradeOrder:
    """Pairs of judged documents with different grades by query: counts with the higher grade above, and below.

    `relevant_above` and `zero_above` count pairs of a relevant document and one of grade 0; `levels` counts all pairs by upper
    and lower grade.
    """

    above: IntArray
    below: IntArray
    relevant_above: IntArray
    zero_above: IntArray
    levels: IntArray

    @property
    def is_reversed(self) -> bool:
        """Whether lower grades are above higher ones in significantly many queries, and no two grades are in order."""
        return is_against(self.above, self.below) and not _has_grades_in_order(self.levels)


def order_of(hits: Hits, rel: int) -> GradeOrder:
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
    return GradeOrder(above, below, relevant_above, zero_above, levels)


def _pairs(ranks: IntArray, judged: IntArray, grades: IntArray) -> IntArray:
    """How often a grade (row) is above another (column) in one ranking."""
    ordered = judged[np.argsort(ranks, kind="stable")]
    is_grade = (ordered[ordered >= 0, None] == grades).astype(np.int64)
    before = np.cumsum(is_grade, axis=0) - is_grade
    pairs: IntArray = before.T @ is_grade
    return pairs


def is_against(right: IntArray, wrong: IntArray) -> bool:
    """Whether significantly more queries contradict the grades than agree with them, by a sign test."""
    # By query, as pairs of the same query depend on each other.
    for_them, against = int(np.sum(right > wrong)), int(np.sum(wrong > right))
    return against > 0 and against - for_them >= Z_99 * math.sqrt(against + for_them)


def _has_grades_in_order(levels: IntArray) -> bool:
    """Whether two grades with enough pairs are in the right order by more than a standard error."""
    right, wrong = np.tril(levels, -1), np.triu(levels, 1).T
    total = right + wrong
    return bool(np.any((total >= _MIN_PAIRS) & (right - wrong > np.sqrt(total))))
