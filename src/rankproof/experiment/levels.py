"""The levels that rankings are judged at: documents, or what a field names, and below them the chunks, from one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..data.dataset import Dataset
from ..data.run import Run
from ..evaluation import Options, Result, evaluate_runs
from .answering import ranking_measures
from .bench import Bench
from .chunk_level import ChunkLevel, chunk_level, chunk_ranks
from .climb_notes import dataset_notes, depth_notes
from .collapsing import Collapse
from .experiment import Experiment
from .pool_notes import pool_notes
from .standing import Standing


@dataclass(frozen=True, eq=False, slots=True)
class Levels:
    """Every system's ranking and values at the level of the judgements, and at that of chunks where it ranks any.

    `dataset` is what the rankings are judged by: documents and judgements of the same ids as theirs.
    """

    dataset: Dataset
    fingerprint: str
    runs: Mapping[str, Run]
    result: Result
    chunks: ChunkLevel
    facts: Mapping[str, Any]
    notes: tuple[str, ...]


def levels_of(
    experiment: Experiment,
    dataset: Dataset,
    collapse: Collapse | None,
    standings: Mapping[str, Standing],
    bench: Bench,
    drawn: Sequence[str],
) -> Levels:
    """The systems' outcomes, collapsed where the experiment says so, and evaluated."""
    ids = [query.id for query in bench.queries]
    options = Options(rel=experiment.rel, queries=drawn if len(drawn) < len(dataset.qrels) else None)
    runs = {name: Run.of_rankings(name, ids, standing.outcome.rankings) for name, standing in standings.items()}
    judged = collapse.judged(runs.values()) if collapse else dataset
    if collapse:
        runs = {name: _collapsed(collapse, name, ids, standing) for name, standing in standings.items()}
    counted = {name: run.among(judged.qrels) for name, run in runs.items()}
    result = evaluate_runs(judged.qrels, counted, ranking_measures(experiment.measures), options)
    ranks = chunk_ranks(standings, bench, collapse)
    chunks = chunk_level(ranks, dataset, [one.measure for one in result.systems[0].measures.values()], ids, options)
    return Levels(
        dataset=judged,
        fingerprint=collapse.fingerprint() if collapse else dataset.fingerprint(),
        runs=runs,
        result=result,
        chunks=chunks,
        facts={**(collapse.facts() if collapse else {}), **chunks.facts},
        notes=(
            *dataset_notes(judged, drawn),
            *depth_notes(experiment.systems, runs, result, len(judged.corpus)),
            *(collapse.notes() if collapse else ()),
            *pool_notes(ranks, runs, result, len(judged.corpus)),
            *chunks.notes,
        ),
    )


def _collapsed(collapse: Collapse, name: str, ids: Sequence[str], standing: Standing) -> Run:
    return Run.of_rankings(name, ids, map(collapse.ranking, standing.outcome.rankings))
