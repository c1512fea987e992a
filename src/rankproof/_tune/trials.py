"""Trials: fusion methods on run files, and systems of an experiment through its cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankproof._align.hits import AlignmentCounts, Hits, JudgedQueries, Ties
from rankproof._data.arrays import BoolArray, FloatArray, IntArray, list_numbers
from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.notes import MAX_NOTED_SYSTEMS, value_notes
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.sources import align
from rankproof._experiment.experiment import Experiment, stage_with_inputs
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._experiment.stage_output import CountsByName, lost_calls_note
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.fuse import Fuser, checked_settings, checked_weights, method_for, own_parameters_of
from rankproof._fusion.kernels import ranks_of
from rankproof._fusion.method import METHODS, Fitted, FusionMethod, Training, own_name
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._results.experiment_result import ExperimentResult
from rankproof._tune.parameters import (
    WEIGHT_STEP,
    ParameterFamily,
    SearchAxis,
    Settings,
    Space,
    TunedSystem,
    ValuesLike,
    changed_part,
    named_axis,
    weights_axis,
)
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.stages._base import BuildContext, LoadedScorer, Scorer, Stage
from rankproof.stages._maxsim import MaxSim
from rankproof.stages._rerank import Rerank
from rankproof.stages._scorers import BiEncoderScorer, CrossEncoderScorer, KeywordScorer

_POINTWISE = (BiEncoderScorer, CrossEncoderScorer, KeywordScorer, MaxSim)
"""Scorers whose score of a document does not depend on the other documents."""


@dataclass(eq=False, slots=True)
class ScoreMemo:
    """Scores of pairs that are known, and the scorer, which is built for the first pair that is not."""

    scores: dict[tuple[str, str, str], float] = field(default_factory=dict)
    loaded: dict[str, LoadedScorer] = field(default_factory=dict)


@dataclass(frozen=True)
class SharedScorer:
    """A scorer whose scores are shared by all trials."""

    by: Scorer
    memo: ScoreMemo = field(compare=False, repr=False, metadata=NOT_IN_IDENTITY)

    def build(self, context: BuildContext) -> LoadedSharedScorer:
        """Builds nothing until a score is missing."""
        return LoadedSharedScorer(self, context)


class LoadedSharedScorer(LoadedScorer):
    """Looks scores up, and asks the scorer for those that are missing."""

    def __init__(self, value: SharedScorer, context: BuildContext) -> None:
        self._value, self._context = value, context

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """One score for each document."""
        place, known = self._context.corpus_key, self._value.memo.scores
        missing = [doc for doc in docs if (place, query.text, doc) not in known]
        if missing:
            scores = np.asarray(self._scorer().scores(query, missing), dtype=np.float64)
            known.update({(place, query.text, doc): score for doc, score in zip(missing, scores.tolist(), strict=True)})
        return np.array([known[place, query.text, doc] for doc in docs], dtype=np.float64)

    def _scorer(self) -> LoadedScorer:
        loaded = self._value.memo.loaded
        if self._context.corpus_key not in loaded:
            loaded[self._context.corpus_key] = self._value.by.build(self._context)
        return loaded[self._context.corpus_key]


def share_scorers(stage: Stage, memos: dict[Scorer, ScoreMemo]) -> Stage:
    """The system with scorers that score each pair once for all trials; `memos` holds the scores of each scorer."""
    changes: dict[Any, dict[str, Any]] = {}
    for part in stage_with_inputs(stage):
        if isinstance(part, Rerank) and isinstance(part.by, _POINTWISE):
            changes[part] = {"by": SharedScorer(part.by, memos.setdefault(part.by, ScoreMemo()))}
    shared: Stage = changed_part(stage, changes)
    return shared


class SystemObjective:
    """The values of a system of an experiment with other settings."""

    def __init__(self, experiment: Experiment, tuned: TunedSystem, measure: Measure, options: RunOptions) -> None:
        # Latency is not tuned, so one query is timed.
        self._tuned, self._options = tuned, replace(options, latency_queries=1)
        self._experiment = replace(experiment, measures=[measure], primary=None, baseline=None, costs={})
        self._rows: dict[Settings, FloatArray] = {}
        self._memos: dict[Scorer, ScoreMemo] = {}
        self._counts: list[CountsByName] = []
        first = self._run([tuned.space.default])
        if not first.is_judged:
            raise UsageError("the dataset has no judged query", fix="add judgements to the dataset, or with qrels in the file")
        self.measure = next(iter(first.result.systems[0].measures.values())).measure
        result = first.result.systems[0].measures[str(self.measure)]
        order = sorted(range(len(result.query_ids)), key=lambda at: result.query_ids[at])
        self.queries = tuple(result.query_ids[at] for at in order)
        self.weights = None if result.weights is None else result.weights[order]
        self._value_notes = value_notes(first.result.systems, MAX_NOTED_SYSTEMS)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the values of the first trial, and on requests of any trial without a reply."""
        lost = self.lost_calls
        return (*([f"in all trials, {lost}"] if lost else []), *self._value_notes)

    @property
    def lost_calls(self) -> str:
        """What happened instead of the requests of all trials without a reply; empty if there was none."""
        return lost_calls_note(self._counts)

    def values(self, settings: Sequence[Settings]) -> FloatArray:
        """A row for each settings."""
        if new := [setting for setting in settings if setting not in self._rows]:
            for setting, system in zip(new, self._run(new).result.systems, strict=True):
                result = system.measures[str(self.measure)]
                by_query = dict(zip(result.query_ids, result.values.tolist(), strict=True))
                self._rows[setting] = np.array([by_query[query] for query in self.queries])
        return np.stack([self._rows[setting] for setting in settings])

    def is_trained(self, settings: Settings) -> bool:
        """Never: stages are not fitted to judgements."""
        return False

    def fitted_values(self, settings: Settings, train: IntArray) -> FloatArray:
        """The values of the settings, which no training changes."""
        values: FloatArray = self.values([settings])[0]
        return values

    def _run(self, settings: Sequence[Settings]) -> ExperimentResult:
        stages = (share_scorers(self._tuned.with_settings(setting), self._memos) for setting in settings)
        systems = {f"trial {len(self._rows) + at + 1}": stage for at, stage in enumerate(stages)}
        results = run_experiment(replace(self._experiment, systems=systems), self._options)
        self._counts += [system.counts for system in results.system_runs]
        return results

    def close(self) -> None:
        """Closes the scorers."""
        for memo in self._memos.values():
            for loaded in memo.loaded.values():
                loaded.close()


