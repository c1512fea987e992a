"""How low and how high a value could be, whatever the unjudged documents that were retrieved here are.

Each measure has a way to choose, for one query, the completions among which the lowest and the highest value lie; the measure's
own code then values them. A completion gives grades to unjudged documents that any of the systems retrieved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ...align.hits import Hits
from ...data.arrays import FloatArray, IntArray
from ...measures import Measure
from ..arrangements import Arrangement, judged_hits_of, values_of
from .best_gain import best_gain
from .unjudged import Holes, top_grade

_MOST_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False, slots=True)
class Open:
    """One query's holes as one system sees them: the ranks within the cutoff, and how many there are elsewhere."""

    hits: Hits
    query: int
    ranks: IntArray
    elsewhere: int
    grade: int

    def completed(self, ranks: IntArray, elsewhere: int, grades: IntArray | None = None) -> Arrangement:
        """The hits if the documents at these ranks, and so many elsewhere, had the top grade (or the grades given)."""
        own_ranks, own_grades = judged_hits_of(self.hits, self.query)
        given = np.full(len(ranks), self.grade) if grades is None else grades
        more = np.concatenate((given, np.full(elsewhere, self.grade)))
        return Arrangement(self.query, np.concatenate((own_ranks, ranks)), np.concatenate((own_grades, given)), more)


Choice = Callable[[Measure, Open], Iterator[Arrangement]]


def none(measure: Measure, hole: Open) -> Iterator[Arrangement]:
    """Nothing unjudged is relevant."""
    yield hole.completed(hole.ranks[:0], 0)


def all_within(measure: Measure, hole: Open) -> Iterator[Arrangement]:
    """Everything within the cutoff is relevant and nothing elsewhere."""
    yield hole.completed(hole.ranks, 0)


def all_elsewhere(measure: Measure, hole: Open) -> Iterator[Arrangement]:
    """Nothing within the cutoff is relevant and everything elsewhere."""
    yield hole.completed(hole.ranks[:0], hole.elsewhere)


def first_ones(measure: Measure, hole: Open) -> Iterator[Arrangement]:
    """For any number of relevant ones, the highest value has them first and none elsewhere."""
    for count in range(len(hole.ranks) + 1):
        yield hole.completed(hole.ranks[:count], 0)


def last_ones(measure: Measure, hole: Open) -> Iterator[Arrangement]:
    """For any number of relevant ones, the lowest value has all elsewhere, and then the last within the cutoff."""
    for count in range(len(hole.ranks) + 1):
        yield hole.completed(hole.ranks[len(hole.ranks) - count :], hole.elsewhere)


def best_grades(measure: Measure, hole: Open) -> Iterator[Arrangement]:
    """The grades within the cutoff that make nDCG highest."""
    grades = best_gain(measure, hole.hits, hole.query, hole.ranks, hole.grade)
    kept = grades >= 0
    yield hole.completed(hole.ranks[kept], 0, grades[kept])


CHOICES: dict[str, tuple[Choice, Choice]] = {
    **dict.fromkeys(("P", "RR", "Success", "RBP", "DCG", "ERR"), (none, all_within)),
    **dict.fromkeys(("R", "F1"), (all_elsewhere, all_within)),
    "AP": (last_ones, first_ones),
    "nDCG": (last_ones, best_grades),
}


def bounds_of(measure: Measure, holes: Holes, system: str) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest value of each query."""
    low, high = CHOICES[measure.name]
    hits = holes.hits[system]
    every = [_open(measure, holes, system, query) for query in range(len(hits.queries))]
    lowest = _chosen(measure, hits, every, low, np.minimum)
    return lowest, _chosen(measure, hits, every, high, np.maximum)


def _open(measure: Measure, holes: Holes, system: str, query: int) -> Open:
    hits = holes.hits[system]
    name = hits.queries[query]
    ranks = holes.ranks(system, name)
    within = ranks[ranks <= getattr(measure, "depth", len(ranks))]
    elsewhere = len(holes.unjudged[name]) - len(within)
    return Open(hits, query, within, elsewhere, top_grade(measure, hits.judged.highest))


def _chosen(measure: Measure, hits: Hits, every: list[Open], choice: Choice, better: np.ufunc) -> FloatArray:
    """The extreme value of each query among its completions, valued in batches."""
    values = np.full(len(every), -np.inf if better is np.maximum else np.inf)
    batch: list[Arrangement] = []
    size = 0
    for hole in every:
        for one in choice(measure, hole):
            batch.append(one)
            size += len(one.ranks) + len(one.more)
        if size > _MOST_AT_ONCE:
            _take(values, measure, hits, batch, better)
            batch, size = [], 0
    _take(values, measure, hits, batch, better)
    return values


def _take(values: FloatArray, measure: Measure, hits: Hits, batch: list[Arrangement], better: np.ufunc) -> None:
    better.at(values, np.array([one.query for one in batch], dtype=np.int64), values_of(measure, hits, batch))
