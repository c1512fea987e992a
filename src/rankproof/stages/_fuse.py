"""Fuses the rankings of several stages into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rankproof._data.dataset import Query
from rankproof._data.ordering import Ranking
from rankproof._data.validation import checked_integer
from rankproof._fusion.fuse import Fuser
from rankproof._fusion.method import METHODS, FusionSettings, check_choices, check_k, checked_weights, methods_with
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.stages import _fields
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Stage
from rankproof.stages._fields import Depth


@dataclass(frozen=True)
class Fuse:
    """Fuses rankings by reciprocal ranks with the constant k (`rrf`), sums of normalised scores (`combsum`) or another method.

    A setting that the method does not use is set to its default, and weights that are all 1 to None, so that equivalent stages
    are equal.
    """

    stages: Annotated[tuple[Stage, ...], Option("the systems that are fused", key="of")]
    method: Annotated[str, Option(f"the fusion method: {', '.join(METHODS.registered())}")] = "rrf"
    k: Annotated[float, Option(f"the constant of {methods_with('k')}")] = 60
    weights: Annotated[tuple[float, ...] | None, Option("one number for each system (default: 1 for each)")] = None
    norm: Annotated[str, Option(f"normalisation of scores, per query: {', '.join(NORMALISATIONS.registered())}")] = "min-max"
    depth: Depth = 100
    needs_documents: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.stages, str) or not isinstance(self.stages, Sequence) or not self.stages:
            raise UsageError("no stages to fuse", fix="give a list of stages")
        object.__setattr__(self, "stages", tuple(self.stages))
        for stage in self.stages:
            _fields.check_stage("a stage to fuse", stage)
        check_choices(self.method, self.norm, "score", lower_is_better=False)
        check_k(self.k)
        checked_integer("depth", self.depth)
        weights = checked_weights(self.method, self.stages, self.weights)
        used = METHODS[self.method].uses
        object.__setattr__(self, "weights", None if set(weights) == {1.0} else weights)
        object.__setattr__(self, "k", float(self.k if "k" in used else Fuse.k))
        object.__setattr__(self, "norm", self.norm if "norm" in used else Fuse.norm)

    def inputs(self) -> tuple[Stage, ...]:
        """The fused stages."""
        return self.stages

    def build(self, context: BuildContext) -> FuseSearcher:
        """Builds the searcher; nothing is computed in advance."""
        return FuseSearcher(self)


def RRF(  # noqa: N802  # the usual name of the method
    stages: Sequence[Stage], k: float = 60, *, weights: Sequence[float] | None = None, depth: int = 100
) -> Fuse:
    """Reciprocal rank fusion: short for `Fuse` with method `rrf`."""
    return Fuse(tuple(stages), k=k, weights=None if weights is None else tuple(weights), depth=depth)


class FuseSearcher:
    """Fuses the rankings of the input stages."""

    def __init__(self, stage: Fuse) -> None:
        weights = stage.weights or (1.0,) * len(stage.stages)
        self._fuser, self._stage = Fuser(METHODS[stage.method], FusionSettings(stage.k, stage.norm), weights), stage

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents of all input rankings, best first."""
        with timer.part("search"):
            docs, scores = self._fuser.fuse(inputs)
            return docs[: self._stage.depth], scores[: self._stage.depth]

    def cost(self) -> Cost:
        """No cost."""
        return Cost()

    def facts(self) -> Mapping[str, Any]:
        """The method and its settings."""
        used: dict[str, Any] = {name: getattr(self._stage, name) for name in self._fuser.method.uses if name != "weights"}
        return {"method": self._stage.method, "weights": list(self._fuser.weights), **used}

    def notes(self) -> Sequence[str]:
        """None."""
        return ()

    def close(self) -> None:
        """Does nothing: no resource is open."""
