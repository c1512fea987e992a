"""Writes the results folder that `benchmarks.load_results` loads: `python -m benchmarks.large_results FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from rankproof import evaluate
from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._io.files import is_results_folder
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun
from rankproof._results.folder import save_results

from .load_results import DEPTH, MEASURES, QUERIES, SYSTEMS

DOCUMENTS, SEED = 20_000, 5


def random_results() -> ExperimentResult:
    """Results of three systems with random rankings; each query has one relevant document."""
    random = np.random.default_rng(SEED)
    queries = tuple(f"q{at}" for at in range(QUERIES))
    docs = [f"d{at:07d}" for at in range(DOCUMENTS)]
    runs = {name: _run(name, queries, docs, random) for name in SYSTEMS}
    qrels = Qrels.from_dict({query: {docs[at]: 1} for at, query in enumerate(queries)})
    return ExperimentResult(
        name="large",
        fingerprint="f" * 64,
        queries=queries,
        result=evaluate(qrels, runs, MEASURES),
        system_runs=tuple(_system_run(run, random) for run in runs.values()),
        qrels=qrels,
        texts=Queries([Query(query, f"what is the answer to question {query}?") for query in queries]),
        snippets={doc: f"The text of document {doc} in a few words." for doc in docs},
        experiment='name = "large"\n',
        provenance={"documents": DOCUMENTS},
    )


def _run(name: str, queries: tuple[str, ...], docs: list[str], random: np.random.Generator) -> Run:
    def ranking() -> tuple[list[str], FloatArray]:
        start, step = random.integers(len(docs)), random.integers(1, 97)
        places = (start + step * np.arange(DEPTH)) % len(docs)
        return [docs[at] for at in places.tolist()], np.sort(random.random(DEPTH))[::-1] * 20

    return Run.from_rankings(name, queries, (ranking() for _ in queries))


def _system_run(run: Run, random: np.random.Generator) -> SystemRun:
    return SystemRun(
        name=run.name,
        kind="retrieval",
        stage={"kind": "BM25"},
        stored_run=run,
        times={part: random.random(QUERIES) for part in TIME_COLUMNS},
        index_seconds=1.0,
        index_bytes=1,
        throughput=None,
        builds_on=None,
    )


def main() -> None:
    """Writes the folder."""
    folder = Path(sys.argv[1])
    if not is_results_folder(str(folder)):
        folder.parent.mkdir(parents=True, exist_ok=True)
        save_results(random_results(), folder)


if __name__ == "__main__":
    main()
