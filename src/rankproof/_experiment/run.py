"""Runs an experiment: every system on every query, evaluated and put together as an ExperimentResult."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rankproof._data.answers import Answers
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.identity import identity, kind_name
from rankproof._data.replies import ReusedReplies
from rankproof._data.validation import BUDGET, CACHE, check_options
from rankproof._executors.base import Executor, Progress, SerialExecutor
from rankproof._executors.ray_cluster import ray_address
from rankproof._experiment.answers import (
    MeasuredAnswers,
    check_judges,
    document_resolver,
    evaluate_answering_systems,
    passage_contexts,
)
from rankproof._experiment.cache import DiskBlockCache, MemoryBlockCache, StageCache
from rankproof._experiment.checks import (
    check_documents,
    check_fields_exist,
    check_run_files,
    check_systems_have_prices,
    used_devices,
)
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.experiment import Experiment, stage_tree, system_kind, systems_built_on
from rankproof._experiment.judgements import collapse_corpus, load_dataset, load_judged_dataset
from rankproof._experiment.levels import Levels, evaluate_levels
from rankproof._experiment.options import (
    ASK_AGAIN,
    CACHE_LIMIT,
    LATENCY_QUERIES,
    ON,
    PARTITION_SIZE,
    REPEATS,
    STRICT,
    THREADS,
)
from rankproof._experiment.queries import latency_sample, select_queries
from rankproof._experiment.repeats import RepeatedRuns, repeat_notes, repeated_stage_runs, with_other_rankings, with_repeats
from rankproof._experiment.runner import StageRun, StageRunner
from rankproof._io.cache_items import CacheUse, checked_size
from rankproof._io.corpus_store import CorpusStorage
from rankproof._io.open import path_text
from rankproof._io.paths import cache_home
from rankproof._llm.budget import Budget
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.session import LLMSession
from rankproof._registry import Option
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._results.judgements import JUDGEMENTS_KEY
from rankproof._results.provenance import provenance
from rankproof._results.saved_cases import SavedCase, case_dataset, cases_of, read_cases
from rankproof._results.snippets import build_snippets, document_fields, document_urls, title_lengths
from rankproof.errors import UsageError, for_message, type_phrase
from rankproof.stages._base import BuildContext, Cost, EngineOptions, Stage
from rankproof.stages._run_file import RunFile


def total_cost(costs: Iterable[Cost]) -> Cost:
    """The sum of the costs, with shared parts counted once."""
    seconds, size = 0.0, 0
    shared: dict[str, tuple[float, int]] = {}
    for cost in costs:
        seconds += cost.seconds - sum(part[0] for part in cost.shared.values())
        size += cost.bytes - sum(part[1] for part in cost.shared.values())
        for key, part in cost.shared.items():
            known = shared.get(key, (0.0, 0))
            shared[key] = max(known[0], part[0]), max(known[1], part[1])
    return Cost(seconds + sum(part[0] for part in shared.values()), size + sum(part[1] for part in shared.values()), shared)


def _input_recall(inputs: Sequence[StageRun]) -> dict[str, float]:
    """The least recall of an approximate store among the inputs."""
    recalls = [run.output.facts.get("recall_of_exact") for run in inputs]
    return {"input_recall": least} if (least := min((r for r in recalls if r is not None), default=None)) is not None else {}


def build_system_runs(
    systems: Mapping[str, Stage], stage_runs: Mapping[str, StageRun], levels: Levels, facts: Mapping[str, Any]
) -> tuple[SystemRun, ...]:
    """The SystemRun of each system, in their order."""
    builds_on, runs = systems_built_on(systems, levels.result), levels.runs
    shown = {id(stage_run) for stage_run in stage_runs.values()}
    system_runs = []
    for name, stage in systems.items():
        own, every = stage_runs[name].output, tuple(stage_runs[name].all_runs())
        cost = total_cost(part.output.cost for part in every)
        timed = all(part.output.times for part in every)
        times = _sum_by_name([part.output.times for part in every]) if timed else {}
        system_runs.append(
            SystemRun(
                name=name,
                kind=system_kind(stage),
                stage=identity(stage),
                stored_run=runs[name],
                times={**times, "total": np.sum(list(times.values()), axis=0)} if timed else {},
                index_seconds=cost.seconds if timed else None,
                index_bytes=cost.bytes if timed else None,
                throughput=own.throughput if timed else None,
                builds_on=builds_on[name],
                facts={**own.facts, **_input_recall(every[:-1]), **facts},
                notes=(*own.notes, *dict.fromkeys(_input_notes(stage_runs[name], shown))),
                reused=_reused(name, stage_runs[name], shown),
                computed=own.computed,
                from_cache=own.from_cache,
                counts=_sum_by_name([part.output.counts for part in every]),
                money=sum(part.money() for part in every),
                answers=None
                if own.answers is None
                else Answers(dict(zip(runs[name].queries, own.answers, strict=True)), repeats=own.repeats),
                replies=None if own.replies is None else dict(zip(runs[name].queries, own.replies, strict=True)),
            )
        )
    return tuple(system_runs)


def _reused(name: str, stage_run: StageRun, shown: Collection[int]) -> ReusedReplies | None:
    """The recorded replies of the system and of its inputs that are no system of their own."""
    every = [run for run in stage_run.all_runs() if run is stage_run or id(run) not in shown]
    reused = [part.output.reused for part in every if part.output.reused]
    if not reused:
        return None
    of = sum(len(part.output.replies or ()) for part in every)
    first, last = min(part.first for part in reused), max(part.last for part in reused)
    return ReusedReplies(name, sum(part.queries for part in reused), of, first, last)


def _input_notes(stage_run: StageRun, shown: Collection[int]) -> Iterator[str]:
    """The notes of inputs that are no system of their own."""
    for run in stage_run.all_runs():
        if run is not stage_run and id(run) not in shown:
            yield from (f"{kind_name(type(run.stage))}: {note}" for note in run.output.notes)


def _sum_by_name(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The arrays of each name, added."""
    return {name: np.sum([part[name] for part in parts], axis=0) for name in parts[-1]}


