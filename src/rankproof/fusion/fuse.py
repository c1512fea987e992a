"""Fusion of runs: RRF (Cormack et al. 2009), CombSUM and CombMNZ (Fox and Shaw 1994), and weighted sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from ..data.arrays import FloatArray, frozen
from ..data.run import Run
from ..errors import InputError, UsageError, shown
from .norms import min_max, unchanged, z_score
from .ranking import Ranking, ranked, rankings

Method = Literal["rrf", "combsum", "combmnz", "weighted"]
Norm = Literal["min-max", "z-score", "none"]
METHODS: tuple[Method, ...] = get_args(Method)
NORMS: dict[Norm, Callable[[FloatArray], FloatArray]] = {"min-max": min_max, "z-score": z_score, "none": unchanged}


def fuse(
    runs: Sequence[Run],
    method: Method = "rrf",
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    norm: Norm = "min-max",
    depth: int | None = None,
    name: str | None = None,
) -> Run:
    """One run of several, each query's documents by the sum of what the runs give them.

    `rrf` gives weight / (k + rank); `combsum` and `weighted` give weight x normalised score, `combmnz` the same sum times the
    number of runs that have the document. A document that a run lacks gets nothing from it, and a query that a run lacks is
    fused from the others. `depth` keeps so many documents of each fused ranking. Parts are added in the order of the runs.
    """
    each = _weights(runs, method, weights)
    _refuse_bad_numbers(method, norm, k, depth)
    found = [rankings(run) for run in runs]
    queries = list(dict.fromkeys(query for one in found for query in one))
    parts = _parts(method, k, norm)
    fused = [
        _fused([(one.get(query), weight) for one, weight in zip(found, each, strict=True)], parts, method) for query in queries
    ]
    return _as_run(queries, [(docs[:depth], scores[:depth]) for docs, scores in fused], name or method)


def partial_queries(runs: Sequence[Run]) -> tuple[str, ...]:
    """The queries that some of the runs have and others lack."""
    held = [set(run.queries) for run in runs]
    everywhere = set.intersection(*held) if held else set()
    return tuple(query for query in dict.fromkeys(query for run in runs for query in run.queries) if query not in everywhere)


def _parts(method: Method, k: float, norm: Norm) -> Callable[[FloatArray], FloatArray]:
    if method == "rrf":
        return lambda scores: 1.0 / (k + np.arange(1, len(scores) + 1, dtype=np.float64))
    return NORMS[norm]


def _fused(given: list[tuple[Ranking | None, float]], parts: Callable[[FloatArray], FloatArray], method: Method) -> Ranking:
    totals: dict[str, float] = {}
    times: dict[str, int] = {}
    for ranking, weight in given:
        if ranking is None or not ranking[0]:
            continue
        docs, scores = ranking
        for doc, part in zip(docs, (weight * parts(scores)).tolist(), strict=True):
            totals[doc] = totals.get(doc, 0.0) + part
        if method == "combmnz":
            for doc in docs:
                times[doc] = times.get(doc, 0) + 1
    values = np.array([total * times.get(doc, 1) for doc, total in totals.items()], dtype=np.float64)
    return ranked(list(totals), values)


def _weights(runs: Sequence[Run], method: Method, weights: Sequence[float] | None) -> list[float]:
    if not runs:
        raise UsageError("there is no run to fuse", fix="name at least one, better two")
    if method not in METHODS:
        raise UsageError(f"no fusion is called {shown(str(method))}", fix=f"choose one of {', '.join(METHODS)}")
    if weights is None:
        if method == "weighted":
            raise UsageError("weighted fusion has no weights", fix=f"give {len(runs)}, one for each run")
        return [1.0] * len(runs)
    if len(weights) != len(runs):
        raise UsageError(f"{len(weights)} weights for {len(runs)} runs", fix="give one weight for each run")
    if not all(np.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise UsageError("weights must be finite, at least 0, and not all 0", fix="mend the weights")
    return [float(weight) for weight in weights]


def _refuse_bad_numbers(method: Method, norm: Norm, k: float, depth: int | None) -> None:
    if norm not in NORMS:
        raise UsageError(f"no normalisation is called {shown(str(norm))}", fix=f"choose one of {', '.join(NORMS)}")
    if method == "rrf" and not (np.isfinite(k) and k >= 0):
        raise UsageError(f"k is {k}", fix="choose a finite number of at least 0; 60 is usual")
    if depth is not None and depth < 1:
        raise UsageError(f"depth is {depth}", fix="keep at least 1 document a query")


def _as_run(queries: list[str], fused: list[Ranking], name: str) -> Run:
    scores = np.concatenate([scores for _, scores in fused]) if fused else np.zeros(0)
    if not np.isfinite(scores).all():
        raise InputError("a fused score is outside the range of a 64-bit float", fix="normalise with min-max or z-score")
    lengths = [len(docs) for docs, _ in fused]
    return Run(
        name=name,
        queries=tuple(queries),
        offsets=frozen(np.cumsum([0, *lengths], dtype=np.int64)),
        docs=tuple(doc for docs, _ in fused for doc in docs),
        scores=frozen(scores),
        ranks=frozen(np.concatenate([np.arange(1, length + 1) for length in lengths]).astype(np.int64)) if fused else None,
        source=name,
    )
