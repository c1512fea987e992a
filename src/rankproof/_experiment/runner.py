"""StageRunner: runs each stage once over all queries, in a batch where it can, times a sample, caches and resumes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np

from rankproof._data import format_versions
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking
from rankproof._experiment.cache import DiskBlockCache, MemoryBlockCache, StageCache
from rankproof._experiment.checks import batch_agreement, check_rankings
from rankproof._experiment.engines import EngineOutput, ask_in_turns, engine_output, unknown_document_notes
from rankproof._experiment.queries import QueryLoop
from rankproof._experiment.stage_output import BlockOutput, StageOutput, inherited_answers, read_query_blocks, with_rankings
from rankproof._extras import extra
from rankproof._llm.budget import money_of
from rankproof._results.provenance import utc_now
from rankproof._version import __version__
from rankproof.errors import RankproofError
from rankproof.stages._base import (
    AnsweringSearcher,
    BatchSearcher,
    BuildContext,
    CallsModel,
    EstimatesCost,
    LLMSearcher,
    ReplacesCorpus,
    ReplacesQueries,
    Searcher,
    Stage,
)
from rankproof.stages._engines.base import EngineClient, EngineStage
from rankproof.stages._run_file import AnsweredRunSearcher, RunFile

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
            seen |= {id(run): run for run in part.all_runs()}
        yield from {**seen, id(self): self}.values()

    @property
    def is_provisional(self) -> bool:
        """Whether a call failed here or in an input, so that another run may give another output."""
        failed = any(np.any(self.output.counts.get(name, 0)) for name in ("failed", "given_up"))
        return failed or any(part.is_provisional for part in self.inputs)

    def money(self) -> float:
        """The cost of its own calls at the model's prices."""
        model = self.stage.paid_model if isinstance(self.stage, EstimatesCost) else None
        if model is None:
            return 0.0
        read, written, units = (int(self.output.counts[name].sum()) for name in ("tokens_in", "tokens_out", "search_units"))
        return money_of(model, read, written, units)


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
    """Runs stages on the documents and queries of a context, and caches their outputs.

    `timed` are the positions of the queries that a stage with a batch search is asked one at a time for its latency.
    """

    context: BuildContext
    queries: Sequence[Query]
    timed: Sequence[int]
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
            cacheable = not isinstance(stage, EXTERNAL) and not any(input_.is_provisional for input_ in inputs)
            cached = self.cache.find(key) if self.cache and cacheable else None
            is_complete = cached is not None and cached.has_times_of(self.timed)
            output = cached if cached and is_complete else self._compute(stage, key if cacheable else None, inputs, label, cached)
            if not is_complete and cacheable:
                self._store(key, StageRun(stage, output, inputs))
            self.stage_runs[stage] = StageRun(stage, output.with_times_of(self.timed), inputs)
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
            same = (runner for runner in self.input_runners.values() if runner.context.corpus_key == context.corpus_key)
            self.input_runners[stage] = next(same, None) or replace(self, context=context, stage_runs={}, input_runners={})
        if isinstance(stage, ReplacesQueries) and stage not in self.input_runners:
            queries = tuple(stage.input_queries(self.context, self.queries))
            self.input_runners[stage] = replace(self, queries=queries, stage_runs={}, input_runners={})
        return self.input_runners.get(stage, self)

    def _key(self, stage: Stage, inputs: Sequence[StageRun]) -> str:
        """The cache key; the replies of engines can change, so their rankings are a part of it."""
        queries = identity_key([(query.id, query.text) for query in self.queries])
        runs = {id(run): run for part in inputs for run in part.all_runs() if isinstance(run.stage, EngineStage)}
        replies = [identity_key([docs for docs, _ in run.output.rankings]) for run in runs.values()]
        parts = (__version__, format_versions.STAGE_CACHE, self.context.corpus_key, queries, stage, *replies)
        return identity_key(*(self.context.session.repeat_key(*parts) if may_vary(stage) else parts))

    def for_repeat(self) -> StageRunner:
        """A runner that asks models and engines again; stages whose output cannot vary keep theirs."""
        kept = {stage: run for stage, run in self.stage_runs.items() if not may_vary(stage)}
        return replace(self, stage_runs=kept, input_runners={})

    def _compute(
        self, stage: Stage, key: str | None, inputs: Sequence[StageRun], label: str, cached: StageOutput | None
    ) -> StageOutput:
        """The output of the stage; of a cached output with the times of other queries, only the times are measured."""
        with prefer_interrupt(), ExitStack() as stack:
            stack.enter_context(blas_threads(self.context.threads, stage))
            self.context.progress(f"{label}: building", 0, 1)
            searcher = stage.build(self.context)
            if isinstance(stage, EngineStage):
                ask_in_turns([(label, stage.client(self.context))], self.queries, self.context)
            stack.enter_context(close_at_exit(searcher))
            self.context.progress(f"{label}: building", 1, 1)
            asking = _StageQueries(self, stage, searcher, label, key, inputs)
            if cached is not None:
                timed = asking.timed_output(cached.rankings)
                return replace(cached, times=timed.times, computed=utc_now(), from_cache=False)
            return self._whole_output(asking)

    def _whole_output(self, asking: _StageQueries) -> StageOutput:
        stage, searcher = asking.stage, asking.searcher
        if isinstance(stage, EngineStage):
            output = asking.single_output()
            engine = engine_output(stage.client(self.context), self.queries, self.context, asking.label)
            return self._engine_output(searcher, output, engine)
        if isinstance(stage, RunFile):
            return self._run_file_output(searcher, asking.single_output())
        output, throughput = asking.batch_output(searcher) if has_batch(searcher) else (asking.single_output(), None)
        answers, answer_notes = inherited_answers(output.answers, [input_.output for input_ in asking.inputs])
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
            repeats=asking.inputs[0].output.repeats if output.answers is None and answers is not None else {},
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
            reused=engine.reused,
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
            repeats=searcher.repeats() if isinstance(searcher, AnsweredRunSearcher) else {},
        )

    def _store(self, key: str, run: StageRun) -> None:
        """Caches the output unless a call failed, which may succeed in another run."""
        if self.cache and not run.is_provisional:
            self.cache.put(key, run.output)
        for name in (key, timing_key(key, self.timed)):
            self.block_cache.forget(name)


