"""The systems behind results for the bench: fused again from stored rankings at once, or run again from the experiment."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from rankproof._data.run import Run
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._llm.budget import Budget
from rankproof._server.bench.port import BenchSource, Changes, KnobList, LiveRanking, Progress, Proof
from rankproof._server.library import LruCache, ResultsLibrary
from rankproof._workbench.fusion import FusedRuns, FusionBench, chosen_fusion, fusion_knobs, stored_fusion
from rankproof._workbench.live import OpenDataset, SystemSource, check_searches
from rankproof._workbench.proof import FusionProof, SystemProof, check_complete, write_proof
from rankproof._workbench.stage_settings import changed_stage, stage_knobs
from rankproof.errors import RankproofError, UsageError
from rankproof.stages._base import Stage
from rankproof.stages._fuse import Fuse

OF = "of"
"""The change that makes B a fusion of stored systems."""
_MOST_DATASETS, _MOST_FUSIONS, _MOST_REBUILT = 2, 4, 8
_CLOSE = 1e-9
_NEEDS_EDIT = "start `rankproof serve` with --edit to run systems again and to prove changes"
T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class RebuiltSystem:
    """A system that was run with other settings: its values and rankings, and for a fusion what it fuses."""

    values: Mapping[str, float]
    run: Run
    fused: FusedRuns | None


@dataclass(eq=False)
class SystemsWorkbench:
    """The workbench of results folders; `home` is the cache folder, `edit` allows to run systems and to ask engines,
    `trust` to import the Python code that an experiment names."""

    library: ResultsLibrary
    home: Path | None
    budget: Budget = field(default_factory=Budget)
    edit: bool = False
    trust: bool = False

    def __post_init__(self) -> None:
        self._sources: LruCache[SystemSource] = LruCache(_MOST_REBUILT)
        self._fusions: LruCache[FusionBench | str] = LruCache(_MOST_FUSIONS)
        self._rebuilt: OrderedDict[Hashable, RebuiltSystem] = OrderedDict()
        self._datasets: OrderedDict[Hashable, OpenDataset] = OrderedDict()
        self._lock = Lock()

    def knobs(self, source: BenchSource, system: str, changes: Changes) -> KnobList:
        """The settings of a system; those that need the experiment are left out where it is not known, with the reason."""
        fusion = self._fusion(source, system, changes)
        needs_edit = "" if self.edit else _NEEDS_EDIT
        knobs = list(fusion_knobs(fusion.fused, _own(changes))) if isinstance(fusion, FusionBench) else []
        if OF in changes:
            why = "a fusion that is chosen here is no system of the experiment"
            return KnobList(tuple(knobs), why, "it is computed from stored rankings", needs_edit)
        try:
            opened = self._source(source, system)
        except RankproofError as error:
            return KnobList(tuple(knobs), str(error), str(error), needs_edit)
        knobs += stage_knobs(opened.experiment.systems, opened.stage, changes, but=bool(knobs))
        cannot_search = _reason(lambda: check_searches(opened.stage))
        return KnobList(tuple(knobs), cannot_search, needs_edit, needs_edit)

    def search(self, source: BenchSource, system: str, changes: Changes, text: str) -> LiveRanking:
        """The ranking of a typed query with the changes."""
        if OF in changes:
            return self._fused_search(source, changes, text)
        opened = self._source(source, system)
        stage = changed_stage(opened.experiment.systems, opened.stage, changes) if changes else opened.stage
        return self._dataset(source, opened).search(stage, text)

    def _fused_search(self, source: BenchSource, changes: Changes, text: str) -> LiveRanking:
        opened = [self._source(source, name) for name in changes[OF]]
        fused = chosen_fusion(source.results, changes[OF])
        settings = dict(fused.changed(_own(changes)))
        stage = Fuse(tuple(part.stage for part in opened), **settings)
        return self._dataset(source, opened[0]).search(stage, text)

    def ranking(self, source: BenchSource, system: str, changes: Changes, query: str) -> LiveRanking | None:
        """The ranking of a stored query with the changes; None before the system is run with them."""
        fusion = self._fusion(source, system, changes)
        if isinstance(fusion, FusionBench):
            docs, scores = fusion.ranking(_own(changes), query)
            return LiveRanking(docs, [float(score) for score in scores])
        rebuilt = self._found(source, system, changes)
        if rebuilt is None:
            return None
        run = rebuilt.run.restricted_to((query,))
        return LiveRanking([*run.docs], np.asarray(run.scores).tolist())

    def values(self, source: BenchSource, system: str, changes: Changes) -> Mapping[str, float] | None:
        """The values of the queries with the changes; None before the system is run with them."""
        fusion = self._fusion(source, system, changes)
        if isinstance(fusion, FusionBench):
            return fusion.values(_own(changes))
        rebuilt = self._found(source, system, changes)
        return None if rebuilt is None else rebuilt.values

    def rebuild(self, source: BenchSource, system: str, changes: Changes, progress: Progress) -> None:
        """Runs the system on all queries: a fusion with its changed inputs, which other settings then fuse at once."""
        self._check_edit()
        opened = self._source(source, system)
        kept = _rebuilt_changes(opened.stage, changes)
        stage = changed_stage(opened.experiment.systems, opened.stage, kept)
        rebuilt = run_system(source, opened, stage, RunOptions(cache=self.home, progress=progress, budget=self.budget))
        with self._lock:
            self._rebuilt[_key(source, system, kept)] = rebuilt
            while len(self._rebuilt) > _MOST_REBUILT:
                self._rebuilt.popitem(last=False)

    def prove(self, source: BenchSource, first: str, system: str, changes: Changes, progress: Progress) -> Proof:
        """Cross-validates the changed settings against the first system, and writes the results."""
        self._check_edit()
        if source.measure is None:
            raise UsageError("there are no judgements, so nothing can be proved", fix="grade documents with --judge")
        fusion = self._fusion(source, system, {key: value for key, value in changes.items() if "." not in key})
        options = RunOptions(cache=self.home, progress=progress, budget=self.budget)
        opened = None if OF in changes else self._source_or_none(source, system)
        if isinstance(fusion, FusionBench) and not any("." in key for key in changes):
            proof: FusionProof | SystemProof = FusionProof(source, system, fusion, _own(changes), opened)
        elif opened is not None:
            proof = SystemProof(source, system, opened, changes, options)
        else:
            raise UsageError("the system is not known here", fix="serve the folder of `rankproof run`")
        return write_proof(self.library, source, first, proof, progress)

    def _check_edit(self) -> None:
        if not self.edit:
            raise UsageError("this server is read-only", fix=_NEEDS_EDIT)

    def _source(self, source: BenchSource, system: str) -> SystemSource:
        make: Callable[[], SystemSource] = lambda: SystemSource(source, system, may_ask=self.edit, trust=self.trust)  # noqa: E731
        return self._sources.get_or_create((source.key, system), make)

    def _source_or_none(self, source: BenchSource, system: str) -> SystemSource | None:
        try:
            return self._source(source, system)
        except RankproofError:
            return None

    def _dataset(self, source: BenchSource, opened: SystemSource) -> OpenDataset:
        """The open dataset of the results; at most two are open."""
        with self._lock:
            if source.key not in self._datasets:
                while len(self._datasets) >= _MOST_DATASETS:
                    self._datasets.popitem(last=False)[1].close()
                self._datasets[source.key] = OpenDataset(opened.experiment, opened.fingerprint, self.home, self.budget)
            self._datasets.move_to_end(source.key)
            return self._datasets[source.key]

    def _found(self, source: BenchSource, system: str, changes: Changes) -> RebuiltSystem | None:
        with self._lock:
            return self._rebuilt.get(_key(source, system, changes))

    def _fusion(self, source: BenchSource, system: str, changes: Changes) -> FusionBench | str:
        """The fusion that computes changes at once, or why there is none."""
        parts = {key: value for key, value in changes.items() if "." in key}
        rebuilt = self._found(source, system, parts)
        if rebuilt is not None and rebuilt.fused is not None:
            return self._cached_fusion((_key(source, system, parts), id(rebuilt)), source, rebuilt.fused, None)
        if parts:
            return "its inputs are changed"
        if OF in changes:
            names = tuple(map(str, changes[OF])) if isinstance(changes[OF], list) else ()
            return self._cached_fusion((source.key, names), source, chosen_fusion(source.results, names), None)
        fused = stored_fusion(source.results, system)
        return fused if isinstance(fused, str) else self._cached_fusion((source.key, system), source, fused, system)

    def _cached_fusion(self, key: Hashable, source: BenchSource, fused: FusedRuns, system: str | None) -> FusionBench | str:
        return self._fusions.get_or_create(key, lambda: _checked_fusion(source, fused, system))

    def close(self) -> None:
        """Closes the open datasets."""
        with self._lock:
            datasets, self._datasets = list(self._datasets.values()), OrderedDict()
        for dataset in datasets:
            dataset.close()


def _checked_fusion(source: BenchSource, fused: FusedRuns, system: str | None) -> FusionBench | str:
    """The fusion, if its own settings give the stored values of the system: else the stored rankings are not its inputs."""
    fusion = FusionBench(source.results, source.measure, fused)
    if system is None or source.measure is None:
        return fusion
    stored = next(part for part in source.results.result.systems if part.name == system)
    known = stored.measures[str(source.measure)].per_query
    values = fusion.values({})
    if values.keys() != known.keys() or any(abs(values[query] - known[query]) > _CLOSE for query in known):
        return "the stored rankings of its inputs do not give its stored values"
    return fusion


def run_system(source: BenchSource, opened: SystemSource, stage: Stage, options: RunOptions) -> RebuiltSystem:
    """The values and rankings of a system that is run now; those of a fusion with the rankings of its inputs."""
    inputs = {f"input {at}": part for at, part in enumerate(stage.inputs(), 1)} if isinstance(stage, Fuse) else {}
    names = {part: name for name, part in opened.experiment.systems.items()}
    measures = None if source.measure is None else [source.measure]
    experiment = replace(
        opened.experiment, systems={"changed": stage, **inputs}, measures=measures, primary=None, baseline=None, costs={}
    )
    results = run_experiment(experiment, replace(options, latency_queries=1))
    check_complete(results)
    (first, *_) = results.result.systems
    values = dict(next(iter(first.measures.values())).per_query) if first.measures else {}
    run = results.system_runs[0].run
    if not inputs or not isinstance(stage, Fuse):
        return RebuiltSystem(values, run, None)
    runs = {names.get(part, label): results.system_run(label).run for label, part in inputs.items()}
    return RebuiltSystem(values, run, FusedRuns(_unique(runs, inputs, results), _fuse_settings(stage), stage.depth))


def _unique(runs: Mapping[str, Run], inputs: Mapping[str, Stage], results: Any) -> Mapping[str, Run]:
    """The runs by name; by their number where two inputs have the same name."""
    return runs if len(runs) == len(inputs) else {label: results.system_run(label).run for label in inputs}


def _fuse_settings(stage: Fuse) -> dict[str, Any]:
    settings = stage.settings()
    shared = {name: getattr(settings, name) for name in ("norm", "k", "gamma", "sigma", "phi", "alpha", "window")}
    return {"method": stage.method, **shared, "weights": stage.weights, **settings.own}


def _rebuilt_changes(stage: Stage, changes: Changes) -> dict[str, Any]:
    """The changes that are run: those of a fusion itself are computed afterwards."""
    return {key: value for key, value in changes.items() if "." in key or not isinstance(stage, Fuse)}


def _own(changes: Changes) -> dict[str, Any]:
    return {key: value for key, value in changes.items() if "." not in key and key != OF}


def _key(source: BenchSource, system: str, changes: Changes) -> Hashable:
    return source.key, system, json.dumps(dict(changes), sort_keys=True, default=list)


def _reason(check: Callable[[], object]) -> str:
    """Why a check fails, empty if it does not."""
    try:
        check()
    except RankproofError as error:
        return str(error)
    return ""
