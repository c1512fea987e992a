"""`rankproof run` with a search function: failures, exit codes, dry runs, recorded replies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._io.named_code import NamedCode
from support.scripted_server import Request, ScriptedServer, Sent

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
    monkeypatch.setenv("RANKPROOF_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name in ("search", "down"):
        NamedCode(f"{name}.toml", (f"{module}:{name}",)).trust()
    return tmp_path


@dataclass
class Engine:
    """A search engine behind one URL: the ranking that it replies with, and how many queries it was asked."""

    url: str = ""
    docs: list[str] = field(default_factory=lambda: ["d3", "d1"])
    asked: int = 0


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    """A server on loopback, with an experiment that asks it."""
    state = Engine()

    def answer(request: Request) -> Sent:
        state.asked += 1
        return Sent(body={"hits": [{"id": doc} for doc in state.docs]})

    with ScriptedServer(answer) as server:
        state.url = f"{server.url}/?q={{query}}"
        stage = f'stage = "http"\nurl = "{state.url}"\nids = "hits[].id"\n'
        text = f'dataset = "data"\n[systems.shop]\n{stage}[systems.bm25]\nstage = "bm25"\n'
        (folder / "http.toml").write_text(text)
        (folder / "hidden.toml").write_text(
            text.replace("[systems.bm25]", "hidden = true\n[systems.bm25]")
            + '[systems.fused]\nstage = "fuse"\nof = ["shop", "bm25"]\n'
        )
        yield state


RECORDED = r"shop: replies recorded (20\d\d-\d\d-\d\d \d\d:\d\d)(?: to [-\d: ]+)? UTC, not asked again; use {option}--ask-again\."


def asked(folder: Path) -> int:
    log = folder / "asked.txt"
    return len(log.read_text()) if log.exists() else 0


def test_a_failed_query_is_named_and_the_run_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "search.toml", "-o", "out", "--no-report"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert 'note: shop: 1 of 3 queries failed and scores 0 (q2 "sharpen a knife"): ValueError: no knives' in said
    assert (folder / "out" / "replies" / "shop.jsonl").exists()


def test_what_a_function_prints_is_not_in_the_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "search.toml", "-o", "out", "--no-report", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["format"] == "rankproof-results"
    assert "imported\n" in printed.err
    assert printed.err.count("asked\n") == 3


def test_a_second_run_asks_what_failed_and_ask_again_asks_everything(folder: Path) -> None:
    for options, total in (([], 3), ([], 4), (["--ask-again"], 7), (["--repeats", "2"], 11), (["--repeats", "2"], 13)):
        main(["run", "search.toml", "-o", "out", "--no-report", *options])
        assert asked(folder) == total


def test_a_repeated_run_says_how_many_rankings_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "search.toml", "-o", "out", "--no-report", "--repeats", "2"])
    said = " ".join(capsys.readouterr().err.split())
    assert "note: shop: 0 of 2 rankings changed when asked 2 times; values are means over them" in said


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
    assert main(["run", "search.toml", "--dry-run", "--repeats", "2", "--format", "json", "--budget", "calls=5"]) == 0
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


@pytest.mark.parametrize("columns", ["20", "80", "300"])
def test_the_second_line_says_that_a_changed_engine_was_not_asked_again(
    columns: str, engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    run = ["run", "http.toml", "-o", "out", "--no-report"]
    assert main(run) == 0
    assert "recorded" not in capsys.readouterr().out
    engine.docs = ["d1", "d2"]
    assert main(run) == 0
    assert engine.asked == 3
    head = " ".join(capsys.readouterr().out.partition("\n\n")[0].split())
    found = re.fullmatch(rf"http \(dataset data\), 4 documents, 3 queries, 2 systems {RECORDED.format(option='')}", head)
    assert found is not None
    age = datetime.now(UTC) - datetime.strptime(f"{found[1]} +0000", "%Y-%m-%d %H:%M %z")
    assert 0 <= age.total_seconds() < 3600
    assert main([*run, "--ask-again"]) == 0
    assert engine.asked == 6
    assert "recorded" not in capsys.readouterr().out


def test_every_view_of_the_decision_says_that_replies_were_recorded(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "http.toml", "-o", "out", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["run", "http.toml", "-o", "out", "--quiet", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (reused,) = document["summary"]["decision"]["reused_replies"]
    assert [one.get("reused") for one in document["systems"]] == [reused, None]
    assert (reused["system"], reused["queries"], reused["of"]) == ("shop", 3, 3)
    for command in (["compare", "out"], ["compare", "out", "--format", "markdown"], ["run", "http.toml", "--format", "markdown"]):
        assert main([*command, "--quiet"]) == 0
        assert re.search(RECORDED.format(option="rankproof run "), " ".join(capsys.readouterr().out.split()))
    assert re.search(RECORDED.format(option="rankproof run "), Path("out/report.html").read_text(encoding="utf-8"))
    results = rp.load_results("out")
    assert [(one.system, one.first) for one in results.reused_replies] == [("shop", reused["first"])]
    assert results.compare().decision.reused_replies == results.reused_replies
    assert "not asked again; use run(ask_again=True)." in str(results)


def test_the_recorded_replies_of_a_hidden_input_count_for_its_system(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "hidden.toml", "-o", "out", "--no-report"]) == 0
    queries = Path("data/queries.jsonl")
    queries.write_text(queries.read_text() + json.dumps({"_id": "q4", "text": "bread"}) + "\n")
    with Path("data/qrels/test.tsv").open("a") as qrels:
        qrels.write("q4\td3\t1\n")
    capsys.readouterr()
    assert main(["run", "hidden.toml", "-o", "out", "--no-report", "--overwrite", "--format", "csv"]) == 0
    assert engine.asked == 4
    assert "note: fused: 3 of 4 replies recorded 20" in " ".join(capsys.readouterr().err.split())


def test_there_is_one_flag_for_repeats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "search.toml", "-o", "out", "--repeat", "2"]) == 2
    assert "unknown option --repeat; did you mean --repeats?" in capsys.readouterr().err
    assert asked(folder) == 0
