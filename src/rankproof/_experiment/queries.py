"""The queries that an experiment runs, judged ones and those with references, asked one at a time, timed, in blocks."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rankproof._data.answers import Answer, references_from_queries
from rankproof._data.dataset import Dataset, Query
from rankproof._data.ordering import Ranking
from rankproof._experiment.experiment import Experiment, gives_answers, stage_tree
from rankproof._experiment.stage_output import query_block
from rankproof._formats.detect import SAMPLE
from rankproof._formats.read import queries_of_other_splits
from rankproof._importers.base import is_dataset_folder
from rankproof._io.array_files import Block
from rankproof._io.open import path_text
from rankproof._llm.session import LLMSession, map_in_order
from rankproof.stages._base import AnsweringSearcher, LLMSearcher, QueryTimer, Searcher
from rankproof.stages._chunked import Chunked


@dataclass(frozen=True, slots=True)
class QuerySelection:
    """`judged` are judged queries, with or without text; `unjudged` are run without being measured.

    `is_own` says that the dataset has judgements of its own; without them every query is run, in the order of the dataset, so
    that judging more queries changes no ranking.
    """

    judged: tuple[str, ...]
    unjudged: tuple[str, ...] = ()
    is_own: bool = True

    def queries(self, dataset: Dataset) -> list[Query]:
        """Those that have a text: in the order of the dataset, or of its judgements and then the others."""
        chosen = (*self.judged, *self.unjudged)
        if self.is_own:
            return queries_with_text(dataset, chosen)
        wanted = set(chosen)
        return [query for key, query in dataset.queries.items() if key in wanted]

    def notes(self) -> Iterator[str]:
        """A note where rankings and answers are measured over different queries."""
        if count := len(self.unjudged) if self.is_own else 0:
            queries = "1 query has" if count == 1 else f"{count} queries have"
            yield f"{queries} a reference answer and no judgement: only answers are measured on them, not rankings"


def select_queries(experiment: Experiment, dataset: Dataset, own: Dataset) -> QuerySelection:
    """All queries, or a sample of `limit` with both kinds in proportion; an invalid reference is refused here.

    `own` is the dataset without the judgements of further files.
    """
    if not own.is_judged:
        _unjudged_with_reference(experiment, dataset)
        chosen = _sample(tuple(dataset.queries), experiment.limit, experiment.seed)
        parts = {there: tuple(query for query in chosen if (query in dataset.qrels) is there) for there in (True, False)}
        return QuerySelection(parts[True], parts[False], is_own=False)
    unjudged = _unjudged_with_reference(experiment, dataset)
    limit, total = experiment.limit, len(dataset.qrels) + len(unjudged)
    if limit is None or limit >= total:
        return QuerySelection(tuple(dataset.qrels), unjudged)
    judged = max(1, round(limit * len(dataset.qrels) / total))
    sampled = _sample(unjudged, limit - judged, experiment.seed)
    return QuerySelection(tuple(select_judged(dataset, judged, experiment.seed)), sampled)


def select_judged(dataset: Dataset, limit: int | None, seed: int) -> list[str]:
    """The judged queries in their order, or a random sample of `limit` of them, with or without text.

    A query without text scores 0 in the mean of all queries, so the sample must have such queries too.
    """
    return list(_sample(tuple(dataset.qrels), limit, seed))


def queries_with_text(dataset: Dataset, selected: Sequence[str]) -> list[Query]:
    """Those of the selected queries that have a text."""
    return [dataset.queries[query] for query in selected if query in dataset.queries]


def _unjudged_with_reference(experiment: Experiment, dataset: Dataset) -> tuple[str, ...]:
    """Queries with a reference and no judgement in any split of the dataset."""
    answering = any(map(gives_answers, experiment.systems.values()))
    chunked = any(isinstance(part, Chunked) for stage in experiment.systems.values() for part in stage_tree(stage))
    if not (answering or chunked or experiment.collapse is not None):
        return ()
    references = references_from_queries(dataset.queries)
    unjudged = [query for query in references if query not in dataset.qrels] if answering else []
    elsewhere = _judged_in_other_splits(experiment) if unjudged else frozenset()
    return tuple(query for query in unjudged if query not in elsewhere)


def _judged_in_other_splits(experiment: Experiment) -> frozenset[str]:
    dataset = experiment.dataset
    if isinstance(dataset, Dataset) or dataset == SAMPLE or not is_dataset_folder(path_text(dataset)):
        return frozenset()
    return queries_of_other_splits(path_text(dataset), split=experiment.split)


def _sample(queries: tuple[str, ...], limit: int | None, seed: int) -> tuple[str, ...]:
    if limit is None or limit >= len(queries):
        return queries
    chosen = set(random.Random(seed).sample(range(len(queries)), limit))
    return tuple(query for index, query in enumerate(queries) if index in chosen)


def latency_sample(count: int, size: int, seed: int) -> tuple[int, ...]:
    """The positions of `size` of `count` queries, in order; a larger sample of the same seed has all of a smaller one."""
    return tuple(sorted(random.Random(seed).sample(range(count), count)[:size]))


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
