"""Fusion methods: their records, their table, and the checks of their settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rankproof._data.arrays import FloatArray
from rankproof._data.ordering import Order
from rankproof._data.run import Run
from rankproof._data.text import pluralise
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._registry import RecordTable
from rankproof.errors import UsageError, for_message, type_phrase


def check_runs(runs: Sequence[Run]) -> None:
    """Raises a UsageError unless the runs are a list with at least one Run."""
    if isinstance(runs, str | bytes) or not isinstance(runs, Sequence):
        raise UsageError(f"the runs cannot be {type_phrase(runs)}", fix="pass a list of them")
    if not runs:
        raise UsageError("there is no run to fuse", fix="pass at least one")
    for run in runs:
        if not isinstance(run, Run):
            raise UsageError(f"a run to fuse cannot be {type_phrase(run)}", fix="pass a Run: read_run(path) or Run.from_dict(…)")


def check_choices(method: str, norm: str, order: Order, *, lower_is_better: bool) -> None:
    """Raises a UsageError for unknown names and contradicting choices."""
    chosen = METHODS.named(method)
    NORMALISATIONS.named(norm)
    if order not in get_args(Order):
        raise UsageError(f"no order is called {for_message(str(order))}", fix=f"choose one of {', '.join(get_args(Order))}")
    if order == "rank" and not chosen.by_rank:
        by_rank = " or ".join(one.name for one in METHODS.registered().values() if one.by_rank)
        raise UsageError(f"{method} uses scores, and cannot order by rank", fix=f"use {by_rank}, or order by score")
    if order == "rank" and lower_is_better:
        raise UsageError("lower_is_better has no effect when ordering by rank", fix="leave it out, or order by score")


def check_k(k: float) -> None:
    """Raises a UsageError unless k is a finite number of at least 0."""
    if not _is_at_least_0(k):
        raise UsageError(f"k is {for_message(str(k))}", fix="pass a finite number of at least 0, such as 60")


def checked_weights(method: str, runs: Sequence[object], weights: Sequence[float] | None) -> tuple[float, ...]:
    """A weight for each run, 1 by default."""
    if weights is None:
        return (1.0,) * len(runs)
    if "weights" not in METHODS[method].uses:
        raise UsageError(f"{method} has no weights", fix=f"leave them out, or use {methods_with('weights')}")
    if not isinstance(weights, Iterable):
        raise UsageError(f"the weights are {type_phrase(weights)}", fix="pass a list of numbers, one for each run")
    each = list(weights)
    if len(each) != len(runs):
        what = f"{pluralise(len(each), 'weight')} for {pluralise(len(runs), 'run')}"
        raise UsageError(what, fix="pass one weight for each run")
    if not all(map(_is_at_least_0, each)) or not any(each):
        raise UsageError("a weight is negative or not finite, or all are 0", fix="pass finite numbers of at least 0, not all 0")
    return tuple(float(weight) for weight in each)


def methods_with(setting: Setting) -> str:
    """The methods that use a setting, for an error message."""
    return " or ".join(one.name for one in METHODS.registered().values() if setting in one.uses)


def _is_at_least_0(value: Any) -> bool:
    try:
        return math.isfinite(value) and bool(value >= 0)
    except (TypeError, OverflowError):
        return False


Setting = Literal["k", "norm", "weights"]
SETTINGS: tuple[Setting, ...] = get_args(Setting)


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """The settings of a fusion without its weights; a method reads only the settings in its `uses`."""

    k: float = 60.0
    norm: str = "min-max"

    def normalise(self, scores: FloatArray) -> FloatArray:
        """The scores of one ranking on the scale that `norm` names."""
        return NORMALISATIONS[self.norm].normalise(scores)


Points = Callable[[FloatArray, FusionSettings], FloatArray]
"""From the scores of one ranking of a query, best first, to the points of its documents."""


@dataclass(frozen=True, slots=True)
class QueryPoints:
    """The points of one query: a mapping from document to points for each ranking, best first; empty for an empty ranking."""

    points: tuple[Mapping[str, float], ...]
    weights: tuple[float, ...]
    settings: FusionSettings

    def docs(self) -> list[str]:
        """Every document once, in the order of the rankings."""
        return list(dict.fromkeys(doc for points in self.points for doc in points))


Combine = Callable[[QueryPoints], Mapping[str, float]]
"""From the points of all rankings of a query to the score of each document; higher is better."""


@dataclass(frozen=True, slots=True)
class FusionMethod:
    """One method: a document's score is the sum, over the rankings that have it, of weight x points.

    `uses` names the settings that change its result, `by_rank` says that it never looks at scores, and `times_found` that the sum
    is multiplied by the number of rankings that have the document. `summary` continues the name: "rrf adds 1 / (k + rank)".

    A method that is no such sum (a median, Condorcet) has `combine`, which takes the points of all rankings of a query and their
    weights. What a trained method (BayesFuse) learned is one more field of FusionSettings, named in `uses`.
    """

    name: str
    summary: str
    points: Points
    uses: tuple[Setting, ...]
    by_rank: bool
    times_found: bool
    source: str
    combine: Combine | None = None


METHODS: RecordTable[FusionMethod] = RecordTable(
    "fusion method", "rankproof.fusion_methods", f"{__package__}.methods", first=("reciprocal_rank",)
)


def fusion_method(
    name: str,
    summary: str,
    *,
    uses: tuple[Setting, ...],
    by_rank: bool = False,
    times_found: bool = False,
    source: str = "",
    combine: Combine | None = None,
) -> Callable[[Points], Points]:
    """Registers a function of points as a fusion method; points are added unless `combine` is given.

    `source` is the paper that defines the method.
    """
    if combine is not None and times_found:
        raise ValueError(f"{name}: times_found is for sums; multiply in combine")

    def register(points: Points) -> Points:
        METHODS.add(FusionMethod(name, summary, points, uses, by_rank, times_found, source, combine), points.__module__)
        return points

    return register
