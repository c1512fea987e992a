"""An experiment in, a Climb out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..asking.desk import Desk
from ..data.dataset import Dataset
from ..data.queries import Queries, Query
from ..formats import read_dataset
from ..stages.base import Ground
from .answering import Measured, answers_result, whole_documents
from .assembling import rungs_of
from .bench import Bench
from .cache import StageCache
from .collapsing import collapse_of
from .draw import draw_of
from .experiment import SAMPLE, Experiment
from .field_rules import refuse_fields
from .keep import JournalKeep, MemoryKeep
from .levels import Levels, levels_of
from .priced import refuse_unpriced_systems
from .provenance import provenance
from .replies import Books
from .rung import Climb, Rung
from .settings import Settings
from .snippets import snippets_of, titles_of, urls_of
from .toml.text import toml_of


def climb(experiment: Experiment, settings: Settings | None = None) -> Climb:
    """Climbs every system of the experiment, in order, and evaluates it."""
    settings = settings or Settings()
    start = time.monotonic()
    written = toml_of(experiment)
    dataset = dataset_of(experiment)
    refuse_fields(experiment.systems, dataset.corpus)
    refuse_unpriced_systems(experiment.systems, settings.budget)
    drawn = draw_of(experiment, dataset)
    queries = drawn.queries(dataset)
    collapse = None if experiment.collapse is None else collapse_of(dataset, experiment.collapse, experiment.pool)
    with _bench(dataset, queries, settings) as bench:
        standings = {name: bench.standing(stage, name) for name, stage in experiment.systems.items()}
        levels = levels_of(experiment, dataset, collapse, standings, bench, drawn.judged)
        refusals = bench.ground.desk.notes()
    rungs = rungs_of(experiment.systems, standings, levels, collapse.facts() if collapse else {})
    texts = Queries(queries, source=dataset.queries.source)
    snippets = snippets_of(levels.dataset, levels.runs.values())
    document = whole_documents(dataset.corpus, collapse.values if collapse else None)
    answers = _answers(experiment, rungs, texts, levels, settings.threads, document)
    return Climb(
        name=experiment.name,
        fingerprint=levels.fingerprint,
        queries=tuple(query.id for query in queries),
        result=levels.result,
        rungs=rungs,
        qrels=levels.dataset.qrels,
        texts=texts,
        snippets=snippets,
        titles=titles_of(levels.dataset, snippets),
        urls=urls_of(levels.dataset, snippets),
        experiment=written,
        provenance=_provenance(experiment, levels, settings, time.monotonic() - start),
        notes=(*drawn.notes(), *levels.notes, *answers.notes, *refusals),
        rel=experiment.rel,
        chunks=levels.chunks.result,
        answers=answers.result,
        wholes=answers.wholes,
    )


def _answers(
    experiment: Experiment, rungs: Sequence[Rung], texts: Queries, levels: Levels, threads: int, document: Callable[[str], str]
) -> Measured:
    qrels, measures = levels.dataset.qrels, experiment.measures
    return answers_result(rungs, texts, qrels, measures, rel=experiment.rel, threads=threads, document=document)


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
