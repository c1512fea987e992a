"""`rankproof generate`, in process, by rules and over a real socket by a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._formats.read import write_folder
from rankproof._importers.registry import read_dataset
from support.bad_inputs import harmful_texts
from support.chat_server import ChatServer, body_of, completion
from support.scripted_server import Request, Sent
from support.small_datasets import PAGES, small_dataset

SECRET = "CANARY-7c1d"
MODEL = ("--model", "writer", "--api-key-env", "WRITER_KEY")


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WRITER_KEY", SECRET)
    write_folder(small_dataset(), str(tmp_path / "data"))
    return str(tmp_path / "data")


def well(text: str) -> str:
    """What a good model writes about the page in the request."""
    doc = next(doc for doc, (title, _) in PAGES.items() if title in text)
    return json.dumps({"query": f"{doc} trouble at home", "answer": ""})


def test_rules_make_a_dataset_that_can_be_run(corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = str(tmp_path / "made")
    assert main(["generate", corpus, "-o", made, "--count", "12", "--with-corpus", "--check", "bm25"]) == 0
    shown = capsys.readouterr()
    assert "queries by heuristic:rules:" in shown.out
    assert "bm25 finds" in shown.out
    assert f"written: {made}" in shown.err
    assert json.loads((tmp_path / "made" / "generate.json").read_text())["check"]["by"] == "bm25"
    assert main(["run", "--dataset", made, "--systems", "bm25", "-o", str(tmp_path / "results"), "--no-cache"]) == 0
    assert "judgements were made by heuristic:rules:" in capsys.readouterr().err


def test_documents_alone_are_enough_and_the_seed_decides(corpus: str, tmp_path: Path) -> None:
    file = str(Path(corpus) / "corpus.jsonl")
    for name, seed in (("a", "0"), ("b", "0"), ("c", "1")):
        assert main(["generate", file, "-o", str(tmp_path / name), "--count", "6", "--seed", seed, "--quiet"]) == 0
    a, b, c = ((tmp_path / name / "queries.jsonl").read_bytes() for name in "abc")
    assert a == b != c
    assert not (tmp_path / "a" / "corpus.jsonl").exists()


def test_the_sample_is_built_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "sample", "-o", str(tmp_path / "made"), "--count", "4", "--format", "json"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert "generate" in json.dumps(tables)


def test_a_model_generates_over_http_once_and_the_key_is_written_nowhere(
    corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(lambda request: completion(well(request.body["messages"][-1]["content"]))) as server:
        options = ["--count", "5", "--categories", "factual", *MODEL, "--base-url", server.address]
        assert main(["generate", corpus, "-o", str(tmp_path / "made"), "--with-corpus", *options]) == 0
        assert main(["generate", corpus, "-o", str(tmp_path / "again"), *options]) == 0
        assert server.completions == len(server.requests) == 5
    dataset = read_dataset(tmp_path / "made")
    assert len(dataset.queries) == 5
    assert all(mark.startswith("llm:writer:") for mark in dataset.qrels.judge_counts())
    assert (tmp_path / "made" / "queries.jsonl").read_bytes() == (tmp_path / "again" / "queries.jsonl").read_bytes()
    shown = capsys.readouterr()
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert SECRET not in shown.out + shown.err
    assert not any(SECRET.encode() in content for content in written)


def test_failed_documents_are_counted_and_a_server_that_is_down_ends_it(
    corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def sometimes(text: str) -> str:
        return "I cannot help with that." if PAGES["hob"][0] in text else well(text)

    with ChatServer(lambda request: completion(sometimes(request.body["messages"][-1]["content"]))) as server:
        options = [*MODEL, "--base-url", server.address, "--count", "6", "--categories", "factual"]
        assert main(["generate", corpus, "-o", str(tmp_path / "made"), *options]) == 0
        assert "1 document failed" in capsys.readouterr().err
    with ChatServer(lambda request: completion("no")) as server:
        options = [*MODEL, "--base-url", server.address, "--count", "2", "--categories", "keyword"]
        assert main(["generate", corpus, "-o", str(tmp_path / "other"), *options]) == 1
        assert "no query was generated from" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_a_dry_run_calls_no_model_and_writes_nothing(corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(lambda request: completion("no")) as server:
        options = [*MODEL, "--base-url", server.address, "--count", "6", "--categories", "factual,multi-hop", "--price-in", "2"]
        assert main(["generate", corpus, "--dry-run", *options]) == 0
        assert not server.requests
    assert "No call was made." in capsys.readouterr().out
    assert not (tmp_path / "cache").exists()


def test_a_budget_ends_it_with_what_to_do(corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(lambda request: completion(well(request.body["messages"][-1]["content"]))) as server:
        options = [*MODEL, "--base-url", server.address, "--count", "5", "--categories", "factual", "--budget", "calls=2"]
        assert main(["generate", corpus, "-o", str(tmp_path / "made"), *options]) == 1
        assert len(server.requests) == 2
    assert "raise --budget" in capsys.readouterr().err


def test_hostile_documents_stay_text_on_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "corpus.jsonl"
    filler = "Let the dough rest for 45 minutes in order to relax gluten in the kitchen."
    rows = [{"_id": f"d{at}\u202e\x1b[2J", "title": text, "text": f"{text} {filler}"} for at, text in enumerate(harmful_texts())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["generate", str(path), "-o", str(tmp_path / "made"), "--count", "30"]) == 0
    shown = capsys.readouterr()
    assert all(line.isprintable() for line in (shown.out + shown.err).split("\n"))


WRONG = [
    (["--count", "0"], "--count is 0; choose a whole number of at least 1"),
    (["--count", "3"], "no output folder; name one with -o"),
    (["-o", ""], "no output folder; name one with -o"),
    (["-o", "{data}"], "exists; specify a folder that does not exist yet"),
    (["-o", "{new}", "--categories", "poems"], "unknown category poems"),
    (["-o", "{new}", "--fields", "colour"], "no document has a text field called colour"),
    (["-o", "{new}", "--by", "heuristic", "--model", "writer"], "--by heuristic uses no model"),
    (["-o", "{new}", "--by", "model"], "no model"),
    (["-o", "{new}", "--budget", "calls=x"], "budget calls is x"),
    (["-o", "{new}", "--cache", ""], "--cache has no folder"),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_wrong_usage_is_refused(
    options: list[str], words: str, corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"{data}": corpus, "{new}": str(tmp_path / "new")}
    assert main(["generate", corpus, *(places.get(option, option) for option in options)]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", str(tmp_path / "none.jsonl"), "-o", str(tmp_path / "made")]) == 2
    assert "none.jsonl: file not found" in capsys.readouterr().err


def test_the_budget_uses_known_prices_and_estimates_are_noted(
    corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def untold(request: Request) -> Sent:
        return Sent(body=json.dumps({**body_of(well(request.body["messages"][-1]["content"])), "usage": None}).encode())

    with ChatServer(untold) as server:
        asked = ["generate", corpus, "-o", str(tmp_path / "made"), "--count", "2", *MODEL, "--base-url", server.address]
        assert main([*asked, "--budget", "money=1"]) == 2
        assert "--price-in" in capsys.readouterr().err
        assert main(asked) == 0
        assert f"tokens and money of {len(server.requests)} replies are estimated" in " ".join(capsys.readouterr().err.split())
