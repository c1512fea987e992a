"""How the systems of a ladder stand to each other."""

from __future__ import annotations

from collections.abc import Mapping

from ..evaluation import Result
from ..stages.base import Stage
from ..stages.fuse import Fuse
from .rung import RungKind


def kind_of(stage: Stage) -> RungKind:
    """Whether the stage finds documents, joins rankings, or reorders one."""
    below = stage.below()
    if not below:
        return "retrieval"
    return "fusion" if len(below) > 1 or isinstance(stage, Fuse) else "rerank"


def with_below(stage: Stage) -> tuple[Stage, ...]:
    """The stage and every distinct stage that it rests on, lowest first."""
    found: dict[Stage, None] = {}
    for part in stage.below():
        found.update(dict.fromkeys(with_below(part)))
    found[stage] = None
    return tuple(found)


def over_of(systems: Mapping[str, Stage], result: Result) -> dict[str, str | None]:
    """For each system the one it is measured against: the best of those it is made of, else the one before it."""
    names = {stage: name for name, stage in reversed(list(systems.items()))}
    values = {system.name: next(iter(system.measures.values())).value for system in result.systems}
    over: dict[str, str | None] = {}
    before = None
    for name, stage in systems.items():
        parts = [names[part] for part in stage.below() if part in names]
        over[name] = max(parts, key=values.__getitem__) if parts else before
        before = name
    return over
