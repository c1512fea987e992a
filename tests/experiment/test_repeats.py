"""`run --repeats`: systems with a search engine or language model are run several times, others once."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._experiment.estimate import estimate_cost
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._report.sections.systems import comparison_systems
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, save_results
from rankproof.models._chat.base import ChatRequest
from rankproof.stages import BM25, GenerateAnswer
from rankproof.stages._base import Stage
from support.scripted_chat import ScriptedChat
from support.scripted_engine import ScriptedEngine

QUERIES = 4


def dataset() -> Dataset:
    docs = [Document(f"d{at}", f"pie number {at}") for at in range(QUERIES)]
    queries = [Query(f"q{at}", f"pie {at}", fields={"answers": ["right"]}) for at in range(QUERIES)]
    return Dataset("pies", Corpus(docs), Queries(queries), Qrels.from_dict({query.id: {"d0": 1} for query in queries}))


def run(systems: dict[str, Stage], repeats: int, cache: Path | None = None) -> ExperimentResult:
    experiment = Experiment(systems, dataset=dataset(), measures=("RR@10", "EM"))
    return run_experiment(experiment, RunOptions(cache=cache, repeats=repeats))


def changing_engine() -> ScriptedEngine:
    """An engine that finds the relevant document in every second request to it."""
    asked = count()
    return ScriptedEngine(lambda query, size: ["d0"] if next(asked) // QUERIES % 2 == 0 else ["d1", "d0"])


def changing_model() -> ScriptedChat:
    """A language model that answers right in the first and last of three runs."""
    asked = count()

    def script(request: ChatRequest) -> str:
        return f'{{"answer": "{"wrong" if next(asked) // QUERIES == 1 else "right"}", "sources": []}}'

    return ScriptedChat(script)


def test_the_value_of_a_query_is_the_mean_over_the_repeats_of_an_engine(tmp_path: Path) -> None:
    engine = changing_engine()
    found = run({"shop": engine, "bm25": BM25()}, 2)
    assert found.result.value("RR@10", "shop") == 0.75
    assert found.result.systems[0].measures["RR@10"].repeats["q0"].tolist() == [1, 0.5]
    assert [len(one.repeat_runs) for one in found.system_runs] == [1, 0]
    assert found.system_run("shop").facts["repeats"] == 2
    assert any(note == "bm25 asks no search engine or language model and ran once, not 2 times" for note in found.notes)
    save_results(found, tmp_path / "results")
    loaded = load_results(tmp_path / "results")
    assert loaded.result.value("RR@10", "shop") == 0.75
    assert [len(one.repeat_runs) for one in loaded.system_runs] == [1, 0]
    repeats = rp.compare(loaded, measures="RR@10").decision.repeats
    assert repeats is not None
    assert [(one.name, one.answers) for one in repeats.by_system] == [("shop", 8), ("bm25", 4)]


def test_another_measure_of_repeated_rankings_is_a_mean_as_well(tmp_path: Path) -> None:
    found = run({"shop": changing_engine(), "bm25": BM25()}, 2)
    assert rp.compare(found, measures="Success@1").values["shop"]["Success@1"] == 0.5


def test_the_report_shows_the_repeats() -> None:
    section = comparison_systems(rp.compare(run({"shop": changing_engine(), "bm25": BM25()}, 2), measures="Success@1"))
    assert [table.title for table in section.tables][1:] == ["Repeated answers by Success@1"]


def test_a_language_model_is_asked_again_and_its_answers_are_repeats(tmp_path: Path) -> None:
    model = changing_model()
    found = run({"answers": GenerateAnswer(BM25(), model), "bm25": BM25()}, 3)
    assert model.log.calls == 3 * QUERIES
    run_of = found.system_run("answers")
    assert run_of.repeat_runs == ()
    assert run_of.answers is not None
    assert [answer.text for _, _, answer in run_of.answers.with_repeats()][:3] == ["right", "wrong", "right"]
    assert found.answers is not None
    assert found.answers.value("EM", "answers") == pytest.approx(2 / 3)


def test_a_second_run_asks_nothing_again_and_more_repeats_ask_only_the_new_ones(tmp_path: Path) -> None:
    model, engine = changing_model(), changing_engine()
    systems: dict[str, Stage] = {"answers": GenerateAnswer(BM25(), model), "shop": engine}
    first = run(systems, 2, tmp_path)
    assert (model.log.calls, len(engine.log) - engine.log.count(("engine", "closed"))) == (2 * QUERIES, 2 * QUERIES)
    again = run(systems, 2, tmp_path)
    assert model.log.calls == 2 * QUERIES
    assert again.result.means == first.result.means
    run(systems, 3, tmp_path)
    assert model.log.calls == 3 * QUERIES


def test_the_estimate_counts_repeats_of_what_is_asked() -> None:
    systems: dict[str, Stage] = {"answers": GenerateAnswer(BM25(), changing_model()), "shop": changing_engine(), "bm25": BM25()}
    experiment = Experiment(systems, dataset=dataset())
    once, thrice = (estimate_cost(experiment, repeats=repeats) for repeats in (1, 3))
    assert {name: cost.estimate.calls for name, cost in once.systems.items()} == {"answers": 4, "shop": 4, "bm25": 0}
    assert {name: cost.estimate.calls for name, cost in thrice.systems.items()} == {"answers": 12, "shop": 12, "bm25": 0}


def test_a_number_of_repeats_below_1_is_refused() -> None:
    with pytest.raises(rp.errors.UsageError, match="repeats"):
        RunOptions(repeats=0)
