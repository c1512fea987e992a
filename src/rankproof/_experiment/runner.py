"""StageRunner: each stage once, timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from rankproof._data import format_versions
from rankproof._data.answers import Answer
from rankproof._data.dataset import Query
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking
from rankproof._experiment.cache import DiskBlockCache, MemoryBlockCache, StageCache
from rankproof._experiment.checks import check_rankings
from rankproof._experiment.stage_output import BlockOutput, StageOutput, inherited_answers, query_block, read_query_blocks
from rankproof._extras import extra
from rankproof._io.journal import Block
from rankproof._llm.budget import token_cost
from rankproof._llm.session import LLMSession, map_in_order
from rankproof._results.provenance import utc_now
from rankproof._version import __version__
from rankproof.errors import RankproofError
from rankproof.stages._base import (
    AnsweringSearcher,
    BatchSearcher,
    BuildContext,
    EstimatesCost,
    LLMSearcher,
    QueryTimer,
    ReplacesCorpus,
    ReplacesQueries,
    Searcher,
    Stage,
)


@contextmanager
def close_at_exit(searcher: Searcher) -> Iterator[None]:
    """Closes the searcher when the block ends; after an interrupt a failure to do so is not told."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(RankproofError):
            searcher.close()
        raise
    except BaseException:
        searcher.close()
        raise
    searcher.close()


@contextmanager
def prefer_interrupt() -> Iterator[None]:
    """Raises the interrupt behind a failure, where there is one: building cleans up after itself too."""
    try:
        yield
    except RankproofError as error:
        behind: BaseException | None = error
        while behind is not None and not isinstance(behind, KeyboardInterrupt):
            behind = behind.__context__
        if behind is None:
            raise
        raise behind from None


_QUERIES_PER_BLOCK = 16
WARM_UP_QUERIES = 3
_QueryOutput = tuple[Ranking, Answer | None, QueryTimer]


