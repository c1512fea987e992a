"""Small experiment results, for saving, loading and rendering."""

from collections.abc import Mapping, Sequence

import numpy as np

from rankproof import evaluate
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun

MEASURES = ["nDCG@10", "RR@10", "R@100", "NumRet"]


def small_results(
    names: Sequence[str] = ("bm25", "dense", "hybrid", "late"),
    queries: Sequence[str] = ("q1", "q2", "q3"),
    docs: Sequence[str] = ("d1", "d2", "d3", "d4"),
    *,
    measures: Sequence[str] = MEASURES,
    scores: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
    highest: int = 2,
) -> ExperimentResult:
    """A system for each name, the last one a reranker; the first document is relevant to every query, with the highest grade."""
    qrels = Qrels.from_dict({query: {docs[0]: highest, docs[-1]: 0} for query in queries})
    runs = {name: _run(name, at, queries, docs, (scores or {}).get(name)) for at, name in enumerate(names)}
    system_runs = tuple(_system_run(name, at, names, runs[name], len(queries)) for at, name in enumerate(names))
    return ExperimentResult(
        name="small",
        fingerprint="f" * 64,
        queries=tuple(queries),
        result=evaluate(qrels, runs, list(measures)),
        system_runs=system_runs,
        qrels=qrels,
        texts=Queries([Query(query, f"what is {at}?", fields={"category": "x"}) for at, query in enumerate(queries)]),
        snippets={doc: f"the text of {at} · \u202e" for at, doc in enumerate(docs)},
        experiment='name = "small"\nrel = 2\n[systems.bm25]\nstage = "bm25"\n',
        provenance={"rankproof": "0", "documents": len(docs), "dataset": "tiny", "seconds": 1 / 3},
        notes=("a note",),
        rel=2,
    )


def _run(
    name: str, at: int, queries: Sequence[str], docs: Sequence[str], scores: Mapping[str, Mapping[str, float]] | None
) -> Run:
    shift = [docs[(place + at) % len(docs)] for place in range(len(docs))]
    made = {query: {doc: 1 / (3 + place) for place, doc in enumerate(shift)} for query in queries}
    return Run.from_dict(made if scores is None else scores, name=name)


def _system_run(name: str, at: int, names: Sequence[str], run: Run, count: int) -> SystemRun:
    rising = {
        part: np.linspace(0.1, 1 / 7 + at + place, count) for place, part in enumerate(("embed", "search", "rerank", "total"))
    }
    times = {part: rising.get(part, np.zeros(count)) for part in TIME_COLUMNS}
    return SystemRun(
        name=name,
        kind="rerank" if at == len(names) - 1 and at else "retrieval",
        stage={"kind": "BM25", "k1": 1.5},
        stored_run=run,
        times=times,
        index_seconds=at / 3,
        index_bytes=at * 1000,
        throughput=None if at else 1e3 / 7,
        builds_on=names[at - 1] if at else None,
        facts={"library": "bm25s 0", "settings": [1, {"k": None}]},
        notes=("it was slow",) if at else (),
        computed="2026-01-02T03:04:05+00:00",
        from_cache=bool(at % 2),
    )
