"""Experiments, options and results as values: what they accept, and how they are compared and shown."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.experiment import system_kind
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._io.paths import cache_home
from rankproof.errors import ExternalError, UsageError
from rankproof.models._chat.llama_cpp import Llama
from rankproof.stages import BM25, RRF, Fuse, KeywordScorer, Pointwise, Rerank
from rankproof.stages._base import BuildContext, Searcher, Stage
from support.small_results import small_results


def experiment(**changes: Any) -> rp.Experiment:
    return rp.Experiment(**{"systems": {"bm25": BM25(), "both": RRF((BM25(), BM25(k1=2)))}, **changes})


@dataclass(frozen=True)
class Joining:
    """A stage of one's own over others, and one that cannot be hashed where its list is given."""

    stages: Any
    depth: int = 10

    def inputs(self) -> tuple[Stage, ...]:
        return tuple(self.stages)

    def build(self, context: BuildContext) -> Searcher:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"systems": {}}, "no system"),
        ({"systems": BM25()}, "no system"),
        ({"systems": {"a": "bm25"}}, "system a has a str, which is not a stage"),
        ({"systems": {"a": BM25}}, "system a has the class BM25, which is not a stage"),
        ({"systems": {"a": KeywordScorer()}}, "system a has a KeywordScorer"),
        ({"systems": {"a": Joining(("bm25",))}}, "system a has a str"),
        ({"systems": {"a": Joining([BM25()])}}, "system a has a Joining"),
        ({"systems": {"": BM25()}}, "'' is not a name of a system"),
        ({"systems": {1: BM25()}}, "1 is not a name of a system"),
        ({"dataset": 3}, "dataset is an int"),
        ({"dataset": ""}, "dataset is a str"),
        ({"dataset": None}, "dataset is a NoneType"),
        ({"split": 1}, "split is an int"),
        ({"name": None}, "name is a NoneType"),
        ({"measures": ["nDGC"]}, "unknown measure nDGC"),
        ({"measures": []}, "no measure"),
        ({"measures": [3]}, "3 is not a measure"),
        ({"rel": 0}, "rel is 0; choose a whole number of at least 1"),
        ({"limit": True}, "limit is True"),
        ({"limit": 1.5}, "limit is 1.5"),
        ({"seed": "x"}, "seed is x; choose a whole number of at least 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_an_invalid_experiment_is_refused_on_construction(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError) as refused:
        experiment(**changes)
    assert what in str(refused.value)


def test_measures_may_be_names_and_the_dataset_a_path() -> None:
    named = experiment(measures=["ndcg@10", rp.measures.RR], dataset=Path("my-data"))
    assert named == experiment(measures=[rp.measures.nDCG @ 10, rp.measures.RR], dataset="my-data")
    assert experiment(measures="RR,P@5").measures == (rp.measures.RR, rp.measures.P @ 5)
    assert "dataset" in experiment_toml(named)


def test_equal_experiments_have_one_hash_and_survive_a_copy() -> None:
    one, other = experiment(limit=3), experiment(limit=3)
    assert hash(one) == hash(other)
    assert len({one, other, experiment()}) == 2
    for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert again == one
        assert list(again.systems) == list(one.systems)


def test_the_systems_of_an_experiment_cannot_be_changed() -> None:
    mine: dict[str, Stage] = {"bm25": BM25()}
    found = rp.Experiment(mine)
    mine["more"] = BM25(k1=2)
    assert list(found.systems) == ["bm25"]
    with pytest.raises(TypeError):
        found.systems["more"] = BM25()  # type: ignore[index]


def test_a_cache_may_be_text_and_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert rp.types.RunOptions(cache="here").cache == tmp_path / "here"
    assert rp.types.RunOptions(cache="~/there").cache == tmp_path / "home" / "there"
    assert rp.types.RunOptions().cache == cache_home()
    assert rp.types.RunOptions(cache=None).cache is None


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"cache": 3}, "int"), ({"cache": ""}, "empty"), ({"threads": 0}, "threads is 0"), ({"progress": 3}, "progress is an int")],
)
def test_invalid_options_are_refused_on_construction(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        rp.types.RunOptions(**changes)


def test_only_an_experiment_its_file_or_stages_can_be_run() -> None:
    with pytest.raises(UsageError, match=r"the experiment cannot be an int; .*rankproof.read_experiment\(path\)"):
        rp.run(3)  # type: ignore[arg-type]
    with pytest.raises(rp.errors.InputError, match=r"x\.toml: file not found"):
        rp.run("x.toml")
    with pytest.raises(UsageError, match="the experiment has its own dataset; leave out dataset="):
        rp.run(rp.Experiment({"bm25": BM25()}), dataset="sample")


def test_stages_by_name_run_on_a_dataset() -> None:
    results = rp.run({"mine": BM25()}, rp.types.RunOptions(cache=None), dataset="sample")
    assert [one.name for one in results.system_runs] == ["mine"]


def test_an_unknown_system_is_refused_with_the_known_ones() -> None:
    results = small_results(("a", "b"))
    assert results.system_run("b").name == "b"
    with pytest.raises(UsageError, match="no system is called c; choose from: a, b"):
        results.system_run("c")


def test_results_and_systems_begin_with_what_they_are() -> None:
    results = small_results(("a", "b"))
    assert repr(results).startswith("Results small: 3 judged queries, 2 systems\n")
    assert repr(results.system_runs[1]).startswith("SystemRun b: rerank, 3 queries\n")


def test_too_many_stages_are_refused_before_they_are_walked() -> None:
    chain: Stage = BM25()
    doubled: Stage = BM25()
    for _ in range(50):
        chain = Rerank(chain, KeywordScorer())
    for _ in range(40):
        doubled = Fuse((doubled, doubled))
    with pytest.raises(UsageError, match="system x has more than 50 levels of stages"):
        rp.Experiment({"x": chain})
    with pytest.raises(UsageError, match="system x has more than 1000 stages, each counted as often as it is used"):
        rp.Experiment({"x": doubled})


def test_a_stage_with_several_inputs_is_a_fusion() -> None:
    two = (BM25(), BM25(k1=2))
    assert system_kind(Joining(two)) == "fusion"
    assert system_kind(Fuse((BM25(),))) == "fusion"
    assert system_kind(Joining(two[:1])) == system_kind(Rerank(BM25(), KeywordScorer())) == "rerank"
    assert system_kind(BM25()) == "retrieval"


def test_missing_weights_are_refused_before_the_systems_before_them_run(tmp_path: Path) -> None:
    labels: list[str] = []
    model = Llama(str(tmp_path / "none.gguf"))
    systems: dict[str, Stage] = {"bm25": BM25(), "llm": Rerank(BM25(), Pointwise(model), top=2)}
    with pytest.raises(ExternalError, match=r"none\.gguf: cannot be read"):
        run_experiment(experiment(systems=systems), RunOptions(None, progress=lambda label, done, total: labels.append(label)))
    assert not [label for label in labels if "bm25" in label.lower()]
