"""Live search: a system of an experiment, built once, that ranks any query."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from rankproof._data.dataset import Query
from rankproof._data.ordering import Ranking
from rankproof._experiment.cache import DiskBlockCache, MemoryBlockCache
from rankproof._experiment.config_read import read_system, system_tables_of
from rankproof._experiment.experiment import MODELS, Experiment, stage_tree
from rankproof._experiment.judgements import load_dataset
from rankproof._experiment.runner import EXTERNAL, blas_threads
from rankproof._experiment.stage_output import call_count_notes
from rankproof._io.cache_items import CacheUse
from rankproof._io.corpus_store import CorpusStorage
from rankproof._io.toml_file import toml_values
from rankproof._llm.budget import Budget
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.session import LLMSession
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.result_json import EXPERIMENT_FILE
from rankproof._server.bench.port import BenchSource, LiveRanking
from rankproof._tune.parameters import changed_part
from rankproof.errors import UsageError, for_message
from rankproof.stages._base import BuildContext, QueryTimer, ReplacesCorpus, ReplacesQueries, Searcher, Stage
from rankproof.stages._engines.base import EngineClient, EngineError, EngineReply, EngineStage
from rankproof.stages._run_file import RunFile

LOCAL_STAGES = ("bm25", "sqlite-fts5", "dense", "fuse", "rerank", "chunked", "extract", "rm3")
LOCAL_SCORERS = ("maxsim", "bi-encoder", "keywords")
PATIENCE = 15.0
"""The most seconds that a typed query waits for a search engine."""
_MOST_SEARCHERS = 16
TYPED = "typed"
"""The id of a typed query."""


def outside_parts(results: ExperimentResult, system: str) -> list[str]:
    """What a system asks outside of this machine or loads from elsewhere, by its settings alone: nothing is built for this."""
    tables = system_tables_of(toml_values(results.experiment, EXPERIMENT_FILE), system)
    parts = []
    for table in tables.values():
        if (stage := table.get("stage")) not in LOCAL_STAGES:
            parts.append(f"a {stage} system")
        if "by" in table and table["by"] not in LOCAL_SCORERS:
            parts.append(f"the scorer {table['by']}")
        if "model" in table and table["model"] not in MODELS:
            parts.append("a model that the results name")
        if "store" in table and table["store"] != "memory":
            parts.append("a vector store")
    return parts


class SystemSource:
    """The experiment of results as far as one system needs it."""

    def __init__(self, source: BenchSource, system: str, *, may_ask: bool, trust: bool = False) -> None:
        results = source.results
        if not source.entry.is_folder or not results.experiment:
            fix = "serve the folder of `rankproof run`"
            raise UsageError("these results are of stored rankings, without a system that can be asked", fix=fix)
        outside = outside_parts(results, system)
        if outside and not may_ask:
            raise UsageError(f"{for_message(system)} uses {outside[0]}", fix="start `rankproof serve` with --edit")
        self.experiment = _trusted_system(os.path.join(source.entry.path, EXPERIMENT_FILE), system, trust=trust)
        self.system, self.fingerprint = system, results.fingerprint

    @property
    def stage(self) -> Stage:
        """The system as it was run."""
        return self.experiment.systems[self.system]


def _trusted_system(path: str, system: str, *, trust: bool) -> Experiment:
    """The system with its inputs; Python code that it names is imported only if the user trusts it."""
    experiment, code = read_system(path, system, imports=False)
    if not code.names:
        return experiment
    if not trust and not code.is_trusted():
        names = ", ".join(map(for_message, code.names))
        raise UsageError(
            f"{for_message(system)} names Python code that was not trusted before: {names}",
            fix="read that code, then start `rankproof serve` with --trust",
        )
    return read_system(path, system, imports=True)[0]


def check_searches(stage: Stage) -> None:
    """Rejects a system that reads its rankings from a file."""
    if any(isinstance(part, RunFile) for part in stage_tree(stage)):
        raise UsageError("the system reads a run file, which has no ranking of other queries", fix="choose another system")


class OpenDataset:
    """The documents of an experiment with what its systems share: the cache, the session of engines and models, the budget."""

    def __init__(self, experiment: Experiment, fingerprint: str, home: Path | None, budget: Budget) -> None:
        dataset = load_dataset(experiment, CorpusStorage(home))
        if dataset.fingerprint() != fingerprint and experiment.include_cases is None:
            raise UsageError("the dataset is not the one of the results any more", fix="run the experiment again")
        self._files = ExitStack()
        self._files.enter_context(CacheUse(home, None))
        cache = DiskBlockCache(home, _ignore) if home else MemoryBlockCache(_ignore)
        session = LLMSession(ResponseCaches(home) if home else None, budget)
        self._files.enter_context(session)
        self._files.enter_context(cache)
        self.context = BuildContext(dataset.corpus, dataset.corpus.fingerprint(), cache, session=session)
        self._searchers: dict[tuple[Stage, str], Searcher] = {}
        self._locks: defaultdict[tuple[Stage, str], threading.RLock] = defaultdict(threading.RLock)
        self._idle, self._searching = threading.Condition(), 0

    def search(self, stage: Stage, text: str) -> LiveRanking:
        """The ranking of a typed query."""
        with self._idle:
            self._searching += 1
        try:
            return self._live_ranking(stage, text)
        finally:
            with self._idle:
                self._searching -= 1
                self._idle.notify_all()

    def _live_ranking(self, stage: Stage, text: str) -> LiveRanking:
        live = patient(stage)
        check_searches(live)
        if isinstance(live, EngineStage):
            return self._engine_ranking(live, Query(TYPED, text), self.context)
        timer = QueryTimer()
        docs, scores = self._ranked(live, Query(TYPED, text), self.context, timer)
        notes = call_count_notes({name: np.array([count]) for name, count in timer.counts.items()})
        return LiveRanking(docs, [float(score) for score in scores], notes)

    def _ranked(self, stage: Stage, query: Query, context: BuildContext, timer: QueryTimer) -> Ranking:
        inside = stage.input_context(context) if isinstance(stage, ReplacesCorpus) else context
        asked = stage.input_queries(context, [query])[0] if isinstance(stage, ReplacesQueries) else query
        if isinstance(stage, EngineStage):
            reply = self._engine_ranking(stage, query, context)
            return list(reply.docs), np.arange(len(reply.docs), 0, -1, dtype=np.float64)
        inputs = [_known(self._ranked(part, asked, inside, timer), part, context) for part in stage.inputs()]
        with self._lock(stage, context), blas_threads(1, stage):
            return self._searcher(stage, context).search(query, inputs, timer)

    def _lock(self, stage: Stage, context: BuildContext) -> threading.RLock:
        with self._idle:
            return self._locks[stage, context.corpus_key]

    def _searcher(self, stage: Stage, context: BuildContext) -> Searcher:
        key = stage, context.corpus_key
        if key not in self._searchers:
            while len(self._searchers) >= _MOST_SEARCHERS:
                self._close_oldest()
            self._searchers[key] = stage.build(context)
        return self._searchers[key]

    def _close_oldest(self) -> None:
        with self._idle:
            key = next(iter(self._searchers))
        with self._locks[key]:
            if (oldest := self._searchers.pop(key, None)) is not None:
                oldest.close()

    def _engine_ranking(self, stage: EngineStage, query: Query, context: BuildContext) -> LiveRanking:
        """The reply of an engine; a client of its own, so that a failure before does not count."""
        client = EngineClient(stage, context)
        try:
            reply = client.ask(query)
        finally:
            client.close()
        if isinstance(reply, EngineError):
            raise UsageError(f"the engine did not answer: {reply.what}", fix="ask again, or check that it runs")
        return _engine_ranking(reply)

    def close(self) -> None:
        """Closes the searchers, the session and the cache, after the searches that are running."""
        with self._idle:
            self._idle.wait_for(lambda: not self._searching, timeout=PATIENCE)
        with ExitStack() as stack:
            stack.callback(self._files.close)
            for searcher in self._searchers.values():
                stack.callback(searcher.close)
        self._searchers.clear()


def _engine_ranking(reply: EngineReply) -> LiveRanking:
    took = f"{reply.seconds * 1000:.0f} ms, asked {reply.asked}" if reply.asked else ""
    scores: Sequence[float | None] = reply.scores if reply.scores is not None else [None] * len(reply.docs)
    return LiveRanking(reply.docs, scores, (*([took] if took else []), *reply.notes), reply.texts)


def patient(stage: Stage) -> Stage:
    """The system with engines that are asked once and not waited for long; this changes no reply."""
    changes: dict[Any, Mapping[str, Any]] = {
        part: {"retries": 0, "timeout": min(part.timeout, PATIENCE)}
        for part in stage_tree(stage)
        if isinstance(part, EngineStage)
    }
    changed: Stage = changed_part(stage, changes) if changes else stage
    return changed


def _known(ranking: Ranking, part: Stage, context: BuildContext) -> Ranking:
    """The ranking of an input, without documents of an engine that are not in the corpus."""
    docs, scores = ranking
    if not context.corpus or not isinstance(part, EXTERNAL):
        return ranking
    rows = [at for at, doc in enumerate(docs) if doc in context.corpus]
    return [docs[at] for at in rows], scores[rows]


def _ignore(label: str, done: int, total: int) -> None:
    """Reports nothing: a typed query has no progress."""
