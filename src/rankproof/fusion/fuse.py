"""Fusion of runs, query by query."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.order import settled
from ..data.reading import Order, Reading
from ..data.run import Run
from .recipe import Recipe
from .settings import Method, Norm, checked_weights, refuse_choices, refuse_numbers, refuse_what_is_no_run
from .slices import NOTHING, slices


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
    recipe = Recipe(method, float(k), norm, tuple(checked_weights(runs, weights)))
    reading = Reading(order=order, lower_is_better=lower_is_better)
    found = [slices(run, reading) for run in runs]
    queries = list(dict.fromkeys(query for one in found for query in one))
    try:
        merged = (recipe.merged([one.get(query, NOTHING) for one in found]) for query in queries)
        return Run.of_rankings(name or method, queries, ((docs[:depth], scores[:depth]) for docs, scores in merged))
    except KeyError:
        for run in runs:
            settled(run, Reading())
        raise


def partial_queries(runs: Sequence[Run]) -> tuple[str, ...]:
    """The queries that some of the runs have and others lack."""
    held = [set(run.queries) for run in runs]
    everywhere = set.intersection(*held) if held else set()
    return tuple(query for query in dict.fromkeys(query for run in runs for query in run.queries) if query not in everywhere)
