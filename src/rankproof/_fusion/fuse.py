"""Fusion of runs, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.ordering import Order, Ranking, ReadOptions, rank_documents, resolve_duplicates
from rankproof._data.row_errors import row_error
from rankproof._data.run import NO_RANK, Run
from rankproof._data.validation import checked_integer
from rankproof._fusion.checks import check_choices, check_k, check_runs, checked_weights
from rankproof._fusion.merge import Given, merge
from rankproof._fusion.method import METHODS, FusionMethod, FusionSettings
from rankproof.errors import InputError

_EMPTY: Given = ((), 0, np.zeros(0))


@dataclass(frozen=True, slots=True)
class Fuser:
    """A method with checked settings; `weights` has one number for each ranking."""

    method: FusionMethod
    settings: FusionSettings
    weights: tuple[float, ...]

    def fuse(self, rankings: Sequence[Ranking]) -> Ranking:
        """One ranking of several that are each best first; an empty one adds nothing."""
        return self.merged([(docs, 0, scores) for docs, scores in rankings])

    def merged(self, found: Sequence[Given]) -> Ranking:
        """The same of documents, where a ranking starts among them, and its scores, best first."""
        # An overflow is reported below, as an error.
        with np.errstate(over="ignore"):
            given = [
                (docs, start, weight * self.points(scores))
                for (docs, start, scores), weight in zip(found, self.weights, strict=True)
                if len(scores)
            ]
        docs, scores = merge(given, times_found=self.method.times_found)
        if len(scores) and not np.isfinite(scores).all():
            raise InputError(
                "a fused score is outside the range of a 64-bit float",
                fix="lower the weights, or normalise with min-max or z-score",
            )
        return docs, scores

    def points(self, scores: FloatArray) -> FloatArray:
        """What each document of a ranking, best first, gets from it before its weight."""
        return self.method.points(scores, self.settings)


def fuse(
    runs: Sequence[Run],
    method: str = "rrf",
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    norm: str = "min-max",
    depth: int | None = None,
    order: Order = "score",
    lower_is_better: bool = False,
    name: str | None = None,
) -> Run:
    """One run of several, each query's documents by the sum of what the runs give them.

    `rrf` gives weight / (k + rank); `combsum` gives weight x normalised score, `combmnz` the same sum times the number of runs
    that have the document; `rankproof fuse --help` lists every method. `k`, `norm` and `weights` count for the methods that use
    them. Scores that are distances (`lower_is_better`) are negated first; an order by rank is for methods that go by ranks alone.
    A document that a run lacks gets nothing from it, and a query that a run lacks is fused from the others. `depth` keeps so many
    documents of each fused ranking. Parts are added in the order of the runs.
    """
    check_runs(runs)
    check_choices(method, norm, order, lower_is_better=lower_is_better)
    if "k" in METHODS[method].uses:
        check_k(k)
    if depth is not None:
        checked_integer("depth", depth)
    fuser = Fuser(METHODS[method], FusionSettings(float(k), norm), checked_weights(method, runs, weights))
    read_options = ReadOptions(order=order, lower_is_better=lower_is_better)
    found = [_slices(run, read_options) for run in runs]
    queries = list(dict.fromkeys(query for one in found for query in one))
    try:
        merged = (fuser.merged([one.get(query, _EMPTY) for one in found]) for query in queries)
        return Run.from_rankings(name or method, queries, ((docs[:depth], scores[:depth]) for docs, scores in merged))
    except KeyError:
        for run in runs:
            resolve_duplicates(run, ReadOptions())
        raise


def partial_queries(runs: Sequence[Run]) -> tuple[str, ...]:
    """The queries that some of the runs have and others lack."""
    held = [set(run.queries) for run in runs]
    everywhere = set.intersection(*held) if held else set()
    return tuple(query for query in dict.fromkeys(query for run in runs for query in run.queries) if query not in everywhere)


def _slices(run: Run, read_options: ReadOptions) -> dict[str, Given]:
    """Each query's documents as the reading orders them, where they start, and their scores, higher being better.

    What is in order already is not copied.
    """
    keys = _keys(run, read_options)
    ids, ends = tuple(run.docs), run.offsets.tolist()
    found: dict[str, Given] = {}
    for query, start, end in zip(run.queries, ends, ends[1:], strict=False):
        if end - start < 2 or bool(np.all(keys[start + 1 : end] < keys[start : end - 1])):
            found[query] = ids, start, keys[start:end]
        else:
            docs, scores = rank_documents(list(ids[start:end]), keys[start:end])
            found[query] = docs, 0, scores
    return found


def _keys(run: Run, read_options: ReadOptions) -> FloatArray:
    if read_options.order == "score":
        return -run.scores if read_options.lower_is_better else run.scores
    if run.docs and (run.ranks is None or NO_RANK in run.ranks):
        raise row_error("rank-missing", source=run.source)
    return np.zeros(0) if run.ranks is None else -run.ranks.astype(np.float64)
