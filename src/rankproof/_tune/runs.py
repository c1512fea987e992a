"""Trials of fusion methods on run files: the fused scores of each setting, measured without making a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.run import Run
from rankproof._evaluation.inputs import align
from rankproof._evaluation.options import EvaluateOptions
from rankproof._fusion.fuse import fuse
from rankproof._fusion.method import METHODS, FusionMethod
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._tune.parameters import USUAL_VALUES, WEIGHT_STEP, ValuesLike, named_axis, weights_axis
from rankproof._tune.space import Family, SearchAxis, Settings, Space, Value
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure

RUN = "run"
"""The parameter of a trial that is one run alone."""
ALL = "all"


class FusionObjective:
    """The values of fused runs; the judged queries are in the order of their ids."""

    def __init__(self, judged: JudgedQueries, runs: Mapping[str, Run], measure: Measure, options: EvaluateOptions) -> None:
        self._judged, self._runs, self._measure, self._options = judged, runs, measure, options
        self._order = np.array(sorted(range(len(judged.queries)), key=lambda at: judged.queries[at]), np.int64)
        self.queries = tuple(judged.queries[at] for at in self._order)

    def values(self, settings: Sequence[Settings]) -> FloatArray:
        """A row for each settings."""
        return np.stack([self._measured(self._hits(dict(one))) for one in settings])

    def is_trained(self, settings: Settings) -> bool:
        """Whether the method is fitted to judgements."""
        return False

    def fitted_values(self, settings: Settings, train: IntArray) -> FloatArray:
        """The values of the method, fitted on the training queries."""
        found: FloatArray = self.values([settings])[0]
        return found

    def _hits(self, settings: dict[str, Value]) -> Hits:
        if RUN in settings:
            return align(self._judged, self._runs[str(settings[RUN])], RUN, self._options)
        runs = list(self._runs.values())
        return align(self._judged, fuse(runs, **settings), "fused", self._options)  # type: ignore[arg-type]

    def _measured(self, hits: Hits) -> FloatArray:
        found = np.concatenate([self._measure.values(block) for block in hits.blocks])
        return found[self._order]


def fusion_space(
    runs: int, methods: Sequence[str], norms: Sequence[str], vary: Mapping[str, ValuesLike], step: float = WEIGHT_STEP
) -> Space:
    """The trials of fusion methods: each with every normalisation that it uses, and its parameters."""
    chosen = _chosen("fusion method", METHODS, methods)
    scales = _chosen("normalisation", NORMALISATIONS, norms)
    families = []
    for name in chosen:
        method = METHODS[name]
        for norm in scales if "norm" in method.uses else scales[:1]:
            fixed = (("method", name), *((("norm", norm),) if "norm" in method.uses else ()))
            families.append(Family(fixed, _axes(method, runs, vary, step)))
    _refuse_unused(vary, families)
    first = families[0]
    default = (*first.fixed, *((axis.name, axis.default) for axis in first.axes))
    return Space(default, tuple(families))


def _chosen(kind: str, table: Mapping[str, object], names: Sequence[str]) -> list[str]:
    found = list(table) if list(names) == [ALL] else list(names)
    for name in found:
        if name not in table:
            raise UsageError(f"no {kind} is called {for_message(name)}", fix=f"choose from {', '.join(table)}, or {ALL}")
    if not found:
        raise UsageError(f"no {kind} is chosen", fix=f"choose from {', '.join(table)}, or {ALL}")
    return list(dict.fromkeys(found))


def _axes(method: FusionMethod, runs: int, vary: Mapping[str, ValuesLike], step: float) -> tuple[SearchAxis, ...]:
    found = []
    if "k" in method.uses:
        found.append(named_axis("k", float, vary.get("k") or USUAL_VALUES["fuse", "k"], 60.0))
    if "weights" in method.uses and runs > 1:
        found.append(weights_axis("weights", vary.get("weights") or f"grid:{step}", runs, None))
    return tuple(found)


def _refuse_unused(vary: Mapping[str, ValuesLike], families: Sequence[Family]) -> None:
    known = dict.fromkeys(axis.name for family in families for axis in family.axes)
    for name in vary:
        if name not in known:
            fix = f"choose from: {', '.join(known)}" if known else "choose a method with parameters, such as rrf"
            raise UsageError(f"the methods have no parameter {for_message(name)}", fix=fix)
