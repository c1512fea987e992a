"""Trials of a system of an experiment: each is run through the cache of the experiment, and rerankers score a pair once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._evaluation.notes import MAX_NOTED_SYSTEMS, value_notes
from rankproof._experiment.experiment import Experiment, stage_with_inputs
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._results.experiment_result import ExperimentResult
from rankproof._tune.parameters import TunedSystem, changed_part
from rankproof._tune.space import Settings
from rankproof.errors import UsageError
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
        first = self._run([tuned.space.default])
        if not first.is_judged:
            raise UsageError("the dataset has no judged query", fix="add judgements to the dataset, or with qrels in the file")
        self.measure = next(iter(first.result.systems[0].measures.values())).measure
        result = first.result.systems[0].measures[str(self.measure)]
        order = sorted(range(len(result.query_ids)), key=lambda at: result.query_ids[at])
        self.queries = tuple(result.query_ids[at] for at in order)
        self.weights = None if result.weights is None else result.weights[order]
        self.notes = value_notes(first.result.systems, MAX_NOTED_SYSTEMS)

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
        return run_experiment(replace(self._experiment, systems=systems), self._options)

    def close(self) -> None:
        """Closes the scorers."""
        for memo in self._memos.values():
            for loaded in memo.loaded.values():
                loaded.close()
