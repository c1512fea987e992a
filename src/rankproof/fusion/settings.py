"""What fusion can be asked for, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

from ..data.arrays import FloatArray
from ..data.checks import whole
from ..data.reading import Order
from ..data.run import Run
from ..errors import UsageError, shown
from .norms import min_max, unchanged, z_score

Method = Literal["rrf", "combsum", "combmnz"]
Norm = Literal["min-max", "z-score", "none"]
METHODS: tuple[Method, ...] = get_args(Method)
NORMS: dict[Norm, Callable[[FloatArray], FloatArray]] = {"min-max": min_max, "z-score": z_score, "none": unchanged}


def refuse_what_is_no_run(runs: Sequence[Run]) -> None:
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


def refuse_choices(method: Method, norm: Norm, order: Order, *, lower_is_better: bool) -> None:
    """Names that nobody knows, and choices that contradict each other."""
    _refuse_unknown("fusion", method, METHODS)
    _refuse_unknown("normalisation", norm, tuple(NORMS))
    _refuse_unknown("order", order, get_args(Order))
    if order == "rank" and method != "rrf":
        raise UsageError(f"{method} adds scores, which an order by rank leaves aside", fix="use rrf, or order by score")
    if order == "rank" and lower_is_better:
        raise UsageError("ordered by rank, the scores do not count", fix="leave out lower_is_better, or order by score")


def refuse_numbers(method: Method, k: float, depth: int | None) -> None:
    """A k that is no constant of reciprocal ranks, a depth that keeps nothing."""
    if method == "rrf" and not _is_at_least_0(k):
        raise UsageError(f"k is {shown(str(k))}", fix="choose a finite number of at least 0; 60 is usual")
    if depth is not None:
        whole("depth", depth)


def checked_weights(runs: Sequence[object], weights: Sequence[float] | None) -> list[float]:
    """A weight for each run, 1 where none is given."""
    if weights is None:
        return [1.0] * len(runs)
    if not isinstance(weights, Iterable):
        raise UsageError(f"the weights are a {type(weights).__name__}", fix="pass a list of numbers, one for each run")
    each = list(weights)
    if len(each) != len(runs):
        raise UsageError(f"{len(each)} weights for {len(runs)} runs", fix="give one weight for each run")
    if not all(map(_is_at_least_0, each)) or not any(each):
        raise UsageError("weights must be finite, at least 0, and not all 0", fix="mend the weights")
    return [float(weight) for weight in each]


def _refuse_unknown(what: str, name: object, known: Sequence[str]) -> None:
    if name not in known:
        raise UsageError(f"no {what} is called {shown(str(name))}", fix=f"choose one of {', '.join(known)}")


def _is_at_least_0(value: Any) -> bool:
    try:
        return math.isfinite(value) and bool(value >= 0)
    except (TypeError, OverflowError):
        return False
