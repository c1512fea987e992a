"""Failed calls of language models are noted at their system, and outputs that depend on them are not cached."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rankproof._data.answers import Answer as Given
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._render.systems import failed_call_notes
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import UsageError
from rankproof.models._api.settings import ModelRequestError
from rankproof.models._chat.base import ChatRequest
from rankproof.stages import BM25, RRF, ExtractAnswer, GenerateAnswer, KeywordScorer, Listwise, Pointwise, Rerank
from rankproof.stages._answer import ExtractSearcher
from rankproof.stages._base import Stage
from support.scripted_chat import ScriptedChat, ScriptedReply
from support.stage_building import corpus_of

DOWN = ModelRequestError("status 400")


def small_dataset_of(count: int = 1) -> Dataset:
    """Documents whose order BM25 knows, and queries that all want the last of them."""
    docs = {f"d{at}": "pie " * (5 - at) + "x " * at for at in range(4)}
    queries = [Query(f"q{at:03}", f"pie {at}", fields={"answers": ["x"]}) for at in range(count)]
    return Dataset("pies", corpus_of(docs), Queries(queries), Qrels.from_dict({query.id: {"d3": 1} for query in queries}))


def reversed_order(request: ChatRequest) -> str:
    """The order of a window from its end."""
    count = len(re.findall(r"<<<end of passage \d+>>>", request.messages[1].text))
    return " > ".join(f"[{at}]" for at in range(count, 0, -1))


def listwise(script: Callable[[ChatRequest], ScriptedReply]) -> Rerank:
    return Rerank(BM25(), Listwise(ScriptedChat(script)), top=5)


def run_systems(systems: dict[str, Stage], cache: Path | None = None, queries: int = 1) -> ExperimentResult:
    return run_experiment(Experiment(systems, small_dataset_of(queries), measures=["RR@10"]), RunOptions(cache=cache))


def order(found: ExperimentResult, name: str, query: str = "q000") -> list[str]:
    run = found.system_run(name).run
    at = list(run.queries).index(query)
    return list(run.docs[run.offsets[at] : run.offsets[at + 1]])


def test_a_stage_with_a_failed_input_is_recomputed_when_the_input_succeeds(tmp_path: Path) -> None:
    for script, first in ((lambda request: DOWN, "d0"), (reversed_order, "d3"), (lambda request: DOWN, "d3")):
        low = listwise(script)
        found = run_systems(
            {"low": low, "ex": ExtractAnswer(low), "kw": Rerank(ExtractAnswer(low), KeywordScorer(), weight=0)}, tmp_path
        )
        assert [order(found, name)[0] for name in ("low", "ex", "kw")] == [first] * 3
        answers = found.system_run("ex").answers
        assert answers is not None
        assert (answers["q000"].given or ())[0] == first


def test_a_cached_stage_is_not_used_when_its_input_fails(tmp_path: Path) -> None:
    run_systems({"ex": ExtractAnswer(listwise(reversed_order))}, tmp_path)
    for kept in (*(tmp_path / "stages").iterdir(), *(tmp_path / "responses").iterdir()):
        if b"words of the query in the sentence" not in kept.read_bytes():
            kept.unlink()
    assert len(list((tmp_path / "stages").iterdir())) == 1
    low = listwise(lambda request: DOWN)
    found = run_systems({"low": low, "ex": ExtractAnswer(low)}, tmp_path)
    assert order(found, "low") == order(found, "ex")


def test_blocks_of_a_stage_with_a_failed_input_are_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ExtractSearcher.answer
    low = listwise(lambda request: DOWN)

    def stopped(self: ExtractSearcher, query: Query, *more: object) -> Given:
        if query.id == "q018":
            raise KeyboardInterrupt
        return whole(self, query, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(ExtractSearcher, "answer", stopped)
    with pytest.raises(KeyboardInterrupt):
        run_systems({"low": low, "ex": ExtractAnswer(low)}, tmp_path, queries=20)
    monkeypatch.undo()
    low = listwise(reversed_order)
    found = run_systems({"low": low, "ex": ExtractAnswer(low)}, tmp_path, queries=20)
    assert order(found, "ex") == order(found, "low") == ["d3", "d2", "d1", "d0"]


def test_the_notes_of_a_hidden_input_are_shown_at_its_system() -> None:
    low = listwise(lambda request: "[1] > [1]")
    note = "1 of 1 windows kept their input order: no valid reply after every attempt (1)"
    hidden = run_systems({"top": ExtractAnswer(low)}).system_run("top")
    assert hidden.notes[0] == f"Rerank: {note}"
    named = run_systems({"low": low, "top": ExtractAnswer(low), "other": Rerank(ExtractAnswer(low), KeywordScorer())})
    assert named.system_run("low").notes[0] == note
    assert named.system_run("top").notes == named.system_run("other").notes == ()
    assert failed_call_notes(named) == [
        f"{name} has failed calls: 1 without a usable reply; see its notes and those of its inputs."
        for name in ("low", "top", "other")
    ]
    assert failed_call_notes(run_systems({"low": listwise(reversed_order)})) == []


def test_a_server_that_refuses_every_call_is_noted_for_the_experiment() -> None:
    found = run_systems({"low": listwise(lambda request: DOWN)}, queries=12)
    assert found.system_run("low").total("refused") == 12
    assert found.system_run("low").notes == ("12 of 12 windows kept their input order: refused by the server (12)",)
    assert found.notes[-1] == "rerank: the server rejected every request (12), the last one with: status 400"


def test_without_a_valid_reply_no_way_of_scoring_is_noted() -> None:
    system_run = run_systems({"p": Rerank(BM25(), Pointwise(ScriptedChat(lambda request: "perhaps")), top=2)}).system_run("p")
    assert system_run.notes[1] == "1 of 1 queries kept their input order: no document had a valid reply"
    assert not [note for note in system_run.notes if "log-probabilit" in note]


@pytest.mark.parametrize(
    "make", [lambda model: Rerank(BM25(), Listwise(model)), lambda model: GenerateAnswer(BM25(), model, attempts=1)]
)
def test_queries_run_with_the_concurrency_of_the_model(make: Callable[[ScriptedChat], Stage]) -> None:
    together = threading.Barrier(40)

    def script(request: ChatRequest) -> str:
        together.wait(30)
        return reversed_order(request)

    found = run_systems({"asked": make(ScriptedChat(script, concurrency=40))}, queries=80)
    assert found.system_run("asked").total("calls") == 80


def test_blocks_do_not_depend_on_the_concurrency(tmp_path: Path) -> None:
    def stopping(request: ChatRequest) -> str:
        if "pie 20" in request.messages[1].text:
            raise KeyboardInterrupt
        return reversed_order(request)

    with pytest.raises(KeyboardInterrupt):
        run_systems({"low": listwise(stopping)}, tmp_path, queries=40)
    wide = ScriptedChat(reversed_order, concurrency=64)
    found = run_systems({"low": Rerank(BM25(), Listwise(wide), top=5)}, tmp_path, queries=40)
    assert wide.log.calls == 20
    assert all(order(found, "low", query) == ["d3", "d2", "d1", "d0"] for query in found.queries)


def test_answers_lost_by_fusion_are_refused_if_measured_and_noted_otherwise() -> None:
    joined = RRF((ExtractAnswer(BM25()), BM25(k1=0.9)))
    noted = run_systems({"joined": joined}).system_run("joined")
    assert noted.answers is None
    assert noted.notes == ("1 of 2 fused systems answer: the fused system has no answers",)
    for lost in (joined, Rerank(joined, KeywordScorer())):
        with pytest.raises(UsageError, match="system joined drops the answers of its inputs, but EM needs answers"):
            Experiment({"ex": ExtractAnswer(BM25()), "joined": lost}, small_dataset_of(), measures=["RR@10", "EM"])
    Experiment({"above": ExtractAnswer(joined)}, small_dataset_of(), measures=["EM"])
