"""A searcher asked every query on its own, on a clock, in blocks that a journal can keep."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import islice

from ..asking.desk import Desk
from ..asking.lanes import in_turn
from ..data.answers import Answer
from ..data.queries import Query
from ..data.ranking import Ranking
from ..stages.abilities import AnsweringSearcher, AskingSearcher
from ..stages.base import Block, Searcher
from ..stages.clock import Clock
from .asked import asked_block

_BLOCK = 16
WARM_UP = 3
_Found = tuple[Ranking, Answer | None, Clock]


class Rounds:
    """Makes the blocks in their order, beginning with any; where a language model is asked, lanes go on across blocks.

    `below` has the rankings of each stage below, and `refuse` sees those of each block.
    """

    def __init__(
        self,
        searcher: Searcher,
        queries: Sequence[Query],
        below: Sequence[Sequence[Ranking]],
        desk: Desk,
        refuse: Callable[[Sequence[Ranking], Sequence[Query]], None],
    ) -> None:
        self._searcher, self._queries, self._below = searcher, queries, below
        self._desk, self._refuse = desk, refuse
        self._answering = searcher if isinstance(searcher, AnsweringSearcher) else None
        self._found: Generator[_Found, None, None] | None = None

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return -(-len(self._queries) // _BLOCK)

    def make(self, block: int) -> Block:
        """The block; each but the first that is made comes after the one before it."""
        start = block * _BLOCK
        if self._found is None:
            self._found = self._from(start)
        queries = self._queries[start : start + _BLOCK]
        found = list(islice(self._found, len(queries)))
        rankings = [ranking for ranking, _, _ in found]
        self._refuse(rankings, queries)
        answers = [answer for _, answer, _ in found if answer] if self._answering else None
        return asked_block(rankings, [clock for _, _, clock in found], answers)

    def close(self) -> None:
        """Ends what is still under way."""
        if self._found is not None:
            self._found.close()

    def _from(self, start: int) -> Generator[_Found, None, None]:
        lanes = self._searcher.lanes if isinstance(self._searcher, AskingSearcher) else 0
        if not lanes:
            for index in range(min(WARM_UP, len(self._queries))):
                self._one(index)
        return in_turn(self._desk, self._one, range(start, len(self._queries)), lanes)

    def _one(self, index: int) -> _Found:
        query, clock = self._queries[index], Clock()
        ranking = self._searcher.search(query, [rankings[index] for rankings in self._below], clock)
        return ranking, self._answering.answer(query, ranking, clock) if self._answering else None, clock
