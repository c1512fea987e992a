"""Fusion of stored rankings with other settings, measured while a slider moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from rankproof._analysis.inputs import input_from_results
from rankproof._data.ordering import Ranking
from rankproof._data.run import Run
from rankproof._data.validation import checked_integer
from rankproof._evaluation.sources import prepare_judgements
from rankproof._fusion.fuse import checked_settings, checked_weights, fuse, method_for, own_parameters_of
from rankproof._fusion.method import METHODS, PARAMETERS, FusionMethod
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._registry import Setting
from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.bench.port import Knob, KnobKind
from rankproof._tune.parameters import WEIGHT_STEP, ParameterFamily, SearchAxis, Space, named_axis, weights_axis
from rankproof._tune.trials import FusionObjective
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure

METHOD, NORM, WEIGHTS, DEPTH = "method", "norm", "weights", "depth"
USUAL_DEPTH = 100
FUSE = "Fuse"


@dataclass(frozen=True, eq=False, slots=True)
class FusedRuns:
    """The runs that a system fuses by name, its settings, and the depth of its rankings."""

    runs: Mapping[str, Run]
    settings: Mapping[str, Any]
    depth: int = USUAL_DEPTH

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fused systems."""
        return tuple(self.runs)

    def changed(self, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """The settings that the method uses, with these changes; a value that it does not take is an error."""
        depth = changes.get(DEPTH, self.depth)
        checked_integer(DEPTH, depth)
        merged = {**self.settings, **{key: value for key, value in changes.items() if key != DEPTH}}
        method = method_for(str(merged.get(METHOD, "rrf")), self.names)
        if method.fit is not None:
            raise UsageError(f"{method.name} is trained on judgements", fix="choose another method, or use `rankproof tune`")
        used = {setting.key for setting in parameters_of(method, _norm(merged))}
        chosen = {key: merged[key] for key in merged if key in used}
        _checked(method, chosen, len(self.runs), merged)
        weights = {WEIGHTS: tuple(map(float, chosen[WEIGHTS]))} if chosen.get(WEIGHTS) is not None else {}
        plain = {key: value for key, value in chosen.items() if key != WEIGHTS}
        return {METHOD: method.name, **plain, **weights, DEPTH: depth}


def _norm(settings: Mapping[str, Any]) -> str:
    return NORMALISATIONS.named(settings.get(NORM, PARAMETERS[NORM].default)).name


def _checked(method: FusionMethod, chosen: Mapping[str, Any], runs: int, merged: Mapping[str, Any]) -> None:
    known = {key for name in METHODS for key in _keys(METHODS[name])}
    if unknown := [key for key in merged if key not in known and key not in chosen]:
        raise UsageError(f"fusion has no setting {for_message(unknown[0])}", fix=f"choose among {', '.join(sorted(known))}")
    checked_weights(method, runs, chosen.get(WEIGHTS))
    checked_settings(method, {key: value for key, value in chosen.items() if key != WEIGHTS}, runs)


def _keys(method: FusionMethod) -> Iterator[str]:
    yield METHOD
    for norm in NORMALISATIONS:
        yield from (setting.key for setting in parameters_of(method, norm))


def parameters_of(method: FusionMethod, norm: str) -> tuple[Setting, ...]:
    """The parameters that change the result of a method with a normalisation."""
    settings = (*(PARAMETERS[name] for name in method.uses), *own_parameters_of(method, norm))
    return tuple({setting.key: setting for setting in settings}.values())


def stored_fusion(results: ExperimentResult, system: str) -> FusedRuns | str:
    """The runs that a system of the results fuses, or why they are not known."""
    stage = results.system_run(system).stage
    if stage.get("kind") != FUSE:
        return "it is not a fusion"
    inputs = [_stored_input(results, identity) for identity in stage["stages"]]
    if missing := [name for name, run in inputs if run is None]:
        return f"the rankings of its input {missing[0]} are not stored"
    if METHODS.named(stage[METHOD]).fit is not None:
        return "its method is trained on judgements"
    names = {key for method in METHODS.values() for key in _keys(method)}
    own = dict(stage.get("parameters", ()))
    settings = {key: stage[key] for key in names if stage.get(key) is not None} | own
    return FusedRuns({name: run for name, run in inputs if run is not None}, settings, int(stage[DEPTH]))


def _stored_input(results: ExperimentResult, identity: Mapping[str, Any]) -> tuple[str, Run | None]:
    run = next((run for run in results.system_runs if run.stage == identity), None)
    return (str(identity["kind"]), None) if run is None else (run.name, run.stored_run)


def chosen_fusion(results: ExperimentResult, names: Sequence[str]) -> FusedRuns:
    """A fusion of stored runs by reciprocal ranks, which need not be a system."""
    if len(dict.fromkeys(names)) < 2:
        raise UsageError("a fusion needs two different systems", fix="choose another system to fuse")
    return FusedRuns({name: results.system_run(name).run for name in names}, {METHOD: "rrf"})


def fusion_knobs(fused: FusedRuns, changes: Mapping[str, Any]) -> Iterator[Knob]:
    """The method, its parameters and the weights of the fused systems."""
    settings, before = fused.changed(changes), fused.changed({})
    methods = [name for name, method in METHODS.items() if method.fit is None and method.runs in (None, len(fused.runs))]
    yield Knob(METHOD, "the fusion method", "choice", settings[METHOD], before[METHOD], True, tuple(methods))
    for setting in parameters_of(METHODS[settings[METHOD]], _norm(settings)):
        yield _knob(setting, fused, settings, before)


def _knob(setting: Setting, fused: FusedRuns, settings: Mapping[str, Any], before: Mapping[str, Any]) -> Knob:
    option, key = setting.option, setting.key
    if key == WEIGHTS:
        equal = (1.0,) * len(fused.runs)
        about = "the share of each system"
        return Knob(
            key, about, "weights", settings.get(key, equal), before.get(key, equal), True, fused.names, 0, values=option.values
        )
    kind: KnobKind = "choice" if setting.type is str else "integer" if setting.type is int else "number"
    value, old = settings.get(key, setting.default), before.get(key, setting.default)
    usual = tuple(option.values)
    least = option.least if option.least is not None else min(usual, default=None) if kind != "choice" else None
    most = option.most if option.most is not None else max(usual, default=None) if kind != "choice" else None
    return Knob(key, option.description, kind, value, old, True, tuple(option.choices), least, most, usual)


class FusionBench:
    """The values and rankings of fused runs of results."""

    def __init__(self, results: ExperimentResult, measure: Measure | None, fused: FusedRuns) -> None:
        self._inputs = input_from_results(results, needs_judgements=False)
        self.fused, self._measure = fused, measure
        self._objectives: dict[int, FusionObjective] = {}
        self._lock = Lock()

    @property
    def measure(self) -> Measure:
        """The measure; an error without judgements."""
        if self._measure is None:
            raise UsageError("there are no judgements, so nothing is measured", fix="grade documents with --judge")
        return self._measure

    def objective(self, depth: int) -> FusionObjective:
        """The values of settings with rankings of this depth."""
        with self._lock:
            if depth not in self._objectives:
                measure, qrels, usual = self.measure, self._inputs.qrels, self._inputs.options
                options = replace(usual, read_options=replace(usual.read_options, depth=depth))
                judged = prepare_judgements(qrels, usual)
                self._objectives = {depth: FusionObjective(qrels, judged, self.fused.runs, measure, options)}
            return self._objectives[depth]

    def values(self, changes: Mapping[str, Any]) -> dict[str, float]:
        """The value of each judged query with the changes."""
        settings = dict(self.fused.changed(changes))
        objective = self.objective(settings.pop(DEPTH))
        (values,) = objective.values([tuple(settings.items())]).tolist()
        return dict(zip(objective.queries, values, strict=True))

    def ranking(self, changes: Mapping[str, Any], query: str) -> Ranking:
        """The ranking of a stored query with the changes."""
        run = fused_run(self.fused, self.fused.changed(changes), (query,))
        return [*run.docs], np.asarray(run.scores)

    def space(self, changed: Sequence[str], changes: Mapping[str, Any]) -> Space:
        """The settings that a proof tries: the usual values of what was changed, with the other settings of the system."""
        return fusion_space_of(self.fused, changed, changes)


def fused_run(fused: FusedRuns, settings: Mapping[str, Any], queries: Sequence[str], name: str = "fused") -> Run:
    """The fused rankings of these queries; one that no system ranks is empty."""
    plain = {key: value for key, value in settings.items() if key not in (METHOD, WEIGHTS, DEPTH)}
    runs = [run.restricted_to(frozenset(queries)) for run in fused.runs.values()]
    return fuse(
        runs, str(settings[METHOD]), weights=settings.get(WEIGHTS), depth=settings.get(DEPTH, fused.depth), name=name, **plain
    )


def fusion_space_of(fused: FusedRuns, changed: Sequence[str], changes: Mapping[str, Any]) -> Space:
    """The default settings, and those of each method and normalisation that was there before or after the change."""
    before, after = fused.changed({}), fused.changed(changes)
    families = []
    for method in dict.fromkeys((before[METHOD], after[METHOD])):
        norms = dict.fromkeys((_norm(before), _norm(after))) if NORM in METHODS[method].uses else (_norm(before),)
        for norm in norms:
            fixed = ((METHOD, method), *(((NORM, norm),) if NORM in METHODS[method].uses else ()))
            families.append(ParameterFamily(fixed, tuple(_axes(fused, METHODS[method], norm, changed, before))))
    default = tuple((key, value) for key, value in before.items() if key != DEPTH)
    return Space(default, tuple(families))


def _axes(
    fused: FusedRuns, method: FusionMethod, norm: str, changed: Sequence[str], before: Mapping[str, Any]
) -> Iterator[SearchAxis]:
    """An axis with the usual values of each changed parameter, and with the only value of each other one."""
    for setting in parameters_of(method, norm):
        key, default = setting.key, before.get(setting.key, setting.default)
        if key == NORM or (default is None and key not in changed):
            continue
        if key == WEIGHTS:
            tried = f"grid:{WEIGHT_STEP}" if key in changed else [default]
            yield weights_axis(key, tried, len(fused.runs), default)
        else:
            usual = setting.option.values if key in changed else ()
            yield named_axis(key, setting.type, usual or [default], default)