"""The number of queries that latency is measured on, unless said otherwise."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run. Without a `cache` nothing is kept on disk; `threads` is for building indexes and batches."""

    cache: Annotated[str | os.PathLike[str] | None, CACHE] = field(default_factory=cache_home)
    threads: Annotated[int, THREADS] = 1
    progress: Annotated[Progress, Option("a function of label, done and total")] = field(default=lambda label, done, total: None)
    budget: Annotated[Budget, BUDGET] = field(default_factory=Budget)
    ask_again: Annotated[bool, ASK_AGAIN] = False
    strict: Annotated[bool, STRICT] = False
    on: Annotated[str | None, ON] = None
    cache_limit: Annotated[int | str | None, CACHE_LIMIT] = None
    latency_queries: Annotated[int, LATENCY_QUERIES] = LATENCY_QUERIES.default
    partition_size: Annotated[int, PARTITION_SIZE] = PARTITION_SIZE.default
    repeats: Annotated[int, REPEATS] = 1

    def __post_init__(self) -> None:
        check_options(self)
        if self.cache_limit is not None:
            checked_size("cache_limit", self.cache_limit)
        if self.cache is not None:
            object.__setattr__(self, "cache", Path(path_text(self.cache)).expanduser().absolute())
        if not callable(self.progress):
            raise UsageError(f"progress is {type_phrase(self.progress)}", fix="give a function of label, done and total")
        if self.on is not None:
            ray_address(self.on)

    @property
    def home(self) -> Path | None:
        """The cache folder as an absolute path, None for no cache on disk."""
        return None if self.cache is None else Path(self.cache)


def run_experiment(experiment: Experiment, options: RunOptions | None = None) -> ExperimentResult:
    """Runs and evaluates every system of the experiment, in order."""
    _check_is_experiment(experiment)
    options = options or RunOptions()
    limit = None if options.cache_limit is None else checked_size("cache_limit", options.cache_limit)
    with CacheUse(options.home, limit) as cache_use:
        with _executor(options) as executor:
            result = _run_with(executor, experiment, options)
        return replace(result, notes=(*result.notes, *cache_use.trim()))


