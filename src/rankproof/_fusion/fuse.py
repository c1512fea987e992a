"""Fusion of runs, query by query, and the merge of rankings behind every method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Literal

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.ordering import Order, Ranking, ReadOptions, rank_documents, resolve_duplicates
from rankproof._data.row_errors import row_error
from rankproof._data.run import NO_RANK, Run
from rankproof._data.validation import checked_integer
from rankproof._fusion.method import (
    METHODS,
    Combine,
    FusionMethod,
    FusionSettings,
    QueryPoints,
    check_choices,
    check_k,
    check_runs,
    checked_weights,
)
from rankproof.errors import InputError

Kernel = Literal["native", "plain"]
Given = tuple[Sequence[str], int, FloatArray]
"""Documents, the index at which one ranking starts, and the points of each document from there."""
_EMPTY: Given = ((), 0, np.zeros(0))


@dataclass(frozen=True, slots=True)
class Fuser:
    """A method with checked settings; `weights` has one weight for each ranking."""

    method: FusionMethod
    settings: FusionSettings
    weights: tuple[float, ...]

    def fuse(self, rankings: Sequence[Ranking]) -> Ranking:
        """One ranking from several, each best first; an empty one adds nothing."""
        return self.merged([(docs, 0, scores) for docs, scores in rankings])

    def merged(self, found: Sequence[Given]) -> Ranking:
        """One ranking from documents with the index at which each ranking starts, and its scores, best first."""
        # An overflow is an error below.
        with np.errstate(over="ignore"):
            docs, scores = self._summed(found) if self.method.combine is None else self._combined(found, self.method.combine)
        if len(scores) and not np.isfinite(scores).all():
            raise InputError(
                "a fused score is outside the range of a 64-bit float",
                fix="lower the weights, or normalise with min-max or z-score",
            )
        return docs, scores

    def _summed(self, found: Sequence[Given]) -> Ranking:
        given = [
            (docs, start, weight * self.points(scores))
            for (docs, start, scores), weight in zip(found, self.weights, strict=True)
            if len(scores)
        ]
        return merge(given, times_found=self.method.times_found)

    def _combined(self, found: Sequence[Given], combine: Combine) -> Ranking:
        each = tuple(_by_doc(docs, start, self.points(scores)) if len(scores) else {} for docs, start, scores in found)
        combined = combine(QueryPoints(each, self.weights, self.settings))
        return rank_documents(list(combined), np.array(list(combined.values()), dtype=np.float64))

    def points(self, scores: FloatArray) -> FloatArray:
        """The points of each document of a ranking, best first, without its weight."""
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
    """One run from several: each query's documents by their points, which most methods add.

    `rrf` gives weight / (k + rank); `combsum` gives weight x normalised score, `combmnz` the same sum times the number of runs
    that have the document; `rankproof fuse --help` lists all methods. `k`, `norm` and `weights` apply to the methods that use
    them. With `lower_is_better`, scores are negated first; `order` "rank" is for methods that only use ranks. A document that is
    missing from a run gets no points from it, and a query that is missing from a run is fused from the others. `depth` limits the
    documents of each query. Points are added in the order of the runs.
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
    """The queries that are in some of the runs but not in all."""
    held = [set(run.queries) for run in runs]
    everywhere = set.intersection(*held) if held else set()
    return tuple(query for query in dict.fromkeys(query for run in runs for query in run.queries) if query not in everywhere)


def _slices(run: Run, read_options: ReadOptions) -> dict[str, Given]:
    """Each query's documents in order, the index at which they start, and their scores; higher is better.

    Documents that are already in order are not copied.
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


@cache
def best_kernel() -> Kernel:
    """`native` if the C extension was built, else `plain`; both give the same documents, order and bits."""
    return "native" if find_spec("rankproof._native.merge") is not None else "plain"


def merge(given: Sequence[Given], *, times_found: bool, kernel: Kernel | None = None) -> Ranking:
    """Each document once, best first, with the sum of its points, times the number of its rankings if `times_found`.

    Points are added in the order of the rankings. A document that occurs twice in one ranking is a KeyError.
    """
    if (kernel or best_kernel()) == "plain":
        return _merge_in_python(given, times_found)
    from rankproof._native import merge as native

    docs, scores = native.merge([(docs, start, np.ascontiguousarray(parts)) for docs, start, parts in given], times_found)
    return docs, np.frombuffer(scores, dtype=np.float64)


def _by_doc(docs: Sequence[str], start: int, parts: FloatArray) -> dict[str, float]:
    """The points of each document; a document that occurs twice is a KeyError."""
    found = dict(zip(docs[start : start + len(parts)], parts.tolist(), strict=True))
    if len(found) < len(parts):
        raise KeyError("a document occurs twice")
    return found


def _merge_in_python(given: Sequence[Given], times_found: bool) -> Ranking:
    totals: dict[str, float] = {}
    times: dict[str, int] = {}
    for docs, start, parts in given:
        for doc, part in _by_doc(docs, start, parts).items():
            totals[doc] = totals.get(doc, 0.0) + part
            times[doc] = times.get(doc, 0) + 1
    values = [total * times[doc] if times_found else total for doc, total in totals.items()]
    return rank_documents(list(totals), np.array(values, dtype=np.float64))
