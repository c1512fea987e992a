"""Stages and scorers of users: their cache keys, the checks of their rankings, and their names in files."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof import Corpus, Dataset, Experiment, ExperimentResult, Qrels, Queries
from rankproof._data.arrays import FloatArray
from rankproof._data.identity import identity, identity_key, kind_name
from rankproof._data.ordering import Ranking
from rankproof._experiment import run as climbing
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.run import run_experiment
from rankproof.errors import InputError, UsageError
from rankproof.stages import BM25, KeywordScorer, Rerank
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Searcher, Stage
from rankproof.types import Document, Query, RunOptions

QUERIES = 20


class Silent:
    """What a searcher or scorer has to say where it has nothing to say."""

    def cost(self) -> Cost:
        return Cost()

    def facts(self) -> Mapping[str, Any]:
        return {}

    def notes(self) -> Sequence[str]:
        return ()

    def close(self) -> None:
        pass


class FixedSearcher(Silent):
    """Gives what it was told to give, for the third query."""

    def __init__(self, ranking: Any) -> None:
        self._ranking = ranking

    def search(self, query: Query, inputs: Sequence[Ranking], clock: QueryTimer) -> Any:
        return self._ranking if query.id == "q2" else (["d1", "d0"], np.array([2.0, 1.0]))


@dataclass(frozen=True)
class FixedRanking:
    """A stage whose answer to the third query is decided by the test."""

    ranking: Any = field(compare=False, metadata={"identity": False})
    depth: int = 3

    def inputs(self) -> tuple[Stage, ...]:
        return ()

    def build(self, context: BuildContext) -> Searcher:
        return FixedSearcher(self.ranking)


@dataclass(frozen=True)
class Length:
    """Scores by the length of the text."""

    def build(self, context: BuildContext) -> LengthScorer:
        return LengthScorer(context)


class LengthScorer(Silent):
    def __init__(self, context: BuildContext) -> None:
        self._corpus = context.corpus

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        return np.array([len(self._corpus[doc].text) for doc in docs], dtype=np.float64)


def small_shelf() -> Dataset:
    docs = [Document(f"d{n}", "word " * (n + 1)) for n in range(8)]
    queries = [Query(f"q{n}", "word") for n in range(QUERIES)]
    return Dataset("shelf", Corpus(docs), Queries(queries), Qrels.from_dict({query.id: {"d1": 1} for query in queries}))


def run_systems(system: Stage, cache: Path | None = None) -> ExperimentResult:
    return run_experiment(Experiment({"mine": system}, small_shelf()), RunOptions(cache=cache))


GOOD = (["d1", "d2", "d3"], np.array([2.0, 1.0, 1.0]))


def test_a_valid_ranking_of_any_length_up_to_the_depth_is_accepted() -> None:
    assert run_systems(FixedRanking(GOOD)).system_run("mine").run.docs[4:7] == ("d1", "d2", "d3")
    assert len(run_systems(FixedRanking(([], np.zeros(0)))).system_run("mine").run.docs) == 2 * (QUERIES - 1)
    assert (
        len(run_systems(FixedRanking((["d3"], np.array([9], dtype=np.float32)))).system_run("mine").run.docs) == 2 * QUERIES - 1
    )


@pytest.mark.parametrize(
    ("ranking", "what"),
    [
        ((["d1", "d2"], np.array([1.0, 2.0])), "is not in the order of its scores"),
        ((["d1", "d1"], np.array([2.0, 1.0])), "has a document twice"),
        ((["d1", "d9"], np.array([2.0, 1.0])), "has d9, which is not a document of the corpus"),
        ((["d1", ""], np.array([2.0, 1.0])), "which is not a document of the corpus"),
        ((["d1", "d2"], np.array([2.0, np.nan])), "has a score that is not a finite number"),
        ((["d1"], np.array([np.inf])), "has a score that is not a finite number"),
        ((["d1", "d2", "d3", "d4"], np.arange(4.0)[::-1]), "has 4 documents, but the depth of the stage is 3"),
        ((["d1", "d2"], np.array([2.0])), "has 2 documents, but not one score for each"),
        ((["d1"], np.array(["x"])), "has 1 documents, but not one score for each"),
        (([1], np.array([1.0])), "has a document id that is not text"),
        (({"d1": 1.0}), "is not a pair"),
        (None, "is not a pair"),
    ],
)
def test_an_invalid_ranking_is_refused_with_system_stage_and_query(ranking: Any, what: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        run_systems(FixedRanking(ranking), tmp_path)
    assert str(refused.value).startswith("mine: the ranking of FixedRanking for query q2 ")
    assert what in str(refused.value)
    assert not list(tmp_path.glob("stages/*"))


def first() -> Stage:
    @dataclass(frozen=True)
    class Twin(FixedRanking):
        ranking: Any = field(default=(["d1"], np.array([1.0])), compare=False, metadata={"identity": False})

    return Twin()


def second() -> Stage:
    @dataclass(frozen=True)
    class Twin(FixedRanking):
        ranking: Any = field(default=(["d2"], np.array([1.0])), compare=False, metadata={"identity": False})

    return Twin()


def test_two_classes_of_one_name_never_share_cached_outputs(tmp_path: Path) -> None:
    one, other = run_systems(first(), tmp_path), run_systems(second(), tmp_path)
    assert not other.system_run("mine").from_cache
    assert (one.system_run("mine").run.docs[4], other.system_run("mine").run.docs[4]) == ("d1", "d2")
    assert run_systems(first(), tmp_path).system_run("mine").from_cache


def test_a_class_of_rankproof_is_identified_by_name_and_others_also_by_module() -> None:
    assert identity(BM25())["kind"] == "BM25"
    assert identity(Length()) == {"kind": f"{__name__}.Length"}
    assert kind_name(type(first())) == f"{__name__}.first.<locals>.Twin"


def test_a_value_that_is_not_a_dataclass_has_no_identity() -> None:
    with pytest.raises(UsageError, match="make it a frozen dataclass"):
        identity_key(Silent())


def test_a_user_scorer_is_run_and_written_with_the_python_prefix(tmp_path: Path) -> None:
    found = run_systems(Rerank(BM25(), Length(), top=4))
    run = found.system_run("mine").run
    assert [len(small_shelf().corpus[doc].text) for doc in run.docs[:4]] == sorted(
        (len(small_shelf().corpus[doc].text) for doc in run.docs[:4]), reverse=True
    )
    table = tomllib.loads(found.experiment)["systems"]["mine"]
    assert (table["stage"], table["by"], table["top"]) == ("rerank", "python:Length", 4)
    (tmp_path / "again.toml").write_text(found.experiment.replace("python:shelf", "sample"))
    with pytest.raises(InputError, match="no scorer is called python:Length"):
        read_experiment(tmp_path / "again.toml")


def test_a_user_stage_with_a_name_of_rankproof_is_written_with_the_python_prefix() -> None:
    @dataclass(frozen=True)
    class BM25(FixedRanking):
        ranking: Any = field(default=GOOD, compare=False)

    @dataclass(frozen=True)
    class Keywords(Length):
        pass

    tables = tomllib.loads(experiment_toml(Experiment({"mine": BM25(), "sorted": Rerank(BM25(), Keywords())})))["systems"]
    assert tables["mine"] == {"stage": "python:BM25"}
    assert tables["sorted"]["by"] == "python:Keywords"


def test_a_stage_without_identity_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(experiment: Experiment) -> str:
        raise UsageError("no", fix="none")

    def unreached(*_: Any) -> None:
        pytest.fail("work was done")

    monkeypatch.setattr(climbing, "experiment_toml", refused)
    monkeypatch.setattr(FixedRanking, "build", unreached)
    with pytest.raises(UsageError, match="no; none"):
        run_systems(FixedRanking(GOOD))


class Covered(Silent):
    """Tells how many different queries it was asked, alone or in a batch."""

    stop_at: str | None = None

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def search(self, query: Query, inputs: Sequence[Ranking], clock: QueryTimer) -> Ranking:
        if query.id == Covered.stop_at:
            raise KeyboardInterrupt
        self._seen.add(query.id)
        return ["d1"], np.array([1.0])

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        return [self.search(query, (), QueryTimer()) for query in queries]

    def facts(self) -> Mapping[str, Any]:
        return {"covered": len(self._seen)}


@dataclass(frozen=True)
class Covering(FixedRanking):
    ranking: Any = field(default=None, compare=False, metadata={"identity": False})

    def build(self, context: BuildContext) -> Searcher:
        return Covered()


def test_the_notes_of_a_searcher_cover_queries_of_an_earlier_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Covered, "stop_at", "q18")
    with pytest.raises(KeyboardInterrupt):
        run_systems(Covering(), tmp_path)
    monkeypatch.setattr(Covered, "stop_at", None)
    assert run_systems(Covering(), tmp_path).system_run("mine").facts == {"covered": QUERIES}


def test_only_registered_classes_have_a_name_in_a_file() -> None:
    assert tomllib.loads(experiment_toml(Experiment({"k": Rerank(BM25(), KeywordScorer())})))["systems"]["k"]["by"] == "keywords"


class SlowSearcher(Silent):
    """Takes 20 ms and reports a part of it, or nothing."""

    def __init__(self, part: bool) -> None:
        self._part = part

    def search(self, query: Query, inputs: Sequence[Ranking], clock: QueryTimer) -> Ranking:
        time.sleep(0.01)
        with clock.part("embed") if self._part else nullcontext():
            time.sleep(0.01)
        return ["d1"], np.array([1.0])


@dataclass(frozen=True)
class Slow:
    """A stage that takes its time."""

    part: bool
    depth: int = 3

    def inputs(self) -> tuple[Stage, ...]:
        return ()

    def build(self, context: BuildContext) -> Searcher:
        return SlowSearcher(self.part)


@pytest.mark.parametrize("part", [True, False])
def test_the_time_of_a_search_is_measured_whatever_the_stage_reports(part: bool) -> None:
    found = run_experiment(Experiment({"slow": Slow(part)}, dataset=small_shelf()), RunOptions(cache=None))
    times = found.system_run("slow").times
    assert min(times["total"]) >= 20
    assert np.array_equal(times["total"], times["embed" if part else "search"])
