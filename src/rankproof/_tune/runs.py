"""Trials of fusion methods on run files: fused scores over one table of candidates, measured without making a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from rankproof._align.fused_hits import JudgedCandidates
from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.inputs import align
from rankproof._evaluation.options import EvaluateOptions
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.fuse import Fuser
from rankproof._fusion.method import METHODS, Fitted, FusionMethod, FusionSettings, Parameter, Training, own_name
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._fusion.settings import checked_settings, checked_weights, method_for
from rankproof._tune.parameters import WEIGHT_STEP, ValuesLike, named_axis, weights_axis
from rankproof._tune.space import ParameterFamily, SearchAxis, Settings, Space
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure

RUN = "run"
"""The parameter of a trial that is one run alone."""
ALL = "all"
_FUSION_FIELDS = tuple(field.name for field in fields(FusionSettings))


class FusionObjective:
    """The values of fused runs; the judged queries are in the order of their ids."""

    def __init__(
        self, qrels: Qrels, judged: JudgedQueries, runs: Mapping[str, Run], measure: Measure, options: EvaluateOptions
    ) -> None:
        self._qrels, self._judged, self._runs, self._measure, self._options = qrels, judged, runs, measure, options
        self._table = CandidateTable.of(list(runs.values()), options.read_options, queries=judged.queries)
        self.candidates = JudgedCandidates.of(self._table, judged, qrels)
        self._order = np.array(sorted(range(len(judged.queries)), key=lambda at: judged.queries[at]), np.int64)
        self.queries = tuple(judged.queries[at] for at in self._order)

    @cached_property
    def _training(self) -> Training:
        return Training.of(self._table, {query: self._qrels[query] for query in self._judged.queries}, self._options.rel)

    def values(self, settings: Sequence[Settings]) -> FloatArray:
        """A row for each settings; a trained method is fitted on all queries."""
        return np.stack([self._values(dict(setting), self._order) for setting in settings])

    def is_trained(self, settings: Settings) -> bool:
        """Whether the method is fitted to judgements."""
        name = dict(settings).get("method")
        return name is not None and METHODS[str(name)].fit is not None

    def fitted_values(self, settings: Settings, train: IntArray) -> FloatArray:
        """The values of the method, fitted on the training queries."""
        return self._values(dict(settings), self._order[train])

    def stage_settings(self, settings: Settings) -> dict[str, Any]:
        """The settings of a fusion stage; a trained method is fitted on all queries."""
        values: dict[str, Any] = dict(settings)
        method = METHODS[values["method"]]
        kept = {name: value for name, value in values.items() if name not in method.fit_uses}
        return kept if method.fit is None else {**kept, "fitted": self._fit(method, values, self._order)}

    def _values(self, settings: Mapping[str, Any], train: IntArray) -> FloatArray:
        hits = self._run_hits(settings[RUN]) if RUN in settings else self._fused_hits(settings, train)
        values = np.concatenate([self._measure.values(block) for block in hits.blocks])
        return values[self._order]

    def _run_hits(self, name: str) -> Hits:
        return align(self._judged, self._runs[name], name, self._options)

    def _fused_hits(self, settings: Mapping[str, Any], train: IntArray) -> Hits:
        hits, how = self.candidates.hits(self.scores(settings, train)), self._options.read_options
        hits = hits if how.depth is None else hits.cut(how.depth)
        return hits.judged_only() if how.judged_only else hits

    def scores(self, settings: Mapping[str, Any], train: IntArray) -> FloatArray:
        """The fused score of each candidate; a trained method is fitted on these queries of the table."""
        method, runs = METHODS[settings["method"]], len(self._runs)
        parameters = {name: settings[name] for name in _FUSION_FIELDS if name in settings}
        if method.fit is not None:
            parameters["fitted"] = self._fit(method, settings, train)
        fuser = Fuser(method, checked_settings(method, parameters, runs), checked_weights(method, runs, settings.get("weights")))
        return fuser.scores(self._table)

    def _fit(self, method: FusionMethod, settings: Mapping[str, Any], train: IntArray) -> Fitted:
        assert method.fit is not None, "only trained methods are fitted"
        parameters = {name: settings[name] for name in _FUSION_FIELDS if name in settings}
        chosen = checked_settings(method, parameters, len(self._runs), is_fit=True)
        return method.fit(self._training.restricted_to(np.sort(train)), chosen)


def fusion_space(
    runs: int, methods: Sequence[str], norms: Sequence[str], vary: Mapping[str, ValuesLike], step: float = WEIGHT_STEP
) -> Space:
    """The trials of fusion methods: each with every normalisation that it uses, and its parameters."""
    scales = _chosen_norms(norms)
    families = []
    for method in _chosen_methods(methods, runs):
        for norm in scales if "norm" in method.uses else scales[:1]:
            fixed = (("method", method.name), *((("norm", norm),) if "norm" in method.uses else ()))
            families.append(ParameterFamily(fixed, _axes(method, runs, vary, step)))
    _refuse_unused(vary, families)
    first = families[0]
    default = (*first.fixed, *((axis.name, axis.default) for axis in first.axes))
    return Space(default, tuple(families))


def _chosen_methods(names: Sequence[str], runs: int) -> list[FusionMethod]:
    if list(names) == [ALL]:
        return [method for method in METHODS.values() if method.runs in (None, runs)]
    chosen = list(dict.fromkeys(map(own_name, names)))
    fix = f"choose from {', '.join(METHODS)}, or {ALL}"
    if unknown := [name for name in chosen if name not in METHODS]:
        raise UsageError(f"no fusion method is called {for_message(unknown[0])}", fix=fix)
    if not names:
        raise UsageError("no fusion method is chosen", fix=fix)
    return [method_for(name, range(runs)) for name in chosen]


def _chosen_norms(names: Sequence[str]) -> list[str]:
    chosen = list(NORMALISATIONS) if list(names) == [ALL] else names
    return list(dict.fromkeys(NORMALISATIONS.named(name).name for name in chosen))


def _axes(method: FusionMethod, runs: int, vary: Mapping[str, ValuesLike], step: float) -> tuple[SearchAxis, ...]:
    """The axes of the method's parameters; the normalisation is part of the family."""
    axes = []
    for parameter in method.parameters:
        if parameter.kind == "weights" and runs > 1:
            axes.append(weights_axis(parameter.name, vary.get("weights") or f"grid:{step}", runs, None))
        elif parameter.kind in ("number", "integer"):
            axes.append(_number_axis(parameter, vary.get(parameter.name)))
    return tuple(axes)


def _number_axis(parameter: Parameter, values: ValuesLike) -> SearchAxis:
    kind = int if parameter.kind == "integer" else float
    return named_axis(parameter.name, kind, values or parameter.values, kind(parameter.default or 0))


def _refuse_unused(vary: Mapping[str, ValuesLike], families: Sequence[ParameterFamily]) -> None:
    known = dict.fromkeys(axis.name for family in families for axis in family.axes)
    for name in vary:
        if name not in known:
            fix = f"choose from: {', '.join(known)}" if known else "choose a method with parameters, such as rrf"
            raise UsageError(f"the methods have no parameter {for_message(name)}", fix=fix)
