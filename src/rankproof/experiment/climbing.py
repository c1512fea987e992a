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
from ..data.run import Run
from ..evaluation import Options, Result, evaluate_runs
from ..formats import read_dataset
from ..stages.base import Ground, Stage
from .bench import Bench
from .cache import StageCache
from .climb_notes import dataset_notes, depth_notes
from .costs import together
from .draw import asked_queries, drawn_queries
from .experiment import SAMPLE, Experiment
from .field_rules import refuse_fields
from .keep import JournalKeep, MemoryKeep
from .provenance import provenance
from .replies import Books
from .rung import Climb, Rung
from .rungs import kind_of, over_of
from .settings import Settings
from .snippets import snippets_of
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
    with _bench(dataset, queries, settings) as bench:
        standings = {name: bench.standing(stage, name) for name, stage in experiment.systems.items()}
    ids = tuple(query.id for query in queries)
    runs = {name: Run.of_rankings(name, ids, standing.outcome.rankings) for name, standing in standings.items()}
    options = Options(rel=experiment.rel, queries=drawn if len(drawn) < len(dataset.qrels) else None)
    result = evaluate_runs(dataset.qrels, runs, experiment.measures, options)
    notes = (*dataset_notes(dataset, drawn), *depth_notes(experiment.systems, runs, result, len(dataset.corpus)))
    rungs = _rungs(experiment.systems, standings, result, runs)
    return Climb(
        name=experiment.name,
        fingerprint=dataset.fingerprint(),
        queries=ids,
        result=result,
        rungs=rungs,
        qrels=dataset.qrels,
        texts=Queries(queries, source=dataset.queries.source),
        snippets=snippets_of(dataset, runs.values()),
        experiment=written,
        provenance={
            **provenance(),
            "seconds": time.monotonic() - start,
            "dataset": dataset.name,
            "documents": len(dataset.corpus),
            "seed": experiment.seed,
            "limit": experiment.limit,
            "threads": settings.threads,
        },
        notes=notes,
        rel=experiment.rel,
    )


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
    systems: Mapping[str, Stage], standings: Mapping[str, Standing], result: Result, runs: Mapping[str, Run]
) -> tuple[Rung, ...]:
    over = over_of(systems, result)
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
                facts=own.facts,
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
