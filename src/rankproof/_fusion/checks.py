"""Checks of the arguments of a fusion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, get_args

from rankproof._data.ordering import Order
from rankproof._data.run import Run
from rankproof._fusion.method import METHODS, Setting
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof.errors import UsageError, for_message


def check_runs(runs: Sequence[Run]) -> None:
    """A list of runs, at least one."""
    if isinstance(runs, str | bytes) or not isinstance(runs, Sequence):
        raise UsageError(f"the runs cannot be a {type(runs).__name__}", fix="pass a list of them")
    if not runs:
        raise UsageError("there is no run to fuse", fix="name at least one, better two")
    for run in runs:
        if not isinstance(run, Run):
            raise UsageError(
                f"a run to fuse cannot be a {type(run).__name__}", fix="pass a Run: read_run(path) or Run.from_dict(…)"
            )


def check_choices(method: str, norm: str, order: Order, *, lower_is_better: bool) -> None:
    """Unknown names, and choices that contradict each other."""
    chosen = METHODS.named(method)
    NORMALISATIONS.named(norm)
    if order not in get_args(Order):
        raise UsageError(f"no order is called {for_message(str(order))}", fix=f"choose one of {', '.join(get_args(Order))}")
    if order == "rank" and not chosen.by_rank:
        by_rank = " or ".join(one.name for one in METHODS.registered().values() if one.by_rank)
        raise UsageError(f"{method} uses scores, which an order by rank leaves aside", fix=f"use {by_rank}, or order by score")
    if order == "rank" and lower_is_better:
        raise UsageError("ordered by rank, the scores do not count", fix="leave out lower_is_better, or order by score")


def check_k(k: float) -> None:
    """A finite number of at least 0."""
    if not _is_at_least_0(k):
        raise UsageError(f"k is {for_message(str(k))}", fix="choose a finite number of at least 0; 60 is usual")


def checked_weights(method: str, runs: Sequence[object], weights: Sequence[float] | None) -> tuple[float, ...]:
    """A weight for each run, 1 where none is given."""
    if weights is None:
        return (1.0,) * len(runs)
    if "weights" not in METHODS[method].uses:
        raise UsageError(f"{method} has no weights", fix=f"leave them out, or use {methods_with('weights')}")
    if not isinstance(weights, Iterable):
        raise UsageError(f"the weights are a {type(weights).__name__}", fix="pass a list of numbers, one for each run")
    each = list(weights)
    if len(each) != len(runs):
        raise UsageError(f"{len(each)} weights for {len(runs)} runs", fix="give one weight for each run")
    if not all(map(_is_at_least_0, each)) or not any(each):
        raise UsageError("weights must be finite, at least 0, and not all 0", fix="mend the weights")
    return tuple(float(weight) for weight in each)


def methods_with(setting: Setting) -> str:
    """The methods that use a setting, for an error message."""
    return " or ".join(one.name for one in METHODS.registered().values() if setting in one.uses)


def _is_at_least_0(value: Any) -> bool:
    try:
        return math.isfinite(value) and bool(value >= 0)
    except (TypeError, OverflowError):
        return False
