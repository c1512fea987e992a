"""QueryLoop: asks a searcher one query at a time, timed, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import islice

from rankproof._data.answers import Answer
from rankproof._data.dataset import Query
from rankproof._data.ordering import Ranking
from rankproof._experiment.stage_output import query_block
from rankproof._io.array_files import Block
from rankproof._llm.session import LLMSession, map_in_order
from rankproof.stages._base import AnsweringSearcher, LLMSearcher, QueryTimer, Searcher

_QUERIES_PER_BLOCK = 16
_WARM_UP_QUERIES = 3
_QueryOutput = tuple[Ranking, Answer | None, QueryTimer]


class QueryLoop:
    """Runs the queries at the positions `asked` in blocks, in order and from any block on; calls continue across blocks.

    `inputs` has the rankings of each input stage for all queries; `check` sees the rankings of each block.
    """

    def __init__(
        self,
        searcher: Searcher,
        queries: Sequence[Query],
        asked: Sequence[int],
        inputs: Sequence[Sequence[Ranking]],
        session: LLMSession,
        check: Callable[[Sequence[Ranking], Sequence[Query]], None],
    ) -> None:
        self._searcher, self._queries, self._asked, self._inputs = searcher, queries, asked, inputs
        self._session, self._check = session, check
        self._answering = searcher if isinstance(searcher, AnsweringSearcher) else None
        self._found: Generator[_QueryOutput, None, None] | None = None

    @property
    def count(self) -> int:
        """The number of blocks."""
        return -(-len(self._asked) // _QUERIES_PER_BLOCK)

    def make(self, block: int) -> Block:
        """The block; after the first, blocks must be made in order."""
        start = block * _QUERIES_PER_BLOCK
        if self._found is None:
            self._found = self._from(start)
        queries = [self._queries[at] for at in self._asked[start : start + _QUERIES_PER_BLOCK]]
        results = list(islice(self._found, len(queries)))
        rankings = [ranking for ranking, _, _ in results]
        self._check(rankings, queries)
        answers = [answer for _, answer, _ in results if answer] if self._answering else None
        return query_block(rankings, [timer for _, _, timer in results], answers)

    def warm_up(self) -> None:
        """Asks the first queries without keeping their times."""
        for index in range(min(_WARM_UP_QUERIES, len(self._queries))):
            self._run_query(index)

    def close(self) -> None:
        """Cancels the calls that are still running."""
        if self._found is not None:
            self._found.close()

    def _from(self, start: int) -> Generator[_QueryOutput, None, None]:
        concurrency = self._searcher.concurrency if isinstance(self._searcher, LLMSearcher) else 0
        if not concurrency:
            self.warm_up()
        return map_in_order(self._session, self._run_query, self._asked[start:], concurrency)

    def _run_query(self, index: int) -> _QueryOutput:
        query, timer = self._queries[index], QueryTimer()
        with timer.rest("search"):
            ranking = self._searcher.search(query, [rankings[index] for rankings in self._inputs], timer)
        if self._answering is None:
            return ranking, None, timer
        with timer.rest("generate"):
            return ranking, self._answering.answer(query, ranking, timer), timer
