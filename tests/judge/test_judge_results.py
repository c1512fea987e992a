"""`rankproof judge RESULTS`: from a folder without judgements to the decision in two commands, over real HTTP."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._formats.read import read_qrels, write_folder
from rankproof._results.folder import load_results
from rankproof.errors import UsageError
from rankproof.stages import BM25
from support.chat_server import ChatServer, completion
from support.scripted_chat import ScriptedChat
from support.scripted_server import Request, Sent

QUERIES = 40


@cache
def sample() -> Dataset:
    return rp.read_dataset("sample")


@cache
def few_queries() -> Dataset:
    """The first queries of the sample, without judgements."""
    return Dataset("raw", sample().corpus, Queries([*sample().queries.values()][:QUERIES]), Qrels({}))


def grade(text: str) -> str:
    """The grade that people gave the passage in the text for the query in it."""
    (query,) = [one.id for one in few_queries().queries.values() if f"\n{one.text}\n" in text]
    docs = [doc for doc, grade in sample().qrels[query].items() if sample().corpus[doc].text in text]
    return json.dumps({"reason": "", "grade": max((sample().qrels[query][doc] for doc in docs), default=0)})


def answer(request: Request) -> Sent:
    return completion(grade(request.body["messages"][-1]["content"]))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answer) as running:
        yield running


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A dataset without judgements, and its results in `out`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    write_folder(few_queries(), "raw")
    assert main(["run", "--dataset", "raw", "--systems", "bm25,bm25-title", "-o", "out"]) == 0
    capsys.readouterr()
    return tmp_path / "raw"


def judge(server: ChatServer, *arguments: str) -> int:
    return main(["judge", "out", "--pool", "3", "--model", "loopback", "--base-url", server.address, *arguments])


def test_two_commands_lead_from_a_folder_without_judgements_to_the_decision(
    server: ChatServer, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(server) == 0
    shown, said = capsys.readouterr()
    assert "\nBy loopback (not checked by people), bm25 leads: " in shown
    qrels = read_qrels("out.model.qrels")
    assert len(qrels) == QUERIES
    assert Path("out.model.qrels.json").exists()
    command = next(line for line in said.splitlines() if line.startswith("  rankproof run"))
    assert command == "  rankproof run out/experiment.toml --qrels out.model.qrels -o out"
    # The command is right if pasted, and computes no ranking.
    assert main(shlex.split(command)[1:]) == 0
    results = load_results("out")
    assert all(one.from_cache for one in results.system_runs)
    assert list(results.provenance["judgements"]["machines"].values()) == [sum(map(len, qrels.values()))]
    first, second = (" ".join(text[text.index("By loopback") :].split()) for text in (shown, capsys.readouterr().out))
    assert second.replace("serve RESULTS", "serve out") == first


@pytest.mark.slow
def test_the_grades_of_people_count_before_those_of_the_model_here_and_in_the_printed_command(
    server: ChatServer, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(server) == 0
    graded = read_qrels("out.model.qrels")
    Path("people.qrels").write_text(
        "".join(f"{query} 0 {doc} {3 - graded[query][doc]}\n" for query in graded for doc in graded[query])
    )
    capsys.readouterr()
    assert judge(server, "--qrels", "people.qrels") == 0
    shown, said = capsys.readouterr()
    command = next(line for line in said.splitlines() if line.startswith("  rankproof run"))
    assert command == "  rankproof run out/experiment.toml --qrels people.qrels --qrels out.model.qrels -o out"
    assert main(shlex.split(command)[1:]) == 0
    assert load_results("out").provenance["judgements"]["people"] == {"people": sum(map(len, graded.values()))}
    again = capsys.readouterr().out
    assert again[again.rindex("n = ") :] == shown[shown.rindex("n = ") :]
    # The files of the experiment stay in the command, because --qrels replaces them.
    assert judge(server, "-o", "second.qrels") == 0
    command = next(line for line in capsys.readouterr().err.splitlines() if line.startswith("  rankproof run"))
    people, model = Path("people.qrels").absolute(), Path("out.model.qrels").absolute()
    assert command == f"  rankproof run out/experiment.toml --qrels {people} --qrels {model} --qrels second.qrels -o out"
    found = rp.judge("out", model="keywords", pool=3, qrels="people.qrels").results
    assert found is not None
    assert found.result.means == load_results("out").result.means


@pytest.mark.slow
def test_the_second_time_no_request_is_sent(server: ChatServer, raw: Path) -> None:
    assert judge(server) == 0
    sent = len(server.requests)
    assert sent > 0
    assert judge(server) == 0
    assert len(server.requests) == sent


@pytest.mark.slow
def test_a_larger_pool_sends_only_what_is_missing(server: ChatServer, raw: Path) -> None:
    assert judge(server, "--pool", "1") == 0
    first = sum(map(len, read_qrels("out.model.qrels").values()))
    assert judge(server, "--pool", "10") == 0
    assert len(server.requests) == sum(map(len, read_qrels("out.model.qrels").values())) > first
    assert server.repeated == 0


def test_a_dry_run_counts_the_pairs_and_sends_nothing(server: ChatServer, raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(server, "--dry-run", "--format", "json") == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["rows"][0]["calls"] > 0
    assert not server.requests
    assert not Path("out.model.qrels").exists()


@pytest.mark.slow
def test_a_spent_budget_stops_and_the_same_command_continues(server: ChatServer, raw: Path) -> None:
    assert judge(server, "--budget", "calls=3") == 1
    assert len(server.requests) == 3
    assert judge(server) == 0
    assert server.repeated == 0


@pytest.mark.slow
def test_json_has_the_decision_as_the_last_table(server: ChatServer, raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(server, "--format", "json") == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert tables[0]["name"] == "judge"
    assert tables[-1]["sentences"][0].startswith("By loopback (not checked by people), bm25 leads: ")


@pytest.mark.slow
def test_without_the_dataset_the_beginnings_in_the_results_are_judged(
    server: ChatServer, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (raw / "corpus.jsonl").unlink()
    assert judge(server) == 0
    assert "has changed: only the first 300 characters of documents are judged" in capsys.readouterr().err
    assert len(read_qrels("out.model.qrels")) == QUERIES


def test_results_in_python_are_judged_and_measured(raw: Path) -> None:
    chat = ScriptedChat(lambda request: grade(request.messages[-1].text))
    found = rp.judge("out", model=chat, pool=3)
    assert found.results is not None
    assert found.results.is_judged
    assert found.results.compare().decision.leader == "bm25"
    assert found.results.compare(labels_by="people").decision.systems == ("bm25",)
    measured = rp.run("out/experiment.toml", qrels=found.qrels)
    assert measured.result.means == found.results.result.means


def test_two_results_folders_are_refused(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "out", "--results", "out", "--by", "keywords"]) == 2
    assert "two results folders; leave out --results" in capsys.readouterr().err


def test_empty_rankings_are_refused() -> None:
    nothing = Dataset("none", sample().corpus, Queries([Query("q", "zzzzz")]), Qrels({}))
    results = rp.run({"bm25": BM25()}, dataset=nothing)
    with pytest.raises(UsageError, match="no system of experiment retrieved a document, so there is nothing to judge"):
        rp.judge(results, model="keywords")


def test_the_report_of_results_without_judgements_has_no_decision() -> None:
    results = rp.run({"bm25": BM25()}, dataset=few_queries())
    page = rp.report(results)
    assert (page.decision, "Rankings without judgements" in page.html) == ((), True)
    with pytest.raises(UsageError, match="`rankproof judge RESULTS --model NAME`, or `rankproof serve RESULTS --judge`"):
        rp.compare(results)
