"""`rankproof run` with a search function: failures, exit codes, dry runs, recorded replies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankproof._cli.main import main

SHOP = """
from pathlib import Path

print("imported")

def search(text):
    print("asked")
    with open(Path(__file__).with_name("asked.txt"), "a") as log:
        log.write("x")
    if text == "sharpen a knife":
        raise ValueError("no knives")
    return [("d1", 0.5), ("d3", 0.5)]

def down(text):
    raise ConnectionError("refused")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset, a module of its own name with search functions, and an experiment."""
    data = tmp_path / "data"
    (data / "qrels").mkdir(parents=True)
    docs = [json.dumps({"_id": f"d{at}", "text": f"text {at}"}) for at in range(1, 5)]
    queries = {"q1": "how long must dough rise", "q2": "sharpen a knife", "q3": "knife for bread"}
    (data / "corpus.jsonl").write_text("\n".join(docs) + "\n")
    (data / "queries.jsonl").write_text("".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in queries.items()))
    (data / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{key}\td3\t1\n" for key in queries))
    module = f"shop_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{module}.py").write_text(SHOP)
    for name in ("search", "down"):
        text = f'dataset = "data"\n[systems.shop]\nstage = "python"\nfunction = "{module}:{name}"\n'
        (tmp_path / f"{name}.toml").write_text(text)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(folder: Path) -> int:
    log = folder / "asked.txt"
    return len(log.read_text()) if log.exists() else 0


def test_a_failed_query_is_named_and_the_run_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "search.toml", "-o", "out", "--no-report"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "note: shop: 1 of 3 queries failed and scores 0 (q2): ValueError: no knives" in said
    assert (folder / "out" / "replies" / "shop.jsonl").exists()


def test_what_a_function_prints_is_not_in_the_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "search.toml", "-o", "out", "--no-report", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["format"] == "rankproof-results"
    assert "imported\n" in printed.err
    assert printed.err.count("asked\n") == 3


def test_a_second_run_asks_what_failed_and_ask_again_asks_everything(folder: Path) -> None:
    for options, total in (([], 3), ([], 4), (["--ask-again"], 7), (["--repeat", "2"], 11), (["--repeat", "2"], 13)):
        main(["run", "search.toml", "-o", "out", "--no-report", *options])
        assert asked(folder) == total


def test_a_repeated_run_says_how_many_rankings_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "search.toml", "-o", "out", "--no-report", "--repeat", "2"])
    said = " ".join(capsys.readouterr().err.split())
    assert "note: shop: 0 of 2 rankings changed when asked 2 times; the first reply and its time count" in said


def test_a_strict_run_ends_with_exit_code_1_and_saves_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "search.toml", "-o", "out", "--strict"]) == 1
    said = "system shop, query q2: ValueError: no knives; run without --strict to count failed queries with 0"
    assert said in capsys.readouterr().err
    assert not (folder / "out").exists()
    assert asked(folder) == 2


def test_a_system_that_answers_no_query_has_results_and_exit_code_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "down.toml", "-o", "out", "--no-report"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "system shop answered no query: ConnectionError: refused"
    states = [json.loads(line)["state"] for line in (folder / "out" / "replies" / "shop.jsonl").read_text().splitlines()]
    assert states == ["failed"] * 3


def test_a_dry_run_counts_requests_and_sends_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "search.toml", "--dry-run", "--repeat", "2", "--format", "json", "--budget", "calls=5"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert [(row["system"], row["models"], row["calls"]) for row in table["rows"]] == [
        ("shop", "python", 6),
        ("total", "python", 6),
    ]
    assert table["sentences"] == ["The estimate exceeds the budget: calls (6 of 5)."]
    assert asked(folder) == 0


def test_a_budget_stops_the_run_and_the_next_one_continues(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "search.toml", "-o", "out", "--no-report", "--budget", "calls=1"]) == 1
    assert "the next call could exceed the budget of 1 call" in capsys.readouterr().err
    assert main(["run", "search.toml", "-o", "out", "--no-report"]) == 0
    assert asked(folder) == 3


def test_explain_shows_the_reply_and_the_score_of_the_engine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "search.toml", "-o", "out", "--no-report"])
    capsys.readouterr()
    assert main(["explain", "out", "--system", "shop", "--query", "q1", "--doc", "d3"]) == 0
    shown = capsys.readouterr().out
    assert "Score of d3 for query q1 in shop: 0.5, rank 2" in shown
    assert "A search engine ranks by the order of its reply; its score has no parts." in shown