RUN = "run"
"""The parameter of a trial that is one run alone."""
ALL = "all"
_NO_PARAMETERS = ("method", "weights")


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
        parameters = {name: value for name, value in settings.items() if name not in _NO_PARAMETERS}
        if method.fit is not None:
            parameters["fitted"] = self._fit(method, settings, train)
        fuser = Fuser(method, checked_settings(method, parameters, runs), checked_weights(method, runs, settings.get("weights")))
        return fuser.scores(self._table)

    def _fit(self, method: FusionMethod, settings: Mapping[str, Any], train: IntArray) -> Fitted:
        assert method.fit is not None, "only trained methods are fitted"
        parameters = {name: value for name, value in settings.items() if name not in _NO_PARAMETERS}
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
            families.append(ParameterFamily(fixed, _axes(method, norm, runs, vary, step)))
    _reject_unused(vary, families)
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


def _axes(method: FusionMethod, norm: str, runs: int, vary: Mapping[str, ValuesLike], step: float) -> tuple[SearchAxis, ...]:
    """The axes of the method's parameters; the normalisation is part of the family."""
    axes = []
    shared = [setting for setting in method.parameters if setting not in method.own]
    for parameter in (*shared, *own_parameters_of(method, norm)):
        values = vary.get(parameter.key) or parameter.option.values
        if parameter.key == "weights" and runs > 1:
            axes.append(weights_axis("weights", vary.get("weights") or f"grid:{step}", runs, None))
        elif parameter.key not in ("weights", "norm") and values:
            axes.append(named_axis(parameter.key, parameter.type, values, parameter.default))
    return tuple(axes)


