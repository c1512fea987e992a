"""Fusion of runs, and of the rankings of one query, with checks of what it is given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray, list_places, read_only
from rankproof._data.ordering import Ranking
from rankproof._data.run import Run
from rankproof._data.text import pluralise
from rankproof._data.validation import Order, ReadOptions, checked_integer, checked_setting
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.kernels import best_first, documents_at
from rankproof._fusion.method import (
    METHODS,
    PARAMETERS,
    Fitted,
    FittedFusion,
    FusionMethod,
    FusionSettings,
    Training,
    fused_scores,
    method_named,
    methods_with,
)
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._registry import Setting
from rankproof.errors import InputError, UsageError, for_message, type_phrase


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

    The settings are those of `FusionSettings`, of which a method ignores those that it does not use, and the method's own.
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
        docs=documents_at(table.docs, order),
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


def check_runs(runs: Sequence[Run]) -> None:
    """Raises a UsageError unless the runs are a list with at least one Run."""
    if isinstance(runs, str | bytes) or not isinstance(runs, Sequence):
        raise UsageError(f"the runs cannot be {type_phrase(runs)}", fix="pass a list of them")
    if not runs:
        raise UsageError("there is no run to fuse", fix="pass at least one")
    for run in runs:
        if not isinstance(run, Run):
            raise UsageError(f"a run to fuse cannot be {type_phrase(run)}", fix="pass a Run: read_run(path) or Run.from_dict(…)")


def method_for(name: str, runs: Sequence[object]) -> FusionMethod:
    """The method of that name, if it can fuse so many runs."""
    method = method_named(name)
    if method.runs is not None and len(runs) != method.runs:
        what = f"{method.name} fuses {method.runs} runs, and there are {len(runs)}"
        raise UsageError(what, fix=f"pass {method.runs} runs, or use combsum with weights")
    return method


def check_order(method: FusionMethod, order: Order, *, lower_is_better: bool) -> None:
    """Raises a UsageError for an unknown order, or one that the method cannot use."""
    if order not in get_args(Order):
        raise UsageError(f"no order is called {for_message(str(order))}", fix=f"choose one of {', '.join(get_args(Order))}")
    if order == "rank" and not method.by_rank:
        by_rank = ", ".join(other.name for other in METHODS.registered().values() if other.by_rank)
        raise UsageError(f"{method.name} uses scores, and cannot order by rank", fix=f"order by score, or use one of {by_rank}")
    if order == "rank" and lower_is_better:
        raise UsageError("lower_is_better has no effect when ordering by rank", fix="leave it out, or order by score")


def checked_weights(method: FusionMethod, runs: int, weights: Sequence[float] | None) -> tuple[float, ...]:
    """A weight for each run, 1 by default."""
    if weights is None:
        return (1.0,) * runs
    if "weights" not in method.uses:
        raise UsageError(f"{method.name} has no weights", fix=f"leave them out, or use {methods_with('weights')}")
    if not isinstance(weights, Iterable):
        raise UsageError(f"the weights are {type_phrase(weights)}", fix="pass a list of numbers, one for each run")
    numbers = list(weights)
    if len(numbers) != runs:
        what = f"{pluralise(len(numbers), 'weight')} for {pluralise(runs, 'run')}"
        raise UsageError(what, fix="pass one weight for each run")
    if not all(_is_number(weight) and weight >= 0 for weight in numbers) or not any(numbers):
        raise UsageError("a weight is negative or not finite, or all are 0", fix="pass finite numbers of at least 0, not all 0")
    return tuple(float(weight) for weight in numbers)


def checked_settings(method: FusionMethod, settings: Mapping[str, Any], runs: int, *, is_fit: bool = False) -> FusionSettings:
    """The settings of the method, checked; those that it does not use keep their defaults."""
    norm = checked_setting(PARAMETERS["norm"], settings.get("norm", PARAMETERS["norm"].default))
    declared = {setting.key: setting for setting in own_parameters_of(method, norm)}
    known = {**PARAMETERS, **declared}
    if unknown := [name for name in settings if name not in known and name != "fitted"]:
        fix = f"choose among {', '.join(name for name in known if name != 'weights')}, fitted"
        raise UsageError(f"fusion has no setting {for_message(unknown[0])}", fix=fix)
    names = method.fit_uses if is_fit else method.uses
    checked = {name: checked_setting(known[name], value) for name, value in settings.items() if name not in ("weights", "fitted")}
    used: dict[str, Any] = {name: checked[name] for name in names if name in checked}
    if method.fit is not None and not is_fit:
        used["fitted"] = _checked_fitted(method, settings.get("fitted"), runs)
    elif settings.get("fitted") is not None:
        raise UsageError(f"{method.name} is not trained", fix="leave out what was fitted, or choose the method that was fitted")
    return FusionSettings(**used, own={name: checked.get(name, setting.default) for name, setting in declared.items()})


def own_parameters_of(method: FusionMethod, norm: str) -> tuple[Setting, ...]:
    """The parameters that the method, and the normalisation if the method uses one, declare themselves."""
    return (*method.own, *(NORMALISATIONS[norm].parameters if "norm" in method.uses else ()))


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except (TypeError, OverflowError):
        return False


def _checked_fitted(method: FusionMethod, fitted: Any, runs: int) -> Fitted:
    if fitted is None:
        fix = f"pass fitted=fit_fusion('{method.name}', qrels, runs), with judgements of other queries"
        raise UsageError(f"{method.name} is trained, and nothing was fitted", fix=fix)
    if isinstance(fitted, FittedFusion):
        if fitted.method != method.name:
            raise UsageError(f"fitted is of {fitted.method}, and the method is {method.name}", fix=f"use {fitted.method}")
        fitted = fitted.values
    try:
        numbers = tuple(tuple(float(value) for value in run_numbers) for run_numbers in fitted)
    except (TypeError, ValueError):
        raise UsageError(f"fitted is {type_phrase(fitted)}", fix="pass what fit_fusion returned") from None
    if len(numbers) != runs:
        raise UsageError(f"fitted on {pluralise(len(numbers), 'run')}, and there are {runs}", fix="fit and fuse the same systems")
    if method.learned is not None and any(len(run_numbers) != method.learned for run_numbers in numbers):
        raise UsageError(f"{method.name} learns {method.learned} numbers of each run", fix="pass what fit_fusion returned")
    if not all(math.isfinite(value) for run_numbers in numbers for value in run_numbers) or (
        method.fit_uses and not all(numbers)
    ):
        raise UsageError("fitted holds no number, or one that is not finite", fix="pass what fit_fusion returned")
    return numbers
