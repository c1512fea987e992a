"""StageRunner: runs each stage once over all queries, timed, cached and resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from rankproof._data import format_versions
from rankproof._data.answers import Answer
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking
from rankproof._experiment.cache import DiskBlockCache, MemoryBlockCache, StageCache
from rankproof._experiment.checks import check_rankings
from rankproof._experiment.engines import EngineOutput, ask_in_turns, engine_output, unknown_document_notes
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
from rankproof.stages._engines.base import EngineClient, EngineStage
from rankproof.stages._run_file import RunFile

_QUERIES_PER_BLOCK = 16
WARM_UP_QUERIES = 3
EXTERNAL = (EngineStage, RunFile)
"""Stages whose rankings were made elsewhere: they may have documents that the corpus does not have."""


@contextmanager
def close_at_exit(searcher: Searcher) -> Iterator[None]:
    """Closes the searcher when the block ends; after an interrupt an error of closing is ignored."""
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
    """Raises the interrupt that an error hides: cleaning up after an interrupt can fail as well."""
    try:
        yield
    except RankproofError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__context__
        if cause is None:
            raise
        raise cause from None


_QueryOutput = tuple[Ranking, Answer | None, QueryTimer]


class QueryLoop:
    """Runs the queries in blocks, in order and from any block on; concurrent calls continue across blocks.

    `inputs` has the rankings of each input stage; `check` sees the rankings of each block.
    """

    def __init__(
        self,
        searcher: Searcher,
        queries: Sequence[Query],
        inputs: Sequence[Sequence[Ranking]],
        session: LLMSession,
        check: Callable[[Sequence[Ranking], Sequence[Query]], None],
    ) -> None:
        self._searcher, self._queries, self._inputs = searcher, queries, inputs
        self._session, self._check = session, check
        self._answering = searcher if isinstance(searcher, AnsweringSearcher) else None
        self._found: Generator[_QueryOutput, None, None] | None = None

    @property
    def count(self) -> int:
        """The number of blocks."""
        return -(-len(self._queries) // _QUERIES_PER_BLOCK)

    def make(self, block: int) -> Block:
        """The block; after the first, blocks must be made in order."""
        start = block * _QUERIES_PER_BLOCK
        if self._found is None:
            self._found = self._from(start)
        queries = self._queries[start : start + _QUERIES_PER_BLOCK]
        found = list(islice(self._found, len(queries)))
        rankings = [ranking for ranking, _, _ in found]
        self._check(rankings, queries)
        answers = [answer for _, answer, _ in found if answer] if self._answering else None
        return query_block(rankings, [timer for _, _, timer in found], answers)

    def close(self) -> None:
        """Cancels the calls that are still running."""
        if self._found is not None:
            self._found.close()

    def _from(self, start: int) -> Generator[_QueryOutput, None, None]:
        concurrency = self._searcher.concurrency if isinstance(self._searcher, LLMSearcher) else 0
        if not concurrency:
            for index in range(min(WARM_UP_QUERIES, len(self._queries))):
                self._run_query(index)
        return map_in_order(self._session, self._run_query, range(start, len(self._queries)), concurrency)

    def _run_query(self, index: int) -> _QueryOutput:
        query, timer = self._queries[index], QueryTimer()
        with timer.rest("search"):
            ranking = self._searcher.search(query, [rankings[index] for rankings in self._inputs], timer)
        if self._answering is None:
            return ranking, None, timer
        with timer.rest("generate"):
            return ranking, self._answering.answer(query, ranking, timer), timer


@dataclass(frozen=True, eq=False, slots=True)
class StageRun:
    """A stage with its output and the runs of its inputs."""

    stage: Stage
    output: StageOutput
    inputs: tuple[StageRun, ...] = ()

    def all_runs(self) -> Iterator[StageRun]:
        """This run and those of all inputs, each once, inputs first."""
        seen: dict[int, StageRun] = {}
        for part in self.inputs:
            seen |= {id(each): each for each in part.all_runs()}
        yield from {**seen, id(self): self}.values()

    @property
    def is_provisional(self) -> bool:
        """Whether a call failed here or in an input, so that another run may give another output."""
        return bool(np.any(self.output.counts.get("failed", 0))) or any(part.is_provisional for part in self.inputs)

    def money(self) -> float:
        """The cost of its own calls at the model's prices."""
        chat = self.stage.chat if isinstance(self.stage, EstimatesCost) else None
        if chat is None:
            return 0.0
        counts = self.output.counts
        return token_cost(int(counts["tokens_in"].sum()), int(counts["tokens_out"].sum()), chat.price_in, chat.price_out)


