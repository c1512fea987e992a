"""An experiment in, a Climb out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..asking.desk import Desk
from ..data.answers import Answers
from ..data.dataset import Dataset
from ..data.identity import identity
from ..data.queries import Queries, Query
from ..formats import read_dataset
from ..stages.base import Ground, Stage
from .answering import answers_result, whole_documents
from .bench import Bench
from .cache import StageCache
from .collapsing import collapse_of
from .costs import together
from .draw import asked_queries, drawn_queries
from .experiment import SAMPLE, Experiment
from .field_rules import refuse_fields
from .keep import JournalKeep, MemoryKeep
from .levels import Levels, levels_of
from .provenance import provenance
from .replies import Books
from .rung import Climb, Rung
from .rungs import kind_of, over_of
from .settings import Settings
from .snippets import snippets_of, urls_of
from .standing import Standing
from .toml.text import toml_of


def climb(experiment: Experiment, settings: Settings | None = None) -> Climb:
    """Climbs every system of the experiment, in order, and evaluates it."""
    settings = settings or Settings()
    start = time.monotonic()
    written = toml_of(experiment)
    dataset = dataset_of(experiment)
    refuse_fields(experiment.systems, dataset.corpus)
    drawn = drawn_queries(dataset, experiment.limit, experiment.seed)
    queries = asked_queries(dataset, drawn)
    collapse = None if experiment.collapse is None else collapse_of(dataset, experiment.collapse, experiment.pool)
    with _bench(dataset, queries, settings) as bench:
        standings = {name: bench.standing(stage, name) for name, stage in experiment.systems.items()}
        levels = levels_of(experiment, dataset, collapse, standings, bench, drawn)
    rungs = _rungs(experiment.systems, standings, levels, collapse.facts() if collapse else {})
    texts = Queries(queries, source=dataset.queries.source)
    snippets = snippets_of(levels.dataset, levels.runs.values())
    answers = answers_result(
        rungs,
        texts,
        levels.dataset.qrels,
        experiment.measures,
        rel=experiment.rel,
        threads=settings.threads,
        document=whole_documents(dataset.corpus, collapse.values if collapse else None),
    )
    return Climb(
        name=experiment.name,
        fingerprint=levels.fingerprint,
        queries=tuple(query.id for query in queries),
        result=levels.result,
        rungs=rungs,
        qrels=levels.dataset.qrels,
        texts=texts,
        snippets=snippets,
        urls=urls_of(levels.dataset, snippets),
        experiment=written,
        provenance=_provenance(experiment, levels, settings, time.monotonic() - start),
        notes=(*levels.notes, *answers.notes),
        rel=experiment.rel,
        chunks=levels.chunks.result,
        answers=answers.result,
        wholes=answers.wholes,
    )


def _provenance(experiment: Experiment, levels: Levels, settings: Settings, seconds: float) -> dict[str, Any]:
    return {
        **provenance(),
        "seconds": seconds,
        "dataset": levels.dataset.name,
        "documents": len(levels.dataset.corpus),
        "seed": experiment.seed,
        "limit": experiment.limit,
        "threads": settings.threads,
        **levels.facts,
    }


def dataset_of(experiment: Experiment) -> Dataset:
    """The dataset, read where it is a path."""
    if isinstance(experiment.dataset, Dataset):
        return experiment.dataset
    if experiment.dataset == SAMPLE:
        from ..samples import sample_folder

        with sample_folder() as folder:
            return read_dataset(folder)
    return read_dataset(experiment.dataset, split=experiment.split)


@contextmanager
def _bench(dataset: Dataset, queries: Sequence[Query], settings: Settings) -> Iterator[Bench]:
    home = settings.home
    desk = Desk(Books(home) if home else None, settings.budget, threads=settings.threads)
    with desk, JournalKeep(home, settings.progress) if home else MemoryKeep(settings.progress) as keep:
        corpus_key = dataset.corpus.fingerprint()
        ground = Ground(dataset.corpus, corpus_key, keep, settings.threads, settings.progress, desk)
        yield Bench(ground, queries, keep, StageCache(home) if home else None)


def _rungs(
    systems: Mapping[str, Stage], standings: Mapping[str, Standing], levels: Levels, facts: Mapping[str, Any]
) -> tuple[Rung, ...]:
    over, runs = over_of(systems, levels.result), levels.runs
    rungs = []
    for name, stage in systems.items():
        own, every = standings[name].outcome, tuple(standings[name].every())
        cost = together(each.outcome.cost for each in every)
        times = _summed([each.outcome.times for each in every])
        rungs.append(
            Rung(
                name=name,
                kind=kind_of(stage),
                stage=identity(stage),
                run=runs[name],
                times={**times, "total": np.sum(list(times.values()), axis=0)},
                index_seconds=cost.seconds,
                index_bytes=cost.bytes,
                throughput=own.throughput,
                over=over[name],
                facts={**own.facts, **facts},
                notes=own.notes,
                computed=own.computed,
                from_cache=own.from_cache,
                counts=_summed([each.outcome.counts for each in every]),
                money=sum(each.money() for each in every),
                answers=None if own.answers is None else Answers(dict(zip(runs[name].queries, own.answers, strict=True))),
            )
        )
    return tuple(rungs)


def _summed(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """By name, the arrays of all added."""
    return {name: np.sum([part[name] for part in parts], axis=0) for name in parts[-1]}
