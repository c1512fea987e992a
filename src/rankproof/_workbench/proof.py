"""The proof of changed settings: nested cross-validation, held-out rankings, and the decision on them as new results."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol

import numpy as np

from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.decision.queries_needed import rounded_up
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.inputs import input_from_results
from rankproof._analysis.values import format_points
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.ordering import Ranking
from rankproof._data.run import Run
from rankproof._data.text import in_a_sentence
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._experiment.stage_output import lost_calls_note
from rankproof._io.files import write_blocks
from rankproof._results.experiment_result import ExperimentResult, SystemRun, measured_runs
from rankproof._results.folder import save_results
from rankproof._results.provenance import provenance
from rankproof._server.bench.port import BenchSource, Changes, Progress, Proof
from rankproof._server.library import ResultsLibrary
from rankproof._statistics.paired import differences, paired_statistics, queries_needed
from rankproof._tune.parameters import Settings, Space, TunedSystem, settings_text, tuned_system
from rankproof._tune.search import LEVEL, HeldOut, HeldOutGain, Objective, fold_numbers
from rankproof._tune.tables import TUNED, tuned_toml
from rankproof._tune.trials import SystemObjective
from rankproof._tune.tuning import TunedResult, TuningPlan, tune_objective
from rankproof._workbench.fusion import DEPTH, WEIGHTS, FusionBench, fused_run
from rankproof._workbench.live import SystemSource
from rankproof._workbench.stage_settings import part_settings, usual_values
from rankproof.errors import ExternalError, UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.stages._base import Stage
from rankproof.stages._fuse import Fuse

FIRST: Settings = (("system", "A"),)
"""The trial that is system A as it is stored."""
_MOST_GRID = {"fusion": 2000, "system": 60}
"""Larger spaces are searched one parameter at a time."""


class TunedSettings(Protocol):
    """Settings that a proof tunes: their space, their values, and the rankings with some of them."""

    name: str
    space: Space
    kind: str

    def objective(self) -> Any:
        """The values of settings; closed after the search."""
        ...

    def run_of(self, settings: Settings, queries: Sequence[str]) -> Run:
        """The rankings of these queries with the settings."""
        ...

    def toml(self, result: TunedResult) -> str:
        """The experiment with the tuned system, empty if the systems are not known."""
        ...


class FusionProof:
    """A fusion of stored rankings."""

    kind = "fusion"

    def __init__(self, source: BenchSource, name: str, fusion: FusionBench, changes: Changes, stage: SystemSource | None) -> None:
        self.name, self._fusion, self._opened = name, fusion, stage
        self._depth = fusion.fused.changed(changes)[DEPTH]
        # A fusion that was only chosen differs from its parts by its weights.
        self.space = fusion.space(changed_keys(changes) or [WEIGHTS], changes)

    def objective(self) -> Any:
        """The values of fused runs."""
        return self._fusion.objective(self._depth)

    def run_of(self, settings: Settings, queries: Sequence[str]) -> Run:
        """The fused rankings."""
        return fused_run(self._fusion.fused, {**dict(settings), DEPTH: self._depth}, queries)

    def toml(self, result: TunedResult) -> str:
        """The fusion as it was and tuned."""
        if self._opened is None or not isinstance(self._opened.stage, Fuse):
            return ""
        before, best = self._opened.stage, {**dict(result.best), DEPTH: self._depth}
        own = {setting for setting in best if not hasattr(before, setting)}
        plain: dict[str, Any] = {"weights": None, **{key: value for key, value in best.items() if key not in own}}
        tuned = replace(before, **plain, parameters={key: best[key] for key in own})
        return tuned_toml(self._opened.experiment, {self.name: before, f"{self.name}-{TUNED}": tuned}, result)


class SystemProof:
    """A system that is run with other settings."""

    kind = "system"

    def __init__(self, source: BenchSource, name: str, opened: SystemSource, changes: Changes, options: RunOptions) -> None:
        assert source.measure is not None, "what is not judged cannot be proved"
        self.name, self._opened, self._options, self._measure = name, opened, options, source.measure
        self._tuned = _tuned_system(opened, changed_keys(changes))
        self.space = self._tuned.space

    def objective(self) -> Any:
        """The values of the system, run for each trial."""
        return SystemObjective(self._opened.experiment, self._tuned, self._measure, self._options)

    def run_of(self, settings: Settings, queries: Sequence[str]) -> Run:
        """The rankings of the system."""
        systems = {"tuned": self._tuned.with_settings(settings)}
        experiment = replace(
            self._opened.experiment, systems=systems, measures=[self._measure], primary=None, baseline=None, costs={}
        )
        results = run_experiment(experiment, replace(self._options, latency_queries=1))
        check_complete(results)
        return results.system_runs[0].run.restricted_to(frozenset(queries))

    def toml(self, result: TunedResult) -> str:
        """The system as it was and tuned."""
        systems: dict[str, Stage] = {
            self.name: self._tuned.stage,
            f"{self.name}-{TUNED}": self._tuned.with_settings(result.best),
        }
        return tuned_toml(self._opened.experiment, systems, result)


def check_complete(results: ExperimentResult) -> None:
    """Rejects a run with requests without a reply, whose values would be taken for an effect of settings."""
    if lost := lost_calls_note(system.counts for system in results.system_runs):
        fix = "check the server of the model, and try again: replies so far are cached"
        raise ExternalError(f"the system with these settings has no complete values: {lost}; {fix}")


def changed_keys(changes: Changes) -> list[str]:
    """The settings that were changed, which a proof varies; the depth is kept."""
    return [key for key in changes if key not in (DEPTH, "of")]


def _tuned_system(opened: SystemSource, keys: Sequence[str]) -> TunedSystem:
    """The system with the usual values of what was changed; what is written by hand cannot be chosen by other queries."""
    systems = opened.experiment.systems
    if not keys:
        raise UsageError("a proof keeps the depth, and nothing else was changed", fix="change another setting")
    settings = part_settings(systems, opened.stage)
    for key in keys:
        if key in settings and settings[key].setting.key != "weights" and not usual_values(settings[key]):
            what = f"{for_message(key)} was written while looking at these queries, which cannot prove it"
            raise UsageError(what, fix="save it in an experiment file, and run that on other queries")
    return tuned_system(systems, opened.system, dict.fromkeys(keys))


class WithFirst:
    """An objective that also knows the values of system A."""

    def __init__(self, objective: Objective, known: Mapping[str, float]) -> None:
        if set(objective.queries) - set(known):
            raise UsageError("A has no value for some queries", fix="choose another system A")
        self._objective = objective
        self._first = np.array([known[query] for query in objective.queries], np.float64)

    @property
    def queries(self) -> tuple[str, ...]:
        """The judged queries."""
        return self._objective.queries

    @property
    def first(self) -> FloatArray:
        """The values of A."""
        return self._first

    def values(self, settings: Sequence[Settings]) -> FloatArray:
        """A row for each settings."""
        return np.stack([self._first if chosen == FIRST else self._objective.values([chosen])[0] for chosen in settings])

    def is_trained(self, settings: Settings) -> bool:
        """Never: methods that are trained are left out."""
        return False

    def fitted_values(self, settings: Settings, train: IntArray) -> FloatArray:
        """The values of the settings, which no training changes."""
        row: FloatArray = self.values([settings])[0]
        return row


def cross_validated(
    objective: Objective, first: Mapping[str, float], space: Space, measure: Measure, kind: str, weights: FloatArray | None = None
) -> tuple[TunedResult, WithFirst]:
    """The tuned settings with their held-out gain over A, the second baseline."""
    against = WithFirst(objective, first)
    plan = TuningPlan(search="grid" if space.size <= _MOST_GRID[kind] else "coordinate")
    return tune_objective(against, space, measure, plan, weights=weights, singles={"A": FIRST}), against


def is_better(gain: HeldOutGain, direction: float) -> bool:
    """Whether the interval of a held-out gain excludes no gain, on the better side."""
    if gain.interval is None:
        return False
    return gain.interval[0] > 0 if direction > 0 else gain.interval[1] < 0


def write_proof(library: ResultsLibrary, source: BenchSource, first: str, tuned: TunedSettings, progress: Progress) -> Proof:
    """Cross-validates, writes the results with held-out rankings beside those of the source, and says what is proven."""
    assert source.measure is not None, "what is not judged cannot be proved"
    progress("cross-validation", 0, 2)
    with closing(_Closed(tuned.objective())) as opened:
        values = stored_values(source.results, first, source.measure)
        weights = _weights(source.results, opened.objective.queries)
        result, against = cross_validated(opened.objective, values, tuned.space, source.measure, tuned.kind, weights)
    progress("held-out rankings", 1, 2)
    name = f"{tuned.name}-{TUNED}"
    run = held_out_run(source.results, tuned, result, name)
    results = proof_results(source.results, first, tuned.name, run, name)
    decision = compare_inputs(input_from_results(results)).decision
    folder = proof_folder(source.entry.path, f"{first} against {name}")
    save_results(results, folder)
    toml = tuned.toml(result)
    if toml:
        write_blocks(f"{folder}.toml", [toml.encode(errors="backslashreplace")])
    progress("held-out rankings", 2, 2)
    compared = compared_text(source.results, results, source.measure, decision.sentences[0])
    written = library.added(folder), f"{folder}.toml" if toml else ""
    return _proof(result, against, decision, compared, first, name, *written)


@dataclass(frozen=True, slots=True)
class _Closed:
    """An objective that is closed if it can be."""

    objective: Any

    def close(self) -> None:
        if hasattr(self.objective, "close"):
            self.objective.close()


def stored_values(results: ExperimentResult, system: str, measure: Measure) -> Mapping[str, float]:
    """The stored value of each query."""
    values = next(part for part in results.result.systems if part.name == results.system_run(system).name)
    return values.measures[str(measure)].per_query


def _weights(results: ExperimentResult, queries: Sequence[str]) -> FloatArray | None:
    weights = results.texts.weights
    return None if weights is None else np.array([weights[query] for query in queries], np.float64)


def held_out_run(results: ExperimentResult, tuned: TunedSettings, result: TunedResult, name: str) -> Run:
    """Each judged query ranked with settings that the queries of the other folds chose; any other one with those of all."""
    by_query = dict(held_out_settings(result.queries, result.held, result.plan.seed))
    by_settings: dict[Settings, list[str]] = {}
    for query in results.queries:
        by_settings.setdefault(by_query.get(query, result.best), []).append(query)
    rankings: dict[str, Ranking] = {}
    for settings, queries in by_settings.items():
        run = tuned.run_of(settings, queries)
        rankings |= {query: _ranking(run, query) for query in queries}
    return Run.from_rankings(name, results.queries, [rankings[query] for query in results.queries])


def held_out_settings(queries: Sequence[str], held: HeldOut, seed: int) -> Iterator[tuple[str, Settings]]:
    """The settings of each query in the first repeat of the cross-validation."""
    folds = fold_numbers(len(queries), held.folds, seed, 0)
    yield from ((query, held.chosen[fold]) for query, fold in zip(queries, folds.tolist(), strict=True))


def _ranking(run: Run, query: str) -> Ranking:
    part = run.restricted_to((query,))
    return [*part.docs], np.asarray(part.scores)


def proof_results(results: ExperimentResult, first: str, second: str, run: Run, name: str) -> ExperimentResult:
    """A, B as it was, and B with held-out settings, measured on the same judgements."""
    kept = [part for part in results.system_runs if part.name in (first, second)]
    note = "each query is ranked with settings that other queries chose (5-fold cross-validation), so its values are held out"
    systems = (*(_plain(part) for part in kept), replace(_plain(kept[0]), name=name, kind="run", notes=(note,), stored_run=run))
    systems = (*systems[:-1], replace(systems[-1], stage={"kind": "RunFile", "path": "held-out rankings"}))
    inputs = input_from_results(results)
    judged = frozenset(results.result.queries)
    runs = {label: each.restricted_to(judged) for label, each in measured_runs(systems).items()}
    measures = [measure.measure for measure in results.result.systems[0].measures.values()]
    # The names of measures in results have their lowest relevant grade.
    result = evaluate_runs(results.qrels, runs, measures, replace(inputs.options, rel=1))
    return replace(
        results,
        name=f"{results.name}: {name}",
        result=result,
        system_runs=systems,
        experiment="",
        provenance={**results.provenance, **provenance()},
        notes=(*results.notes, note),
        chunks=None,
        answers=None,
        judged_documents={},
        contexts={},
        decision_settings=replace(results.decision_settings, baseline=first, costs={}),
    )


def compared_text(all_results: ExperimentResult, compared: ExperimentResult, measure: Measure, sentence: str) -> str:
    """The decision with the systems that it is among, and the better systems of all results that were not compared."""
    sign = -1 if measure.higher_is_better is False else 1
    values = {part.name: compared.result.value(measure, part.name) for part in compared.system_runs}
    best = max(sign * value for value in values.values())
    others = [part.name for part in all_results.system_runs if part.name not in values]
    means = {name: all_results.result.value(measure, name) for name in others}
    better = [f"{for_message(name)} ({mean:.3f})" for name, mean in means.items() if sign * mean > best]
    among = f"Among {in_a_sentence([for_message(name) for name in values])} alone: {sentence}"
    if not better:
        return among
    were = "was" if len(better) == 1 else "were"
    return f"{among} {in_a_sentence(better)} {were} not compared, with a better mean."


def _plain(run: SystemRun) -> SystemRun:
    """The rankings of a system alone; times of different runs are not compared."""
    return SystemRun(run.name, "run", run.stage, run.run, {}, None, None, None, None, facts={}, computed=run.computed)


def proof_folder(path: str, what: str) -> str:
    """A new folder beside the results."""
    for number in count(1):
        folder = f"{os.path.normpath(path)}-proof-{number}"
        if not os.path.lexists(folder) and not os.path.lexists(f"{folder}.toml"):
            return folder
    raise AssertionError(f"no folder for {what}")


def _proof(
    result: TunedResult,
    against: WithFirst,
    decision: Decision,
    compared: str,
    first: str,
    name: str,
    results: str,
    toml: str,
) -> Proof:
    gain = result.baselines[1].gain
    low, high = (None, None) if gain.interval is None else gain.interval
    proven = is_better(gain, result.direction) and name in decision.systems
    naive = result.best_value - result.baselines[1].value
    sentence = _proven_sentence(result, first, name) if proven else _open_sentence(result, against, decision, first, name)
    shown = settings_text(result.best)
    return Proof(proven, sentence, gain.mean, low, high, naive, shown, compared, results, toml)


def _proven_sentence(result: TunedResult, first: str, name: str) -> str:
    what = f"Proven: {for_message(name)} is better than {for_message(first)} by {_shown_gain(result)}"
    return f"{what} on queries that did not choose its settings."


def _open_sentence(result: TunedResult, against: WithFirst, decision: Decision, first: str, name: str) -> str:
    what = f"Not proven: {for_message(name)} minus {for_message(first)} is {_shown_gain(result)} on held-out queries"
    return f"{what}: {how_many_more(result, against, decision)}."


def _shown_gain(result: TunedResult) -> str:
    """The held-out gain over A with its interval."""
    gain, measure = result.baselines[1].gain, result.measure
    if gain.interval is None:
        return f"{format_points(gain.mean, measure)} {measure}"
    low, high = (format_points(end, measure).removesuffix(" pp") for end in gain.interval)
    return f"{format_points(gain.mean, measure)} {measure} ({LEVEL:.0%} CI [{low}, {high}])"


def how_many_more(result: TunedResult, against: WithFirst, decision: Decision) -> str:
    """About how many more queries prove a gain as large as the one observed with a chance of 80%."""
    known, gain = len(result.queries), result.baselines[1].gain
    if gain.mean * result.direction <= 0:
        return "no gain, which more queries are unlikely to change"
    statistics = paired_statistics(differences(result.held.means, against.first), result.weights)
    deviation = statistics.deviation * (result.held.folds / (result.held.folds - 1)) ** 0.5
    needed = queries_needed(gain.mean, deviation, 1 - LEVEL)
    if not is_better(gain, result.direction) and needed is not None and needed > known:
        more, gained = rounded_up(needed - known), format_points(abs(gain.mean), result.measure)
        return f"about {more:,} more queries prove a gain of {gained} with a chance of 80%"
    likely = None if decision.needed is None else decision.needed.likely
    if likely is not None and likely > known:
        return f"about {rounded_up(likely - known):,} more queries decide with a chance of 80%"
    return "the systems differ on too few queries"