def _run_with(executor: Executor, experiment: Experiment, options: RunOptions) -> ExperimentResult:
    start = time.monotonic()
    toml = experiment_toml(experiment)
    check_judges(experiment.measures)
    ranked = _rank(executor, experiment, options)
    dataset, levels = ranked.dataset, ranked.levels
    system_runs = build_system_runs(experiment.systems, ranked.stage_runs, levels, ranked.collapse_facts)
    system_runs = tuple(with_repeats(run, ranked.repeated, levels.runs) for run in system_runs)
    texts = Queries(ranked.queries, source=dataset.queries.source)
    replies = _texts_in_replies(ranked.stage_runs.values())
    snippets = build_snippets(levels.dataset, levels.runs.values(), replies)
    contexts, context_notes = passage_contexts(experiment.systems, system_runs, dataset.corpus, replies)
    answers = _evaluate_answers(experiment, system_runs, texts, levels, options.threads, ranked.document, contexts)
    return ExperimentResult(
        name=experiment.name,
        fingerprint=levels.fingerprint,
        queries=tuple(query.id for query in ranked.queries),
        result=levels.result,
        system_runs=system_runs,
        qrels=levels.dataset.qrels,
        texts=texts,
        snippets=snippets,
        titles=title_lengths(levels.dataset, snippets),
        urls=document_urls(levels.dataset, snippets),
        document_fields=document_fields(levels.dataset, snippets),
        experiment=toml,
        provenance=_provenance(experiment, ranked, options, time.monotonic() - start),
        notes=(*ranked.input_notes, *levels.notes, *answers.notes, *context_notes, *ranked.run_notes),
        rel=experiment.rel,
        judged_only=experiment.judged_only,
        decision_settings=experiment.decision_settings,
        chunks=levels.chunks.result,
        answers=answers.result,
        judged_documents=answers.judged_documents,
        contexts=contexts,
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Ranked:
    """The rankings of all systems, evaluated, with the facts and notes of the dataset, the queries and the run.

    `document` gives the document of each document of the corpus after collapsing; `repeated` are the runs after the first.
    """

    dataset: Dataset
    queries: Sequence[Query]
    stage_runs: Mapping[str, StageRun]
    repeated: RepeatedRuns
    levels: Levels
    document: Callable[[str], str]
    judges: Mapping[str, Any]
    collapse_facts: Mapping[str, Any]
    device_facts: Mapping[str, Any]
    input_notes: tuple[str, ...]
    run_notes: tuple[str, ...]


def _rank(executor: Executor, experiment: Experiment, options: RunOptions) -> _Ranked:
    """Every system on every query, evaluated."""
    loaded = load_judged_dataset(experiment, CorpusStorage(options.home, options.partition_size, progress=options.progress))
    dataset = loaded.dataset
    _check_systems(experiment.systems, dataset, options.budget)
    devices = used_devices(experiment.systems)
    selection = select_queries(experiment, dataset, loaded.own)
    queries = selection.queries(dataset)
    check_run_files(experiment.systems, dataset.corpus, queries)
    collapse = None if experiment.collapse is None else collapse_corpus(dataset, experiment.collapse, experiment.pool)
    timed = latency_sample(len(queries), options.latency_queries, experiment.seed)
    with _open_runner(dataset, queries, timed, options, executor) as runner:
        runner.ask_engines(experiment.systems)
        stage_runs = {name: runner.stage_run(stage, name) for name, stage in experiment.systems.items()}
        repeated = repeated_stage_runs(runner, experiment.systems, options.repeats)
        ranked = {**stage_runs, **with_other_rankings(repeated, stage_runs)}
        levels = evaluate_levels(experiment, dataset, loaded.own, collapse, ranked, runner, selection.judged)
        session_notes = runner.context.session.notes()
    return _Ranked(
        dataset=dataset,
        queries=queries,
        stage_runs=stage_runs,
        repeated=repeated,
        levels=levels,
        document=document_resolver(dataset.corpus, collapse.values if collapse else None),
        judges=loaded.facts,
        collapse_facts=collapse.facts() if collapse else {},
        device_facts=devices.facts(),
        input_notes=(*dataset.notes, *loaded.notes, *selection.notes()),
        run_notes=(*session_notes, *repeat_notes(experiment.systems, options.repeats), *devices.notes),
    )


def _check_systems(systems: Mapping[str, Stage], dataset: Dataset, budget: Budget) -> None:
    """Refuses systems that the dataset or the budget does not allow, before any work is done."""
    check_documents(systems, dataset)
    check_fields_exist(systems, dataset.corpus)
    check_systems_have_prices(systems, budget)
    for stage in systems.values():
        # Weights that are missing are an error here, not after the systems before have run.
        identity(stage)


def _texts_in_replies(stage_runs: Iterable[StageRun]) -> dict[str, str]:
    """The texts of documents in the replies of search engines."""
    return {doc: text for run in stage_runs for stage_run in run.all_runs() for doc, text in stage_run.output.texts.items()}


def _evaluate_answers(
    experiment: Experiment,
    system_runs: Sequence[SystemRun],
    texts: Queries,
    levels: Levels,
    threads: int,
    document: Callable[[str], str],
    contexts: Mapping[str, str],
) -> MeasuredAnswers:
    return evaluate_answering_systems(
        system_runs,
        texts,
        levels.dataset.qrels,
        experiment.measures,
        rel=experiment.rel,
        threads=threads,
        document=document,
        contexts=contexts,
    )


def _provenance(experiment: Experiment, ranked: _Ranked, options: RunOptions, seconds: float) -> dict[str, Any]:
    levels = ranked.levels
    return {
        **provenance(),
        "seconds": seconds,
        "dataset": levels.dataset.name,
        "documents": len(levels.dataset.corpus),
        "seed": experiment.seed,
        "limit": experiment.limit,
        "threads": options.threads,
        "latency_queries": options.latency_queries,
        **({} if options.repeats == 1 else {"repeats": options.repeats}),
        **({} if options.on is None else {"on": options.on}),
        **levels.facts,
        **({JUDGEMENTS_KEY: dict(ranked.judges)} if ranked.judges else {}),
        **ranked.device_facts,
    }


def _check_is_experiment(value: object) -> None:
    if not isinstance(value, Experiment):
        fix = "pass an Experiment; rankproof.read_experiment(path) reads one from a TOML file"
        raise UsageError(f"the experiment cannot be {type_phrase(value)}", fix=fix)


@contextmanager
def _open_runner(
    dataset: Dataset, queries: Sequence[Query], timed: Sequence[int], options: RunOptions, executor: Executor
) -> Iterator[StageRunner]:
    home = options.home
    session = LLMSession(ResponseCaches(home) if home else None, options.budget, threads=options.threads)
    block_cache = DiskBlockCache(home, options.progress) if home else MemoryBlockCache(options.progress)
    with session, block_cache:
        context = BuildContext(
            dataset.corpus,
            dataset.corpus.fingerprint(),
            block_cache,
            options.threads,
            options.progress,
            session,
            EngineOptions(options.ask_again, options.strict),
            executor,
        )
        yield StageRunner(context, queries, timed, block_cache, StageCache(home) if home else None)


def _executor(options: RunOptions) -> Executor:
    """The cluster, or processes for several threads; these start when a stage works on several partitions."""
    if options.on is not None:
        from rankproof._executors.ray import RayExecutor

        options.progress("starting Ray" if options.on == "ray" else f"connecting to {options.on}", 0, 1)
        return RayExecutor(options.on, options.home or Path(tempfile.gettempdir()))
    if options.threads == 1:
        return SerialExecutor()
    from rankproof._executors.processes import ProcessExecutor

    return ProcessExecutor(options.threads)


def run_cases(experiment: Experiment, path: str, options: RunOptions) -> ExperimentResult | None:
    """The systems on the test cases of the dataset; None without such a case, or if all systems read run files."""
    systems = _searching_systems(experiment.systems)
    dataset = load_dataset(experiment, CorpusStorage(options.home, options.partition_size, progress=options.progress))
    cases = cases_of(read_cases(path), dataset.name)
    if not cases or not systems:
        return None
    _check_ids(cases, dataset.queries, path)
    return run_experiment(
        Experiment(
            systems,
            case_dataset(dataset, cases),
            name=f"{experiment.name} (test cases)",
            measures=list(dict.fromkeys(case.measure for case in cases)),
            rel=experiment.rel,
            seed=experiment.seed,
        ),
        replace(options, repeats=1, latency_queries=min(options.latency_queries, len(cases))),
    )


def _searching_systems(systems: Mapping[str, Stage]) -> dict[str, Stage]:
    """The systems that can search a new query: none of their inputs is a run file."""
    return {name: stage for name, stage in systems.items() if not any(isinstance(part, RunFile) for part in stage_tree(stage))}


def _check_ids(cases: Sequence[SavedCase], queries: Mapping[str, object], path: str) -> None:
    clash = next((case for case in cases if case.id in queries), None)
    if clash is not None:
        what = f"{for_message(path)}: the test case {for_message(clash.id)} has the id of a query of the dataset"
        raise UsageError(what, fix="change its id")
