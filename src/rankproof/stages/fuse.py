"""Fusion: the rankings of several stages made one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from .._registry import Option
from ..data.queries import Query
from ..data.ranking import Ranking
from ..errors import UsageError
from ..fusion.recipe import Recipe
from ..fusion.settings import Method, Norm, checked_weights, refuse_choices, refuse_numbers
from . import settings
from .base import Cost, Ground, Stage
from .clock import Clock
from .settings import Depth


@dataclass(frozen=True)
class Fuse:
    """Reciprocal ranks with the constant k (`rrf`), or weighted sums of normalised scores (`combsum`, `combmnz`).

    k counts for `rrf` alone, norm for the others alone. One that does not count is set to its default, and weights that are all 1
    to None: stages that do the same are equal.
    """

    stages: Annotated[tuple[Stage, ...], Option("the systems that are fused", key="of")]
    method: Annotated[Method, Option("rrf adds 1 / (k + rank), combsum adds scores, combmnz counts finders as well")] = "rrf"
    k: Annotated[float, Option("the constant of rrf")] = 60
    weights: Annotated[tuple[float, ...] | None, Option("one number for each system (all 1)")] = None
    norm: Annotated[Norm, Option("normalisation of scores, per query: min-max, z-score or none")] = "min-max"
    depth: Depth = 100

    def __post_init__(self) -> None:
        if isinstance(self.stages, str) or not isinstance(self.stages, Sequence) or not self.stages:
            raise UsageError("there is nothing to fuse", fix="give a list of stages, better two than one")
        object.__setattr__(self, "stages", tuple(self.stages))
        for stage in self.stages:
            settings.stage("a stage to fuse", stage)
        refuse_choices(self.method, self.norm, "score", lower_is_better=False)
        refuse_numbers("rrf", self.k, self.depth)
        weights = tuple(checked_weights(self.stages, self.weights))
        object.__setattr__(self, "weights", None if set(weights) == {1.0} else weights)
        object.__setattr__(self, "k", float(self.k if self.method == "rrf" else Fuse.k))
        if self.method == "rrf":
            object.__setattr__(self, "norm", Fuse.norm)

    def below(self) -> tuple[Stage, ...]:
        """The stages that it fuses."""
        return self.stages

    def build(self, ground: Ground) -> FuseSearcher:
        """Nothing is made in advance."""
        return FuseSearcher(self)


def RRF(stages: Sequence[Stage], k: float = 60, *, weights: Sequence[float] | None = None, depth: int = 100) -> Fuse:  # noqa: N802
    """Reciprocal rank fusion, by its short name."""
    return Fuse(tuple(stages), k=k, weights=None if weights is None else tuple(weights), depth=depth)


class FuseSearcher:
    """Fuses what the stages below found."""

    def __init__(self, stage: Fuse) -> None:
        weights = stage.weights or (1.0,) * len(stage.stages)
        self._recipe, self._stage = Recipe(stage.method, stage.k, stage.norm, weights), stage

    def search(self, query: Query, below: Sequence[Ranking], clock: Clock) -> Ranking:
        """The documents of all rankings below, best sum first."""
        with clock.part("search"):
            docs, scores = self._recipe.fused(below)
            return docs[: self._stage.depth], scores[: self._stage.depth]

    def cost(self) -> Cost:
        """Nothing."""
        return Cost()

    def facts(self) -> Mapping[str, Any]:
        """The formula's settings."""
        constant = {"k": self._stage.k} if self._stage.method == "rrf" else {"norm": self._stage.norm}
        return {"method": self._stage.method, "weights": list(self._recipe.weights), **constant}

    def notes(self) -> Sequence[str]:
        """Nothing to say."""
        return ()

    def close(self) -> None:
        """Nothing is open."""
