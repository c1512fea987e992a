"""Fusion of runs: RRF (Cormack et al. 2009), CombSUM and CombMNZ (Fox and Shaw 1994)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..data.arrays import FloatArray, frozen
from ..data.reading import Order, Reading
from ..data.run import Run
from ..errors import InputError
from .ranking import Ranking, ranked, rankings
from .settings import NORMS, Method, Norm, checked_weights, refuse_choices, refuse_numbers, refuse_what_is_no_run


def fuse(
    runs: Sequence[Run],
    method: Method = "rrf",
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    norm: Norm = "min-max",
    depth: int | None = None,
    order: Order = "score",
    lower_is_better: bool = False,
    name: str | None = None,
) -> Run:
    """One run of several, each query's documents by the sum of what the runs give them.

    `rrf` gives weight / (k + rank); `combsum` gives weight x normalised score, `combmnz` the same sum times the number of runs
    that have the document. Scores that are distances (`lower_is_better`) are negated first; an order by rank is for `rrf` alone.
    A document that a run lacks gets nothing from it, and a query that a run lacks is fused from the others. `depth` keeps so many
    documents of each fused ranking. Parts are added in the order of the runs.
    """
    refuse_what_is_no_run(runs)
    refuse_choices(method, norm, order, lower_is_better=lower_is_better)
    refuse_numbers(method, k, depth)
    each = checked_weights(runs, weights)
    reading = Reading(order=order, lower_is_better=lower_is_better)
    found = [rankings(run, reading) for run in runs]
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
