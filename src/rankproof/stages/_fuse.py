"""Fuses the rankings of several stages into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from rankproof._data.dataset import Query
from rankproof._data.identity import IN_IDENTITY_IF_SET
from rankproof._data.ordering import Ranking
from rankproof._data.validation import checked_integer
from rankproof._fusion.fuse import Fuser, checked_settings, checked_weights, method_for, own_parameters_of
from rankproof._fusion.method import METHOD, METHODS, NORM, PARAMETERS, FusionSettings, method_named, users_of
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._registry import Option, Setting
from rankproof.errors import UsageError
from rankproof.stages import _fields
from rankproof.stages._base import BuildContext, QueryTimer, Searcher, Stage
from rankproof.stages._fields import Depth, OwnParameters

_SETTINGS = ("k", "norm", "gamma", "sigma", "phi", "alpha", "window", "fitted")


def _option(name: str) -> Option:
    """The option of a parameter, with the methods that use it."""
    option = PARAMETERS[name].option
    return option._replace(description=f"{option.description}; for {', '.join(users_of(name))}")


@dataclass(frozen=True)
class Fuse(Stage):
    """Fuses rankings by reciprocal ranks with the constant k (`rrf`), sums of normalised scores (`combsum`) or another method.

    A setting that the method does not use is set to its default, and weights that are all 1 to None, so that equivalent stages
    are equal. `fitted` is what `fit_fusion` learned, for a trained method. `parameters` are those that a method or normalisation
    declares itself; in an experiment file they are keys of the system.
    """

    stages: Annotated[tuple[Stage, ...], Option("the systems that are fused", key="of")]
    method: Annotated[str, METHOD._replace(description=f"the fusion method: {', '.join(METHODS.registered())}")] = "rrf"
    k: Annotated[float, _option("k")] = 60
    weights: Annotated[tuple[float, ...] | None, Option("one number for each system (default: 1 for each)")] = None
    norm: Annotated[str, NORM._replace(description=f"{NORM.description}: {', '.join(NORMALISATIONS.registered())}")] = "min-max"
    depth: Depth = 100
    gamma: Annotated[float, _option("gamma")] = 0.5
    sigma: Annotated[float, _option("sigma")] = 0.01
    phi: Annotated[float, _option("phi")] = 0.95
    alpha: Annotated[float, _option("alpha")] = 0.5
    window: Annotated[int, _option("window")] = 5
    fitted: Annotated[
        tuple[tuple[float, ...], ...] | None,
        Option("what a trained method learned of each system, by `fit_fusion`"),
    ] = None
    parameters: OwnParameters = field(default=(), metadata=IN_IDENTITY_IF_SET)
    needs_documents: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.stages, str) or not isinstance(self.stages, Sequence) or not self.stages:
            raise UsageError("no stages to fuse", fix="give a list of stages")
        object.__setattr__(self, "stages", tuple(self.stages))
        for stage in self.stages:
            _fields.check_stage("a stage to fuse", stage)
        method = method_for(self.method, self.stages)
        checked_integer("depth", self.depth)
        weights = checked_weights(method, len(self.stages), self.weights)
        values = {name: getattr(self, name) for name in _SETTINGS} | dict(self.parameters)
        settings = checked_settings(method, values, len(self.stages))
        object.__setattr__(self, "method", method.name)
        object.__setattr__(self, "weights", None if set(weights) == {1.0} else weights)
        object.__setattr__(self, "parameters", tuple(settings.own.items()))
        for name in _SETTINGS:
            object.__setattr__(self, name, getattr(settings, name))

    @classmethod
    def parameter_settings(cls, table: Mapping[str, Any]) -> tuple[Setting, ...]:
        """The parameters that the method and the normalisation of an experiment file declare themselves."""
        method, norm = (table.get(key, getattr(cls, key)) for key in ("method", "norm"))
        return own_parameters_of(method_named(method), norm) if method in METHODS and norm in NORMALISATIONS else ()

    def settings(self) -> FusionSettings:
        """The settings of the method."""
        return FusionSettings(**{name: getattr(self, name) for name in _SETTINGS}, own=dict(self.parameters))

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


class FuseSearcher(Searcher):
    """Fuses the rankings of the input stages."""

    def __init__(self, stage: Fuse) -> None:
        weights = stage.weights or (1.0,) * len(stage.stages)
        self._fuser, self._stage = Fuser(METHODS[stage.method], stage.settings(), weights), stage

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents of all input rankings, best first."""
        with timer.part("search"):
            return self._fuser.fuse(inputs, self._stage.depth)

    def facts(self) -> Mapping[str, Any]:
        """The method and its settings."""
        used: dict[str, Any] = {name: getattr(self._stage, name) for name in self._fuser.method.uses if name != "weights"}
        return {"method": self._stage.method, "weights": list(self._fuser.weights), **used, **dict(self._stage.parameters)}