class QueryLoop:
    """Makes the blocks in their order, beginning with any; where a language model is asked, lanes go on across blocks.

    `below` has the rankings of each stage below, and `refuse` sees those of each block.
    """

    def __init__(
        self,
        searcher: Searcher,
        queries: Sequence[Query],
        inputs: Sequence[Sequence[Ranking]],
        session: LLMSession,
        refuse: Callable[[Sequence[Ranking], Sequence[Query]], None],
    ) -> None:
        self._searcher, self._queries, self._inputs = searcher, queries, inputs
        self._session, self._refuse = session, refuse
        self._answering = searcher if isinstance(searcher, AnsweringSearcher) else None
        self._found: Generator[_QueryOutput, None, None] | None = None

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return -(-len(self._queries) // _QUERIES_PER_BLOCK)

    def make(self, block: int) -> Block:
        """The block; each but the first that is made comes after the one before it."""
        start = block * _QUERIES_PER_BLOCK
        if self._found is None:
            self._found = self._from(start)
        queries = self._queries[start : start + _QUERIES_PER_BLOCK]
        found = list(islice(self._found, len(queries)))
        rankings = [ranking for ranking, _, _ in found]
        self._refuse(rankings, queries)
        answers = [answer for _, answer, _ in found if answer] if self._answering else None
        return query_block(rankings, [timer for _, _, timer in found], answers)

    def close(self) -> None:
        """Ends what is still under way."""
        if self._found is not None:
            self._found.close()

    def _from(self, start: int) -> Generator[_QueryOutput, None, None]:
        concurrency = self._searcher.concurrency if isinstance(self._searcher, LLMSearcher) else 0
        if not concurrency:
            for index in range(min(WARM_UP_QUERIES, len(self._queries))):
                self._one(index)
        return map_in_order(self._session, self._one, range(start, len(self._queries)), concurrency)

    def _one(self, index: int) -> _QueryOutput:
        query, timer = self._queries[index], QueryTimer()
        ranking = self._searcher.search(query, [rankings[index] for rankings in self._inputs], timer)
        return ranking, self._answering.answer(query, ranking, timer) if self._answering else None, timer


@dataclass(frozen=True, eq=False, slots=True)
class StageRun:
    """What a stage gave, above what the stages below it gave."""

    stage: Stage
    output: StageOutput
    inputs: tuple[StageRun, ...] = ()

    def all_runs(self) -> Iterator[StageRun]:
        """Each of them once, lowest first."""
        seen: dict[int, StageRun] = {}
        for part in self.inputs:
            seen |= {id(each): each for each in part.all_runs()}
        yield from {**seen, id(self): self}.values()

    @property
    def is_provisional(self) -> bool:
        """Whether an ask that no reply came to is behind it: it may come out otherwise the next time."""
        return bool(np.any(self.output.counts.get("failed", 0))) or any(part.is_provisional for part in self.inputs)

    def money(self) -> float:
        """What its own asks cost at the model's prices."""
        chat = self.stage.chat if isinstance(self.stage, EstimatesCost) else None
        if chat is None:
            return 0.0
        counts = self.output.counts
        return token_cost(int(counts["tokens_in"].sum()), int(counts["tokens_out"].sum()), chat.price_in, chat.price_out)


def blas_threads(count: int) -> AbstractContextManager[Any]:
    """Limits them while the block runs, so that a query's time is that of one thread, and does not wait for busy cores."""
    with extra("retrieval"):
        from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(limits=count, user_api="blas")
    return limits


@dataclass(frozen=True, eq=False, slots=True)
class StageRunner:
    """Documents and queries, and where finished work is kept."""

    context: BuildContext
    queries: Sequence[Query]
    block_cache: DiskBlockCache | MemoryBlockCache
    cache: StageCache | None
    stage_runs: dict[Stage, StageRun] = field(default_factory=dict)
    input_runners: dict[Stage, StageRunner] = field(default_factory=dict)

    def stage_run(self, stage: Stage, label: str) -> StageRun:
        """What the stage gives: computed in this process, kept from an earlier one, or computed now.

        What rests on something provisional is neither kept nor taken from what was kept.
        """
        if stage not in self.stage_runs:
            runner = self.inputs(stage)
            inputs = tuple(runner.stage_run(part, label) for part in stage.inputs())
            key = identity_key(__version__, format_versions.STAGE_CACHE, self.context.corpus_key, self._queries_key(), stage)
            sound = not any(each.is_provisional for each in inputs)
            kept = self.cache.find(key) if self.cache and sound else None
            made = StageRun(stage, kept or self._compute(stage, key, inputs, label, sound=sound), inputs)
            if not kept and sound:
                self._store(key, made)
            self.stage_runs[stage] = made
        return self.stage_runs[stage]

    def inputs(self, stage: Stage) -> StageRunner:
        """Where the stages below it are built and asked: on other documents or with other queries, where it says so."""
        if isinstance(stage, ReplacesCorpus) and stage not in self.input_runners:
            context = stage.input_context(self.context)
            # Stages on the same other documents, such as two on the same chunks, share what they rest on.
            same = (each for each in self.input_runners.values() if each.context.corpus_key == context.corpus_key)
            self.input_runners[stage] = next(same, None) or replace(self, context=context, stage_runs={}, input_runners={})
        if isinstance(stage, ReplacesQueries) and stage not in self.input_runners:
            output = tuple(stage.input_queries(self.context, self.queries))
            self.input_runners[stage] = replace(self, queries=output, stage_runs={}, input_runners={})
        return self.input_runners.get(stage, self)

    def _queries_key(self) -> str:
        return identity_key([(query.id, query.text) for query in self.queries])

    def _compute(self, stage: Stage, key: str, inputs: Sequence[StageRun], label: str, *, sound: bool) -> StageOutput:
        with prefer_interrupt(), ExitStack() as stack:
            stack.enter_context(blas_threads(self.context.threads))
            self.context.progress(f"{label}: building", 0, 1)
            searcher = stage.build(self.context)
            stack.enter_context(close_at_exit(searcher))
            self.context.progress(f"{label}: building", 1, 1)
            with blas_threads(1):
                output = self._run_queries(stage, searcher, inputs, label, key if sound else None)
            # All queries are asked again together: what the searcher says of its answers below then covers those that were kept.
            throughput = self._throughput(searcher)
            answers, lost = inherited_answers(output.answers, [each.output for each in inputs])
            return StageOutput(
                output.rankings,
                output.times,
                searcher.cost(),
                throughput,
                searcher.facts(),
                (*searcher.notes(), *output.notes(), *lost),
                utc_now(),
                counts=output.counts,
                answers=answers,
            )

    def _store(self, key: str, made: StageRun) -> None:
        """Keeps what is finished; an ask that no reply came to may succeed the next time, and what lacks it is not."""
        if self.cache and not made.is_provisional:
            self.cache.put(key, made.output)
        self.block_cache.forget(key)

    def _run_queries(
        self, stage: Stage, searcher: Searcher, inputs: Sequence[StageRun], label: str, key: str | None
    ) -> BlockOutput:
        """Every query on its own, in blocks that are kept as they come, where there is a key to keep them under."""

        def refuse(rankings: Sequence[Ranking], queries: Sequence[Query]) -> None:
            check_rankings(rankings, queries, stage, self.context.corpus, label)

        found = [each.output.rankings for each in inputs]
        with closing(QueryLoop(searcher, self.queries, found, self.context.session, refuse)) as rounds:
            told, items = f"{label}: asking", len(self.queries)
            if key is None:
                return read_query_blocks(self.block_cache.uncached(rounds.count, rounds.make, label=told, items=items))
            blocks, _ = self.block_cache.blocks(key, rounds.count, rounds.make, label=told, items=items)
            return read_query_blocks(blocks)

    def _throughput(self, searcher: Searcher) -> float | None:
        """Queries a second when all are asked together, None for a searcher without a batch of its own."""
        if not isinstance(searcher, BatchSearcher) or not self.queries:
            return None
        searcher.search_all(self.queries[:WARM_UP_QUERIES])
        start = time.perf_counter()
        searcher.search_all(self.queries)
        return len(self.queries) / max(time.perf_counter() - start, 1e-9)