def _reject_unused(vary: Mapping[str, ValuesLike], families: Sequence[ParameterFamily]) -> None:
    known = dict.fromkeys(axis.name for family in families for axis in family.axes)
    for name in vary:
        if name not in known:
            fix = f"choose from: {', '.join(known)}" if known else "choose a method with parameters, such as rrf"
            raise UsageError(f"the methods have no parameter {for_message(name)}", fix=fix)


@dataclass(frozen=True, eq=False)
class JudgedCandidates:
    """The judged candidates of a table: those of its query i are chosen_offsets[i] to chosen_offsets[i + 1].

    `rows` is the index of each judged query in the table, -1 if the table lacks it; `codes` are those of judgements by code.
    """

    table: CandidateTable
    judged: JudgedQueries
    chosen: IntArray
    chosen_offsets: IntArray
    grades: IntArray
    rows: IntArray
    codes: IntArray | None = None

    @classmethod
    def of(cls, table: CandidateTable, judged: JudgedQueries, qrels: Mapping[str, Mapping[str, int]]) -> JudgedCandidates:
        """The candidates that `qrels` judges; `judged` are the same judgements as an engine reads them."""
        chosen: list[int] = []
        grades: list[int] = []
        codes: list[int] = []
        ends = [0]
        of_judged = set(judged.queries)
        for query, start, end in zip(table.queries, table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True):
            known = qrels[query] if query in of_judged else {}
            pairs = [(at, known[doc]) for at, doc in enumerate(table.docs[start:end], start=start) if doc in known]
            chosen.extend(at for at, _ in pairs)
            grades.extend(grade for _, grade in pairs)
            ends.append(len(chosen))
            if judged.documents is not None:
                code_of = {doc: code for code, doc in enumerate(sorted(known, reverse=True))}
                codes.extend(code_of[table.docs[at]] for at, _ in pairs)
        at_query = {query: at for at, query in enumerate(table.queries)}
        rows = np.array([at_query.get(query, -1) for query in judged.queries], dtype=np.int64)
        places, bounds, levels = (np.array(values, dtype=np.int64) for values in (chosen, ends, grades))
        by_code = None if judged.documents is None else np.array(codes, dtype=np.int64)
        return cls(table, judged, places, bounds, levels, rows, by_code)

    def hits(self, scores: FloatArray) -> Hits:
        """The hits of the ranking by these scores, one for each candidate."""
        table = self.table
        ranks, starts, sizes = ranks_of(scores, table.offsets, table.by_id, self.chosen, self.chosen_offsets)
        owners = list_numbers(np.diff(self.chosen_offsets))
        by_rank = np.lexsort((ranks, self._judged_index[owners])) if len(owners) else np.zeros(0, np.int64)
        # Row -1, of a query that the table lacks, takes the 0 at the end.
        counts = np.append(np.diff(self.chosen_offsets), 0)[self.rows]
        return Hits(
            judged=self.judged,
            present=self._present,
            retrieved=np.append(np.diff(table.offsets), 0)[self.rows],
            offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)]),
            ranks=ranks[by_rank],
            grades=self.grades[by_rank],
            ties=Ties(starts[by_rank], sizes[by_rank]),
            alignment_counts=AlignmentCounts(rows=table.size),
            codes=None if self.codes is None else self.codes[by_rank],
        )

    @property
    def _present(self) -> BoolArray:
        return self.rows >= 0

    @property
    def _judged_index(self) -> IntArray:
        """For each query of the table, its index among the judged queries; queries without judgements have no candidates here."""
        index = np.zeros(len(self.table.queries), dtype=np.int64)
        index[self.rows[self._present]] = np.flatnonzero(self._present)
        return index