def _with_same_queries(stage: Stage) -> Iterator[Stage]:
    """The stage and its inputs that have the queries and documents of the dataset."""
    yield stage
    if not isinstance(stage, ReplacesCorpus | ReplacesQueries):
        for part in stage.inputs():
            yield from _with_same_queries(part)


def known_documents(stage_run: StageRun, corpus: Corpus) -> Sequence[Ranking]:
    """The rankings as input of another stage: without documents of an engine or run file that are not in the corpus."""
    if not corpus or not isinstance(stage_run.stage, EXTERNAL):
        return stage_run.output.rankings
    kept = []
    for docs, scores in stage_run.output.rankings:
        rows = [at for at, doc in enumerate(docs) if doc in corpus]
        kept.append(([docs[at] for at in rows], scores[rows]))
    return kept


def blas_threads(count: int, stage: Stage) -> AbstractContextManager[Any]:
    """Limits the BLAS threads while the block runs, so that query times do not depend on free cores.

    A stage that needs no documents computes no vectors, and so needs no library for this.
    """
    if not getattr(stage, "needs_documents", True):
        return nullcontext()
    with extra("retrieval"):
        from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(limits=count, user_api="blas")
    return limits


@dataclass(frozen=True, eq=False, slots=True)
class StageRunner:
    """Runs stages on the documents and queries of a context, and caches their outputs."""

    context: BuildContext
    queries: Sequence[Query]
    block_cache: DiskBlockCache | MemoryBlockCache
    cache: StageCache | None
    stage_runs: dict[Stage, StageRun] = field(default_factory=dict)
    input_runners: dict[Stage, StageRunner] = field(default_factory=dict)

    def stage_run(self, stage: Stage, label: str) -> StageRun:
        """The run of the stage, from this process, from the cache, or computed.

        A stage with a provisional input is neither cached nor read from the cache.
        """
        if stage not in self.stage_runs:
            runner = self.inputs(stage)
            inputs = tuple(runner.stage_run(part, label) for part in stage.inputs())
            key = self._key(stage, inputs)
            # The replies of an engine are recorded one by one, and a run file is one, so their output is not cached as well.
            cacheable = not isinstance(stage, EXTERNAL) and not any(each.is_provisional for each in inputs)
            cached = self.cache.find(key) if self.cache and cacheable else None
            run = StageRun(stage, cached or self._compute(stage, key if cacheable else None, inputs, label), inputs)
            if not cached and cacheable:
                self._store(key, run)
            self.stage_runs[stage] = run
        return self.stage_runs[stage]

    def ask_engines(self, systems: Mapping[str, Stage]) -> None:
        """Asks the engines among the systems and their inputs, in turns; those with other queries are asked when they run."""
        own = {stage: name for name, stage in reversed(list(systems.items()))}
        clients: dict[Stage, tuple[str, EngineClient]] = {}
        for name, system in systems.items():
            for stage in _with_same_queries(system):
                if isinstance(stage, EngineStage) and stage not in clients:
                    clients[stage] = own.get(stage, name), stage.client(self.context)
        ask_in_turns(tuple(clients.values()), self.queries, self.context)

    def inputs(self, stage: Stage) -> StageRunner:
        """The runner of the inputs of a stage, with other documents or queries if the stage replaces them."""
        if isinstance(stage, ReplacesCorpus) and stage not in self.input_runners:
            context = stage.input_context(self.context)
            # Stages with the same replaced documents, such as the same chunks, share a runner and so their inputs.
            same = (each for each in self.input_runners.values() if each.context.corpus_key == context.corpus_key)
            self.input_runners[stage] = next(same, None) or replace(self, context=context, stage_runs={}, input_runners={})
        if isinstance(stage, ReplacesQueries) and stage not in self.input_runners:
            queries = tuple(stage.input_queries(self.context, self.queries))
            self.input_runners[stage] = replace(self, queries=queries, stage_runs={}, input_runners={})
        return self.input_runners.get(stage, self)

    def _key(self, stage: Stage, inputs: Sequence[StageRun]) -> str:
        """The cache key; the replies of engines can change, so their rankings are a part of it."""
        queries = identity_key([(query.id, query.text) for query in self.queries])
        runs = {id(each): each for part in inputs for each in part.all_runs() if isinstance(each.stage, EngineStage)}
        replies = [identity_key([docs for docs, _ in each.output.rankings]) for each in runs.values()]
        return identity_key(__version__, format_versions.STAGE_CACHE, self.context.corpus_key, queries, stage, *replies)

    def _compute(self, stage: Stage, key: str | None, inputs: Sequence[StageRun], label: str) -> StageOutput:
        with prefer_interrupt(), ExitStack() as stack:
            stack.enter_context(blas_threads(self.context.threads, stage))
            self.context.progress(f"{label}: building", 0, 1)
            searcher = stage.build(self.context)
            if isinstance(stage, EngineStage):
                ask_in_turns([(label, stage.client(self.context))], self.queries, self.context)
            stack.enter_context(close_at_exit(searcher))
            self.context.progress(f"{label}: building", 1, 1)
            with blas_threads(1, stage):
                output = self._run_queries(stage, searcher, inputs, label, key)
            # This batch runs every query, so that the notes of the searcher also cover queries whose output came from a journal.
            throughput = self._throughput(searcher)
            if isinstance(stage, EngineStage):
                engine = engine_output(stage.client(self.context), self.queries, self.context, label)
                return self._engine_output(searcher, output, engine)
            if isinstance(stage, RunFile):
                return self._run_file_output(searcher, output)
            answers, answer_notes = inherited_answers(output.answers, [each.output for each in inputs])
            return StageOutput(
                output.rankings,
                output.times,
                searcher.cost(),
                throughput,
                searcher.facts(),
                (*searcher.notes(), *output.notes(), *answer_notes),
                utc_now(),
                counts=output.counts,
                answers=answers,
            )

    def _engine_output(self, searcher: Searcher, output: BlockOutput, engine: EngineOutput) -> StageOutput:
        return StageOutput(
            output.rankings,
            output.times,
            searcher.cost(),
            None,
            {**searcher.facts(), **engine.facts},
            (*searcher.notes(), *engine.notes),
            engine.asked if engine.from_cache else utc_now(),
            from_cache=engine.from_cache,
            counts=output.counts,
            replies=engine.replies,
            texts=engine.texts,
        )

    def _run_file_output(self, searcher: Searcher, output: BlockOutput) -> StageOutput:
        """The output without times: how long it takes to look a ranking up is not the latency of the system."""
        unknown = unknown_document_notes([docs for docs, _ in output.rankings], self.context.corpus)
        notes = (*searcher.notes(), *unknown)
        return StageOutput(
            output.rankings,
            {},
            searcher.cost(),
            None,
            searcher.facts(),
            notes,
            utc_now(),
            counts=output.counts,
            answers=output.answers,
        )

    def _store(self, key: str, run: StageRun) -> None:
        """Caches the output unless a call failed, which may succeed in another run."""
        if self.cache and not run.is_provisional:
            self.cache.put(key, run.output)
        self.block_cache.forget(key)

    def _run_queries(
        self, stage: Stage, searcher: Searcher, inputs: Sequence[StageRun], label: str, key: str | None
    ) -> BlockOutput:
        """Runs every query on its own, in blocks that are journaled under the key; None journals nothing."""

        def check(rankings: Sequence[Ranking], queries: Sequence[Query]) -> None:
            check_rankings(rankings, queries, stage, None if isinstance(stage, EXTERNAL) else self.context.corpus, label)

        found = [known_documents(each, self.context.corpus) for each in inputs]
        with closing(QueryLoop(searcher, self.queries, found, self.context.session, check)) as loop:
            progress, items = f"{label}: searching", len(self.queries)
            if key is None:
                return read_query_blocks(self.block_cache.uncached(loop.count, loop.make, label=progress, items=items))
            blocks, _ = self.block_cache.blocks(key, loop.count, loop.make, label=progress, items=items)
            return read_query_blocks(blocks)

    def _throughput(self, searcher: Searcher) -> float | None:
        """Queries a second in batch, None for a searcher without a batch search."""
        if not isinstance(searcher, BatchSearcher) or not self.queries:
            return None
        searcher.search_all(self.queries[:WARM_UP_QUERIES])
        start = time.perf_counter()
        searcher.search_all(self.queries)
        return len(self.queries) / max(time.perf_counter() - start, 1e-9)
