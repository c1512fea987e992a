"""Fusion of runs, and of the rankings of one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray, list_places, read_only
from rankproof._data.ordering import Order, Ranking, ReadOptions
from rankproof._data.run import Run
from rankproof._data.validation import checked_integer
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.kernels import best_first, taken
from rankproof._fusion.method import FittedFusion, FusionMethod, FusionSettings, Training, fused_scores
from rankproof._fusion.settings import check_order, check_runs, checked_settings, checked_weights, method_for
from rankproof.errors import InputError, UsageError


@dataclass(frozen=True, slots=True)
class Fuser:
    """A method with checked settings; `weights` has one weight for each ranking."""

    method: FusionMethod
    settings: FusionSettings
    weights: tuple[float, ...]

    def fuse(self, rankings: Sequence[Ranking], depth: int | None = None) -> Ranking:
        """One ranking from several; an empty one adds nothing."""
        table = CandidateTable.of_rankings(rankings)
        scores = self.scores(table)
        order = best_first(scores, table.offsets, table.docs)[:depth]
        return [table.docs[at] for at in order.tolist()], scores[order]

    def scores(self, table: CandidateTable) -> FloatArray:
        """The fused score of each candidate; a score that is not finite is an error."""
        scores = fused_scores(table, self.method, self.settings, self.weights)
        if not np.isfinite(scores).all():
            raise InputError(
                "a fused score is outside the range of a 64-bit float",
                fix="lower the weights and parameters, or normalise with min-max or z-score",
            )
        return scores


def fuse(
    runs: Sequence[Run],
    method: str = "rrf",
    *,
    weights: Sequence[float] | None = None,
    depth: int | None = None,
    order: Order = "score",
    lower_is_better: bool = False,
    name: str | None = None,
    **settings: Any,
) -> Run:
    """Fuses several runs into one, by a rank or score fusion method.

    The settings are those of `FusionSettings`; a method ignores those that it does not use.
    """
    check_runs(runs)
    chosen = method_for(method, runs)
    check_order(chosen, order, lower_is_better=lower_is_better)
    fuser = Fuser(chosen, checked_settings(chosen, settings, len(runs)), checked_weights(chosen, len(runs), weights))
    if depth is not None:
        checked_integer("depth", depth)
    table = CandidateTable.of(runs, ReadOptions(order=order, lower_is_better=lower_is_better))
    return _ranked(table, fuser.scores(table), depth, name or chosen.name)


def _ranked(table: CandidateTable, scores: FloatArray, depth: int | None, name: str) -> Run:
    """The candidates of each query by score, at most `depth` of them."""
    order, offsets = best_first(scores, table.offsets, table.docs), table.offsets
    ranks = 1 + list_places(np.diff(offsets))
    if depth is not None:
        kept = ranks <= depth
        order, ranks, offsets = order[kept], ranks[kept], _cut(offsets, depth)
    return Run.from_columns(
        name=name,
        queries=table.queries,
        offsets=read_only(offsets),
        docs=taken(table.docs, order),
        scores=read_only(scores[order]),
        ranks=read_only(ranks),
        source=name,
    )


def _cut(offsets: IntArray, depth: int) -> IntArray:
    lengths = np.minimum(np.diff(offsets), depth)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def fit_fusion(
    method: str,
    qrels: Mapping[str, Mapping[str, int]],
    runs: Sequence[Run],
    *,
    order: Order = "score",
    lower_is_better: bool = False,
    segments: int = 10,
) -> FittedFusion:
    """What a trained method learns of each run from judged queries; a query that a run lacks counts as an empty ranking."""
    check_runs(runs)
    chosen = method_for(method, runs)
    if chosen.fit is None:
        raise UsageError(f"{chosen.name} is not trained", fix="leave out the training, or choose a trained method")
    if not qrels:
        raise UsageError("there are no judgements to learn from", fix="pass judgements of the queries of the runs")
    settings = checked_settings(chosen, {"segments": segments}, len(runs), is_fit=True)
    table = CandidateTable.of(runs, ReadOptions(order=order, lower_is_better=lower_is_better), queries=qrels)
    return FittedFusion(chosen.name, chosen.fit(Training.of(table, qrels), settings))


def check_some_judged(qrels: Mapping[str, Mapping[str, int]], runs: Sequence[Run]) -> None:
    """Raises a UsageError if no query of the runs is judged, so that nothing can be learned."""
    if not any(query in qrels for run in runs for query in run.queries):
        raise UsageError("no judged query is in a run to learn from", fix="pass judgements of the queries of the runs")


def partial_queries(runs: Sequence[Run]) -> tuple[str, ...]:
    """The queries that are in some of the runs but not in all."""
    held = [set(run.queries) for run in runs]
    everywhere = set.intersection(*held) if held else set()
    return tuple(query for query in dict.fromkeys(query for run in runs for query in run.queries) if query not in everywhere)
