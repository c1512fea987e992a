"""How the systems of a ladder stand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, get_args

from ..evaluation import Result
from ..stages.base import Stage
from ..stages.fuse import Fuse
from .extent import parts_of
from .rung import RungKind


def kind_of(stage: Stage) -> RungKind:
    """Whether the stage finds documents, joins rankings, reorders one, or is of the kind that it says itself."""
    own = getattr(stage, "kind", None)
    if own in get_args(RungKind):
        return cast(RungKind, own)
    below = stage.below()
    if not below:
        return "retrieval"
    return "fusion" if len(below) > 1 or isinstance(stage, Fuse) else "rerank"


def with_below(stage: Stage) -> tuple[Stage, ...]:
    """The stage and every distinct stage that it rests on, lowest first."""
    return tuple(dict.fromkeys(parts_of(stage)))


def over_of(systems: Mapping[str, Stage], result: Result) -> dict[str, str | None]:
    """For each system the one it is measured against: the best of those it is made of; for one made of none, the one before it.

    A system whose parts are all hidden is measured against none: what stands before it is no part of it.
    """
    names = {stage: name for name, stage in reversed(list(systems.items()))}
    first = {system.name: next(iter(system.measures.values())) for system in result.systems}
    worth = {name: -one.value if one.measure.higher_is_better is False else one.value for name, one in first.items()}
    over: dict[str, str | None] = {}
    before = None
    for name, stage in systems.items():
        below = stage.below()
        parts = [names[part] for part in below if part in names]
        over[name] = max(parts, key=worth.__getitem__, default=None) if below else before
        before = name
    return over
