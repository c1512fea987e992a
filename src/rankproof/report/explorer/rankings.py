"""The tops of the rankings, and at which rank each system has the documents that matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...data.order import best_first
from ...data.run import Run
from ...experiment.rung import Climb

TOP = 10
Grades = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One system, by query of the climb: its first documents, the ranks of those that are looked up, how many it retrieved."""

    tops: tuple[tuple[str, ...], ...]
    ranks: tuple[Mapping[str, int], ...]
    retrieved: tuple[int, ...]


def ranked_systems(climb: Climb, grades: Grades) -> dict[str, Ranked]:
    """Every system; looked up are judged documents, and those at the top of the systems that stand over it."""
    orders = {rung.name: _orders(rung.run, climb.queries) for rung in climb.rungs}
    tops = {name: tuple(docs[:TOP] for docs in each) for name, each in orders.items()}
    above = {name: [tops[rung.name] for rung in climb.rungs if rung.over == name] for name in orders}
    return {
        name: Ranked(
            tops[name],
            tuple(map(_ranks, orders[name], _wanted(climb, grades, above[name]))),
            tuple(map(len, orders[name])),
        )
        for name in orders
    }


def _wanted(climb: Climb, grades: Grades, above: list[tuple[tuple[str, ...], ...]]) -> Iterator[set[str]]:
    for at, query in enumerate(climb.queries):
        yield set(grades[query]).union(*(tops[at] for tops in above))


def _ranks(docs: tuple[str, ...], wanted: set[str]) -> dict[str, int]:
    return {doc: rank for rank, doc in enumerate(docs, 1) if doc in wanted}


def _orders(run: Run, queries: Sequence[str]) -> list[tuple[str, ...]]:
    """The run's documents for each of the queries, best first; none for a query that it lacks."""
    found = {}
    for query, (start, end) in zip(run.queries, pairwise(run.offsets.tolist()), strict=True):
        docs = run.docs[start:end]
        found[query] = tuple(docs[at] for at in best_first(docs, run.scores[start:end]).tolist())
    return [found.get(query, ()) for query in queries]
