"""`rankproof judge` from end to end: real HTTP on loopback, files on disk, and the built-in sample without a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._formats.read import read_qrels
from support.chat_server import ChatServer, body_of, completion
from support.scripted_server import Request, Sent

KEY = "sk-CANARY-judge-0123456789"
DOCS = {"d1": "apple pie", "d2": "bicycle", "d3": "apple tree", "d4": "of no use"}
RUN = "q1 Q0 d1 1 3.0 t\nq1 Q0 d2 2 2.0 t\nq1 Q0 d4 3 1.0 t\nq2 Q0 d3 1 1.0 t\n"


def answer(request: Request) -> Sent:
    """Grade 2 for apples, else 0; one passage gets nonsense, and every reply gives the key back."""
    asked = request.body["messages"][-1]["content"]
    if "of no use" in asked:
        return completion("no")
    return completion(
        json.dumps(
            {"reason": f"key {request.headers.get('Authorization')}", "grade": 2 * ("apple t" in asked or "apple pie" in asked)}
        )
    )


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answer) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset without judgements, a run, and people's judgements of some pairs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("JUDGE_KEY", KEY)
    data = tmp_path / "data"
    data.mkdir()
    (data / "corpus.jsonl").write_text("".join(json.dumps({"_id": doc, "text": text}) + "\n" for doc, text in DOCS.items()))
    (data / "queries.jsonl").write_text('{"_id": "q1", "text": "pie"}\n{"_id": "q2", "text": "tree"}\n')
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "people.qrels").write_text("q1 0 d1 3\nq1 0 d2 0\nq2 0 d3 1\nq2 0 d9 1\n")
    return tmp_path


def judge(server: ChatServer, *arguments: str, texts: tuple[str, ...] = ("data",)) -> int:
    model = ("--model", "loopback", "--base-url", server.address, "--api-key-env", "JUDGE_KEY")
    return main(["judge", *texts, *model, *arguments])


def shown_tables(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return {table["name"]: table for table in json.loads(capsys.readouterr().out)["tables"]}


def test_it_is_an_error_if_every_pair_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(lambda request: completion("no")) as silent:
        for more in ((), ("-o", "llm.qrels")):
            assert judge(silent, "--runs", "a.run", *more) == 1
            assert "no pair was graded: no JSON object" in capsys.readouterr().err
    assert not (folder / "llm.qrels").exists()


def test_human_judgements_with_two_grades_need_a_rule(
    server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "people.qrels").write_text("q1 0 d1 3\nq1 0 d1 2.0\nq1 0 d2 0\n")
    assert judge(server, "--qrels", "people.qrels") == 2
    assert "pass --on-conflict max, min, first or last" in capsys.readouterr().err
    assert judge(server, "--qrels", "people.qrels", "--on-conflict", "last") == 0
    assert "1 pair has two grades; the last is kept (--on-conflict)" in capsys.readouterr().err


def test_the_pool_of_a_run_is_judged_written_and_shown(
    server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(server, "--runs", "a.run", "-o", "llm.qrels", "--format", "json") == 0
    (row,) = shown_tables(capsys)["judge"]["rows"]
    assert (row["pairs"], row["grade 0"], row["grade 2"], row["failed"]) == (4, 1, 2, 1)
    assert (row["calls"], row["tokens in"], row["money"]) == (6, server.tokens_in, None)
    qrels = read_qrels("llm.qrels")
    assert {query: dict(docs) for query, docs in qrels.items()} == {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 2}}
    assert {mark.rpartition(":")[0] for mark in qrels.judge_labels.values()} == {"llm:loopback"}
    report = json.loads((folder / "llm.qrels.json").read_text())
    assert [(each["doc"], each["reason"]) for each in report["failed"]] == [("d4", "no JSON object")]


def test_the_key_is_written_nowhere(server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(server, "--runs", "a.run", "-o", "llm.qrels") == 0
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"llm.qrels", "llm.qrels.json"}
    assert any(path.suffix == ".journal" for path in files)
    assert not any(KEY.encode() in path.read_bytes() for path in files)
    said = capsys.readouterr()
    assert KEY not in said.out + said.err


def test_a_second_run_requests_failed_pairs_only_and_gives_the_same_file(server: ChatServer, folder: Path) -> None:
    assert judge(server, "--runs", "a.run", "-o", "one.qrels") == 0
    asked = len(server.requests)
    assert judge(server, "--runs", "a.run", "-o", "two.qrels") == 0
    assert all("of no use" in request.body["messages"][-1]["content"] for request in server.requests[asked:])
    assert len(server.requests) == asked + 3
    assert (folder / "one.qrels").read_bytes() == (folder / "two.qrels").read_bytes()


def test_a_budget_ends_with_1_and_the_next_run_continues(
    server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = ("--runs", "a.run", "--concurrency", "1", "-o", "llm.qrels")
    assert judge(server, *pairs, "--budget", "calls=2") == 1
    assert "raise --budget" in capsys.readouterr().err
    assert not (folder / "llm.qrels").exists()
    assert judge(server, *pairs) == 0
    assert len(server.requests) == 6


def test_a_dry_run_calls_no_model_and_caches_nothing(
    server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(server, "--runs", "a.run", "--dry-run", "--price-in", "1", "--format", "json") == 0
    (row,) = shown_tables(capsys)["judge-plan"]["rows"]
    assert (row["pairs"], row["calls"]) == (4, 4)
    assert row["money"] == pytest.approx(row["tokens in"] / 1e6)
    assert server.requests == []
    assert not (folder / "cache").exists()


def test_agreement_with_people_is_over_the_pairs_that_both_judged(
    server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(server, "--runs", "a.run", "--qrels", "people.qrels", "--format", "json") == 0
    tables = shown_tables(capsys)
    assert [row["pairs"] for row in tables["judge-agreement"]["rows"]] == [3] * 5
    assert tables["judge-agreement"]["rows"][2]["value"] == 1
    assert {row["mean of"] for row in tables["judge-corrected"]["rows"]} == {"share relevant", "mean grade"}


def test_without_a_pool_the_pairs_are_those_that_people_judged(
    server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(server, "--qrels", "people.qrels", "--format", "json") == 0
    tables = shown_tables(capsys)
    (row,) = tables["judge"]["rows"]
    assert (row["pairs"], row["failed"]) == (4, 1)
    assert "judge-corrected" not in tables
    assert judge(server, "--qrels", "people.qrels", "--sample", "2", "--format", "json") == 0
    assert shown_tables(capsys)["judge"]["rows"][0]["pairs"] == 2


def test_unjudged_pairs_are_those_of_the_pool_without_a_human_judgement(server: ChatServer, folder: Path) -> None:
    (folder / "people.qrels").write_text("q1 0 d1 3\nq2 0 d3 1\n")
    assert judge(server, "--runs", "a.run", "--unjudged", "--qrels", "people.qrels", "-o", "holes.qrels") == 0
    assert {query: dict(docs) for query, docs in read_qrels("holes.qrels").items()} == {"q1": {"d2": 0}}


def test_pairs_come_from_a_file_and_texts_from_two(server: ChatServer, folder: Path) -> None:
    (folder / "pairs.tsv").write_text("q1\td1\nq2\td3\n")
    texts = ("data/queries.jsonl", "data/corpus.jsonl")
    assert judge(server, "--pairs", "pairs.tsv", "-o", "llm.qrels", texts=texts) == 0
    assert len((folder / "llm.qrels").read_text().splitlines()) == 2


def test_a_model_is_described_by_a_file(server: ChatServer, folder: Path) -> None:
    table = f'[model]\nname = "openai"\nmodel = "loopback"\nbase_url = "{server.address}"\napi_key_env = ""\n'
    (folder / "judge.toml").write_text(table)
    assert main(["judge", "data", "--runs", "a.run", "--model-file", "judge.toml", "-o", "llm.qrels"]) == 0
    assert len(server.requests) == 6


def test_results_give_a_pool_of_every_system(server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td3\t1\n")
    (folder / "e.toml").write_text(
        'dataset = "data"\n[systems.bm25]\nstage = "bm25"\n[systems.title]\nstage = "bm25"\nk1 = 0.5\n'
    )
    assert main(["run", "e.toml", "-o", "results", "--quiet"]) == 0
    capsys.readouterr()
    assert judge(server, "--results", "results", "--format", "json") == 0
    assert shown_tables(capsys)["judge"]["rows"][0]["pairs"] == 2
    assert judge(server, "--results", "results", "--unjudged", "--dry-run", "--format", "json") == 0
    assert shown_tables(capsys)["judge-plan"]["rows"][0]["pairs"] == 0


def test_results_made_with_a_machines_judgements_still_say_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data" / "qrels.txt").write_text("q1 llm:m:1 d1 1\nq2 0 d3 1\n")
    (folder / "e.toml").write_text('dataset = "data"\n[systems.bm25]\nstage = "bm25"\n[systems.b]\nstage = "bm25"\nk1 = 0.5\n')
    assert main(["run", "e.toml", "-o", "results", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["compare", "results"]) == 0
    assert "1 of 2 judgements were made by llm:m:1, 1 by people" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("data", "--runs", "a.run"),
        ("data", "--model", "m"),
        ("data", "--model", "m", "--runs", "a.run", "--pairs", "people.qrels"),
        ("data", "--model", "m", "--unjudged", "--runs", "a.run"),
        ("data", "--model", "m", "--runs", "missing.run"),
        ("missing", "--model", "m", "--runs", "a.run"),
        ("a", "b", "c", "--model", "m", "--runs", "a.run"),
        ("data", "--model", "m", "--runs", "a.run", "-o", "-"),
        ("data", "--model", "m", "--runs", "a.run", "-o", "a.run"),
        ("data", "--model", "m", "--runs", "a.run", "-o", ""),
        ("data", "--model", "m", "--runs", "a.run", "-o", "people.qrels", "--base-url", "http://127.0.0.1:1/v1"),
        ("data", "--model", "m", "--runs", "a.run", "--base-url", "http://127.0.0.1:1/v1", "--budget", "calls=many"),
        ("data", "--model", "m", "--model-file", "judge.toml", "--runs", "a.run"),
        ("data", "--model-file", "people.qrels", "--runs", "a.run"),
        ("data", "--model", "smollm2", "--price-in", "1", "--runs", "a.run"),
        ("data", "--by", "keywords", "--model", "m", "--runs", "a.run"),
        ("data", "--by", "keywords", "--runs", "a.run", "--sample", "3"),
        ("data", "--by", "keywords", "--runs", "a.run", "-o", "missing/out"),
        ("data", "--by", "keywords", "--qrels", "people.qrels", "--rel", "9"),
        ("data", "--by", "keywords", "--qrels", "people.qrels", "--judge-rel", "7"),
        ("data", "--by", "keywords", "--qrels", "people.qrels", "--rel", "4", "--judge-rel", "1"),
    ],
)
def test_wrong_usage_ends_with_2_and_one_line(
    arguments: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "people.qrels").read_bytes()
    assert main(["judge", *arguments]) == 2
    assert capsys.readouterr().err.strip().count("\n") == 0
    assert (folder / "people.qrels").read_bytes() == before


def test_machine_judgements_are_no_reference_for_a_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mixed.qrels").write_text("q1 0 d1 3\nq1 llm:m:1 d2 0\n")
    assert main(["judge", "data", "--by", "keywords", "--qrels", "mixed.qrels"]) == 0
    assert "mixed.qrels: 1 judgement by a machine, left out" in capsys.readouterr().err
    (folder / "mixed.qrels").write_text("q1 llm:m:1 d2 0\n")
    assert main(["judge", "data", "--by", "keywords", "--qrels", "mixed.qrels"]) == 2


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_budget_of_money_needs_prices(
    server: ChatServer, folder: Path, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(server, "--runs", "a.run", "--budget", "money=2", *more) == 2
    assert "(--price-in, --price-out), or limit calls or tokens" in capsys.readouterr().err
    assert server.requests == []
    assert judge(server, "--runs", "a.run", "--budget", "money=2", "--price-in", "1", "--price-out", "1", *more) == 0


def test_tokens_that_the_server_does_not_count_are_noted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    untold = Sent(body=json.dumps({**body_of('{"reason": "r", "grade": 1}'), "usage": None}).encode())
    with ChatServer(lambda request: untold) as running:
        assert judge(running, "--runs", "a.run") == 0
    assert "tokens and money of 4 replies are estimated" in " ".join(capsys.readouterr().err.split())


def test_a_cache_that_cannot_be_created_is_an_error_with_a_valid_fix(
    server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "file").write_text("")
    assert judge(server, "--runs", "a.run", "--cache", "file/below") == 1
    said = capsys.readouterr().err
    assert "RANKPROOF_CACHE" in said
    assert "--no-cache" not in said


def test_runs_that_were_judged_are_labelled_next_with_the_command_that_judge_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "my b.run").write_text("q1 Q0 d2 1 3.0 t\nq1 Q0 d1 2 2.0 t\nq2 Q0 d3 1 1.0 t\n")
    common = ["judge", "data", "--by", "keywords", "-o", "llm.qrels"]
    assert main([*common, "--runs", "a.run", "my b.run"]) == 0
    said = capsys.readouterr().err
    assert "next, people check the judge on 30 questions at random; 30 decide 5 of 10 comparisons of two systems" in said
    (command,) = [line.strip() for line in said.splitlines() if line.startswith("  rankproof serve ")]
    assert command == "rankproof serve llm.qrels a.run 'my b.run' --dataset data --label 30 --labels llm.people.qrels"
    assert main(["compare", "llm.qrels", "a.run", "my b.run"]) == 0
    assert capsys.readouterr().out.startswith("By keywords (not checked by people), ")
    (folder / "people.qrels").write_text("q1 0 d1 3\n")
    added = ["--runs", "a.run", "my b.run", "--unjudged", "--qrels", "people.qrels", "-o", "missing.qrels"]
    for alone in (["--runs", "a.run"], ["--runs", "a.run", "my b.run", "--dry-run"], added):
        assert main([*common, *alone]) == 0
        assert "next, people check" not in capsys.readouterr().err


def test_without_a_pair_to_judge_no_file_is_said_to_be_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "people.qrels").write_text("q1 0 d1 3\nq1 0 d2 0\nq1 0 d4 0\nq2 0 d3 1\n")
    chosen = ["--runs", "a.run", "--unjudged", "--qrels", "people.qrels"]
    assert main(["judge", "data", "--by", "keywords", *chosen, "-o", "holes.qrels"]) == 0
    assert "there is nothing to judge; holes.qrels was not written" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "holes.qrels").exists()
