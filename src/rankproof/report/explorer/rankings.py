"""The tops of the rankings, and at which rank each system has the documents that matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
    orders = {rung.name: _Orders(rung.run) for rung in climb.rungs}
    tops = {name: tuple(tuple(one.of(query)[:TOP]) for query in climb.queries) for name, one in orders.items()}
    above = {name: [tops[rung.name] for rung in climb.rungs if rung.over == name] for name in orders}
    return {
        name: Ranked(
            tops[name],
            tuple(_ranks(orders[name].of(query), wanted) for query, wanted in _wanted(climb, grades, above[name])),
            tuple(map(orders[name].count, climb.queries)),
        )
        for name in orders
    }


def _wanted(climb: Climb, grades: Grades, above: list[tuple[tuple[str, ...], ...]]) -> Iterator[tuple[str, set[str]]]:
    for at, query in enumerate(climb.queries):
        yield query, set(grades[query]).union(*(tops[at] for tops in above))


def _ranks(docs: list[str], wanted: set[str]) -> dict[str, int]:
    return {doc: rank for rank, doc in enumerate(docs, 1) if doc in wanted}


class _Orders:
    """A run's documents by query, best first."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._places = {query: at for at, query in enumerate(run.queries)}

    def count(self, query: str) -> int:
        start, end = self._span(query)
        return end - start

    def of(self, query: str) -> list[str]:
        start, end = self._span(query)
        docs = self._run.docs[start:end]
        return [docs[at] for at in best_first(docs, self._run.scores[start:end]).tolist()]

    def _span(self, query: str) -> tuple[int, int]:
        if query not in self._places:
            return 0, 0
        at = self._places[query]
        return int(self._run.offsets[at]), int(self._run.offsets[at + 1])
