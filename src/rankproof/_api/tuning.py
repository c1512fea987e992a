"""Parameters of fused runs and of systems: found on training queries, their gain measured on held-out queries."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankproof._api.values import Tuning
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.evaluate import evaluate_runs, no_judged_query_error
from rankproof._evaluation.notes import MAX_NOTED_SYSTEMS, value_notes
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.sources import prepare_judgements, read_judgements, read_source
from rankproof._evaluation.user_forms import Coercion, queries_of_judgements, with_own_weights
from rankproof._tune.parameters import Space
from rankproof._tune.tables import tuning_tables
from rankproof._tune.tuning import TunedResult, TuningPlan, tune_objective
from rankproof.errors import UsageError, for_message, type_phrase
from rankproof.measures._base import Measure

if TYPE_CHECKING:
    from rankproof._experiment.experiment import Experiment
    from rankproof._experiment.run import RunOptions
    from rankproof._tune.parameters import TunedSystem, ValuesLike
    from rankproof.stages._base import Stage


@dataclass(frozen=True, slots=True)
class FusionChoices:
    """The fusion methods, normalisations and parameters that are tried."""

    methods: Sequence[str]
    norms: Sequence[str]
    vary: Mapping[str, ValuesLike]
    step: float

    def space(self, runs: int) -> Space:
        """The trials for so many runs."""
        from rankproof._tune.trials import fusion_space

        return fusion_space(runs, self.methods, self.norms, self.vary, self.step)


def tune_runs(
    qrels: Any, runs: Any, measure: Measure, fusion: FusionChoices, plan: TuningPlan, options: EvaluateOptions, *, dataset: Any
) -> Tuning:
    """Tunes the fusion of runs, with judgements and runs in any form."""
    from rankproof._tune.tables import TUNED
    from rankproof._tune.trials import RUN, FusionObjective

    _refuse_unused(options)
    options = with_own_weights(options, queries_of_judgements(qrels))
    coercion = Coercion(options.files.columns, options.files.grade_map, options.files.on_conflict)
    source = coercion.qrels(qrels)
    judgements = read_judgements(source, options)
    judged = prepare_judgements(judgements, options)
    if not judged.queries:
        raise no_judged_query_error(judged.source, options.queries)
    sources = coercion.runs(runs, lambda: judged.queries)
    if len(sources) < 2:
        raise UsageError("fusion needs at least two runs", fix="pass two or more runs")
    read = {name: read_source(run, name, options) for name, run in sources.items()}
    notes = value_notes(evaluate_runs(judgements, read, [measure], options).systems, MAX_NOTED_SYSTEMS)
    objective = FusionObjective(judgements, judged, read, measure.with_rel(options.rel), options)
    space = fusion.space(len(read))
    _check_orders(space, options.read_options)
    weights = None if options.weights is None else np.array([options.weights[query] for query in objective.queries], np.float64)
    singles = {name: ((RUN, name),) for name in read}
    result = tune_objective(objective, space, measure.with_rel(options.rel), plan, weights=weights, singles=singles)
    if dataset is None:
        return _tuning(result, None, notes)
    fused = {"default": objective.stage_settings(space.default), TUNED: objective.stage_settings(result.best)}
    return _tuning(result, _runs_toml(dataset, sources, fused, result, options), notes)


def _check_orders(space: Space, how: ReadOptions) -> None:
    """Refuses an order of documents that a method cannot use."""
    from rankproof._fusion.fuse import check_order
    from rankproof._fusion.method import METHODS

    for family in space.families:
        check_order(METHODS[str(dict(family.fixed)["method"])], how.order, lower_is_better=how.lower_is_better)


def _refuse_unused(options: EvaluateOptions) -> None:
    """Refuses options that would give the trials other queries, or other ties than a fused run has."""
    if options.skip_missing:
        raise UsageError("--skip-missing is not used: trials are compared over all judged queries", fix="leave it out")
    if options.read_options.float32:
        raise UsageError("--compat is not used: fused scores are 64-bit floats", fix="leave it out")


def _runs_toml(
    dataset: Any,
    sources: Mapping[str, Any],
    fused: Mapping[str, Mapping[str, Any]],
    result: TunedResult,
    options: EvaluateOptions,
) -> str:
    """The default and the tuned fusion of the run files, and the files themselves."""
    from rankproof._experiment.experiment import Experiment
    from rankproof._tune.tables import TUNED, tuned_toml
    from rankproof.stages._fuse import Fuse
    from rankproof.stages._run_file import RunFile

    for name, source in sources.items():
        if not isinstance(source, str):
            fix = "pass the runs as files, or leave out dataset"
            raise UsageError(f"an experiment file needs the path of run {for_message(name)}", fix=fix)
    how = options.read_options
    reading: dict[str, Any] = {name: getattr(how, name) for name in ("order", "lower_is_better", "on_duplicate")}
    files: dict[str, Stage] = {name: RunFile(os.path.abspath(path), **reading) for name, path in sources.items()}
    inputs, depth = tuple(files.values()), how.depth or RunFile.depth
    systems: dict[str, Stage] = {name: Fuse(inputs, depth=depth, **parameters) for name, parameters in fused.items()}
    file_options = options.files
    experiment = Experiment(
        files,
        dataset=dataset,
        name=TUNED,
        rel=options.rel,
        judged_only=how.judged_only,
        grade_map=file_options.grade_map,
        on_conflict=file_options.on_conflict,
    )
    return tuned_toml(experiment, {**systems, **files}, result)


def tune_system(
    experiment: Experiment,
    system: str | None,
    vary: Mapping[str, ValuesLike],
    measure: Measure,
    plan: TuningPlan,
    options: RunOptions | None,
) -> Tuning:
    """Tunes a system of an experiment."""
    from rankproof._experiment.run import RunOptions
    from rankproof._tune.tables import TUNED, tuned_toml
    from rankproof._tune.trials import SystemObjective

    tuned = chosen_system(experiment, system, vary)
    objective = SystemObjective(experiment, tuned, measure, options or RunOptions())
    try:
        result = tune_objective(objective, tuned.space, objective.measure, plan, weights=objective.weights)
    except UsageError as error:
        if lost := objective.lost_calls:
            raise UsageError(f"{error.what}, and in all trials {lost}", fix="check the server of the model first") from None
        raise
    finally:
        objective.close()
    systems = {tuned.name: tuned.stage, f"{tuned.name}-{TUNED}": tuned.with_settings(result.best)}
    return _tuning(result, tuned_toml(experiment, systems, result), objective.notes)


def chosen_system(experiment: Experiment, system: str | None, vary: Mapping[str, ValuesLike]) -> TunedSystem:
    """The system to tune, by default the only one, with the parameters that vary."""
    from rankproof._tune.parameters import tuned_system

    if system is None and len(experiment.systems) > 1:
        raise UsageError("the experiment has several systems", fix=f"choose one with --system: {', '.join(experiment.systems)}")
    return tuned_system(experiment.systems, next(iter(experiment.systems)) if system is None else system, vary)


def experiment_of(data: Any) -> Experiment:
    """The experiment, which may be in a file."""
    from rankproof._experiment.config_read import read_experiment
    from rankproof._experiment.experiment import Experiment

    if isinstance(data, Experiment):
        return data
    if isinstance(data, str | os.PathLike):
        return read_experiment(data)
    raise UsageError(
        f"without runs, data cannot be {type_phrase(data)}", fix="pass an Experiment or its file, or judgements and runs"
    )


def _tuning(result: TunedResult, toml: str | None, notes: Sequence[str]) -> Tuning:
    first, *others = tuning_tables(result)
    return Tuning(
        tables=(replace(first, notes=(*first.notes, *notes)), *others),
        settings=dict(result.best),
        gain=result.gain.mean,
        interval=result.gain.interval,
        optimism=result.optimism,
        pays=result.pays,
        toml=toml,
    )
