"""Systems of an experiment: the parameters that vary, the trials through the cache, and scores of rerankers computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Query
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._tune.parameters import TunedSystem, tuned_system
from rankproof._tune.trials import ScoreMemo, SharedScorer, SystemObjective, share_scorers
from rankproof.errors import UsageError
from rankproof.measures import nDCG
from rankproof.stages import BM25, RM3, RRF, KeywordScorer, Rerank
from rankproof.stages._base import BuildContext, LoadedScorer, Stage
from rankproof.stages._scorers import LoadedPassageScorer

HYBRID = RRF((BM25(), BM25(k1=0.9, fields=("title",))))
SYSTEMS: dict[str, Stage] = {
    "bm25": BM25(),
    "expanded": RM3(BM25()),
    "hybrid": HYBRID,
    "reranked": Rerank(HYBRID, KeywordScorer(), top=20, weight=0.5),
}


def axes(tuned: TunedSystem) -> dict[str, tuple[Any, ...]]:
    return {axis.name: axis.values for axis in tuned.space.families[0].axes}


@pytest.mark.parametrize(
    ("text", "values"),
    [("0.9,0.6", (0.6, 0.9)), ("0.1:0.5:0.2", (0.1, 0.3, 0.5)), ("0.1:0.55:0.2", (0.1, 0.3, 0.5)), ([1, 0.5], (0.5, 1.0))],
)
def test_values_are_a_list_or_a_range(text: Any, values: tuple[float, ...]) -> None:
    assert axes(tuned_system(SYSTEMS, "bm25", {"b": text})) == {"b": values}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("bm25", {"k1", "b"}),
        ("expanded", {"docs", "terms", "weight"}),
        ("reranked", {"weight", "top"}),
        ("hybrid", {"k", "weights"}),
    ],
)
def test_a_system_without_vary_varies_the_usual_parameters_of_its_stage(name: str, keys: set[str]) -> None:
    assert set(axes(tuned_system(SYSTEMS, name, {}))) == keys


def test_the_default_settings_give_the_system_itself() -> None:
    for name, stage in SYSTEMS.items():
        tuned = tuned_system(SYSTEMS, name, {})
        assert tuned.with_settings(tuned.space.default) == stage


def test_a_parameter_of_an_input_changes_it_wherever_it_is_used() -> None:
    systems: dict[str, Stage] = {"bm25": BM25(), "both": RRF((BM25(), RM3(BM25())))}
    tuned = tuned_system(systems, "both", {"bm25.k1": "2,3", "rm3.terms": "5"})
    assert tuned.with_settings((("bm25.k1", 3.0), ("rm3.terms", 5))) == RRF((BM25(k1=3), RM3(BM25(k1=3), terms=5)))


def test_the_setting_of_the_own_stage_goes_before_that_of_an_input() -> None:
    tuned = tuned_system(SYSTEMS, "reranked", {"norm": "min-max"})
    assert tuned.with_settings((("norm", "min-max"),)) == Rerank(HYBRID, KeywordScorer(), top=20, weight=0.5, norm="min-max")


def test_weights_are_a_grid_or_a_list() -> None:
    assert len(axes(tuned_system(SYSTEMS, "hybrid", {"weights": "grid:0.25"}))["weights"]) == 5
    tuned = tuned_system(SYSTEMS, "hybrid", {"weights": "1/1,1/3"})
    assert tuned.with_settings((("weights", (1.0, 3.0)),)) == replace(HYBRID, weights=(1, 3))


@pytest.mark.parametrize(
    ("system", "vary", "what", "fix"),
    [
        ("bm26", {}, "no system is called bm26", "choose from: bm25"),
        ("bm25", {"k2": "1"}, "no parameter k2", "bm25.k1"),
        ("hybrid", {"k1": "1"}, "several parts of the system have k1", "choose one: bm25.k1"),
        ("bm25", {"k1": "high"}, "k1 is high", "--vary k1="),
        ("bm25", {"k1": "1:2"}, "is not low:high:step", "--vary k1="),
        ("bm25", {"k1": "2:1:0.5"}, "is not a range", "--vary k1="),
        ("bm25", {"k1": "0:1:1e-9"}, "has more than 100,000 values", "choose a larger step"),
        ("bm25", {"b": "0.5,2"}, "b is 2", "from 0 to 1"),
        ("bm25", {"k1": 5}, "the values of k1 are an int", "a list of values"),
        ("hybrid", {"weights": [1, 2]}, "the values of weights are an int", "a list of values"),
        ("bm25", {"depth": "1.5"}, "depth is 1.5", "whole numbers"),
        ("bm25", {"language": None}, "has no usual values", "--vary k1="),
        ("bm25", {"stemming": "yes"}, "stemming is yes", "true,false"),
        ("hybrid", {"weights": "1/1/1"}, "3 weights for 2 runs", "1/2"),
        ("reranked", {"norm": "l2"}, "l2", "choose one of"),
        ("hybrid", {"norm": "sum,max"}, "norm has no effect", "another parameter"),
    ],
)
def test_wrong_parameters_are_refused_before_any_work(system: str, vary: dict[str, Any], what: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        tuned_system(SYSTEMS, system, vary)
    assert what in caught.value.what
    assert fix in caught.value.fix


@pytest.mark.slow
def test_the_values_of_trials_are_those_of_the_systems_in_an_experiment(tmp_path: Path) -> None:
    options = RunOptions(cache=tmp_path)
    tuned = tuned_system(SYSTEMS, "reranked", {"weight": "0.2", "top": "10,30", "fuse.k": "20"})
    objective = SystemObjective(Experiment(SYSTEMS), tuned, nDCG @ 10, options)
    settings = tuned.space.grid()
    stages = {str(at): tuned.with_settings(one) for at, one in enumerate(settings)}
    result = run_experiment(Experiment(stages, measures=[nDCG @ 10]), options).result
    for row, system in zip(objective.values(settings), result.systems, strict=True):
        expected = dict(zip(system.measures["nDCG@10"].query_ids, system.measures["nDCG@10"].values, strict=True))
        assert row.tolist() == [expected[query] for query in objective.queries]


@dataclass(frozen=True)
class CountedScorer:
    """A keyword scorer that counts the pairs it scores."""

    counts: ScoreMemo

    def build(self, context: BuildContext) -> LoadedScorer:
        return _Counted(KeywordScorer().build(context), self.counts)


class _Counted:
    def __init__(self, inner: LoadedPassageScorer, counts: ScoreMemo) -> None:
        self._inner, self._counts = inner, counts

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        self._counts.scores.update({("", query.id, doc): self._counts.scores.get(("", query.id, doc), 0) + 1 for doc in docs})
        return self._inner.scores(query, docs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.slow
def test_a_reranker_scores_each_pair_once_for_all_trials() -> None:
    counts, memo = ScoreMemo(), ScoreMemo()
    stages = {
        f"{top} {weight}": Rerank(BM25(), SharedScorer(CountedScorer(counts), memo), top=top, weight=weight)
        for top in (10, 30)
        for weight in (0.3, 0.6)
    }
    run_experiment(Experiment(stages), RunOptions(cache=None, latency_queries=1))
    assert counts.scores
    assert set(counts.scores.values()) == {1}


def test_scorers_that_compare_documents_are_not_shared() -> None:
    keywords: dict[Any, ScoreMemo] = {}
    assert isinstance(share_scorers(Rerank(BM25(), KeywordScorer()), keywords).by, SharedScorer)  # type: ignore[attr-defined]
    own = Rerank(BM25(), CountedScorer(ScoreMemo()))
    assert share_scorers(own, keywords) == own


def test_the_tuned_system_is_a_file_that_runs_and_has_the_values_of_its_trial(tmp_path: Path) -> None:
    options = RunOptions(cache=tmp_path / "cache")
    tuning = rp.tune(Experiment(SYSTEMS, name="kitchen"), system="hybrid", vary={"k": "1,1000"}, run_options=options)
    path = tmp_path / "tuned.toml"
    tuning.save(str(path))
    experiment = read_experiment(path)
    assert list(experiment.systems) == ["hybrid", "hybrid-tuned"]
    assert experiment.systems["hybrid"] == HYBRID
    assert experiment.systems["hybrid-tuned"] == replace(HYBRID, **tuning.settings)
    means = run_experiment(replace(experiment, measures=["nDCG@10"]), options).result.means
    rows = {row["system"]: row["nDCG@10"] for row in tuning.records("gain")}
    assert means["hybrid-tuned"]["nDCG@10"] == pytest.approx(rows["tuned, same queries (naive)"], abs=1e-12)


def test_a_second_tuning_reads_every_trial_from_the_cache(tmp_path: Path) -> None:
    labels: list[str] = []
    options = RunOptions(cache=tmp_path, progress=lambda label, done, total: labels.append(label))
    first = rp.tune(Experiment({"bm25": BM25()}), vary={"k1": "0.5,3"}, run_options=options)
    assert any("searching" in label for label in labels)
    labels.clear()
    again = rp.tune(Experiment({"bm25": BM25()}), vary={"k1": "0.5,3"}, run_options=options)
    assert not any("searching" in label for label in labels)
    assert again.to_json() == first.to_json()