def may_vary(stage: Stage) -> bool:
    """Whether the stage or an input asks a search engine or language model, so that asking again may change the output."""
    return is_asked(stage) or any(map(may_vary, stage.inputs()))


def is_asked(stage: Stage) -> bool:
    """Whether the stage itself asks a search engine or a language model."""
    return isinstance(stage, EngineStage | CallsModel) or isinstance(getattr(stage, "by", None), CallsModel)


def has_batch(searcher: Searcher) -> TypeGuard[BatchSearcher]:
    """Whether the rankings come from a batch; an answer or the call of a language model is made for one query."""
    return isinstance(searcher, BatchSearcher) and not isinstance(searcher, AnsweringSearcher | LLMSearcher)


def timing_key(key: str, timed: Sequence[int]) -> str:
    """The key of the journal of the times of these queries."""
    return identity_key(key, "times", list(timed))


@dataclass(frozen=True, eq=False, slots=True)
class _StageQueries:
    """Asks a searcher the queries of a runner; journals lie under the key, None journals nothing."""

    runner: StageRunner
    stage: Stage
    searcher: Searcher
    label: str
    key: str | None
    inputs: Sequence[StageRun]

    def single_output(self) -> BlockOutput:
        """The output of all queries, each asked on its own and timed."""
        return self._ask(range(len(self.runner.queries)), self.key, "searching")

    def batch_output(self, searcher: BatchSearcher) -> tuple[BlockOutput, float | None]:
        """The output of all queries in one batch with the times of the sample, and the queries a second of the batch."""
        queries, progress = self.runner.queries, self.runner.context.progress
        with closing(self._loop(())) as loop:
            loop.warm_up()
        progress(f"{self.label}: searching", 0, len(queries))
        start, saved = time.perf_counter(), self.runner.block_cache.saved_seconds
        hits = searcher.search_all(queries)
        seconds = time.perf_counter() - start + self.runner.block_cache.saved_seconds - saved
        progress(f"{self.label}: searching", len(queries), len(queries))
        self._check(hits, queries)
        rankings = [(docs, np.asarray(scores, np.float64)) for docs, scores in hits]
        return self.timed_output(rankings), len(queries) / max(seconds, 1e-9) if queries else None

    def timed_output(self, rankings: Sequence[Ranking]) -> BlockOutput:
        """The rankings of all queries with the times of the sample, which must have the same rankings one at a time."""
        timed = self.runner.timed
        output = self._ask(timed, None if self.key is None else timing_key(self.key, timed), "timing")
        pairs = [(self.runner.queries[at], rankings[at], ranking) for at, ranking in zip(timed, output.rankings, strict=True)]
        exact = getattr(self.searcher, "batch_invariant", True)
        return with_rankings(output, timed, rankings, batch_agreement(pairs, self.stage, self.label, exact=exact))

    def _ask(self, asked: Sequence[int], key: str | None, doing: str) -> BlockOutput:
        """The output of the queries at these positions, in blocks."""
        cache, label = self.runner.block_cache, f"{self.label}: {doing}"
        with blas_threads(1, self.stage), closing(self._loop(asked)) as loop:
            if key is None:
                return read_query_blocks(cache.uncached(loop.count, loop.make, label=label, items=len(asked)))
            return read_query_blocks(cache.blocks(key, loop.count, loop.make, label=label, items=len(asked))[0])

    def _loop(self, asked: Sequence[int]) -> QueryLoop:
        context = self.runner.context
        documents = [known_documents(input_, context.corpus) for input_ in self.inputs]
        return QueryLoop(self.searcher, self.runner.queries, asked, documents, context.session, self._check)

    def _check(self, rankings: Sequence[Ranking], queries: Sequence[Query]) -> None:
        corpus = None if isinstance(self.stage, EXTERNAL) else self.runner.context.corpus
        check_rankings(rankings, queries, self.stage, corpus, self.label)
