"""The decision of `rankproof answers`: that of `compare`, of the report and of Python on the same answers."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.answers import Answer
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Judgement, Qrels
from rankproof.errors import UsageError

ROWS = 60
SYSTEMS = ("good", "poor", "silent")


def row(at: int, answer: str | None, **fields: Any) -> dict[str, Any]:
    town = {"answer": answer, "reference": f"The capital is Town{at}."}
    return {"_id": f"q{at}", "question": f"What is the capital of {at}?", **town, **fields}


def right(at: int) -> str:
    return f"The capital is Town{at}."


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A good system, one that is wrong on every third question, and one whose answers are all null."""
    folder = tmp_path_factory.mktemp("logs")
    contexts = [[f"The capital of {at} is Town{at}.", "Rivers are long."] for at in range(ROWS)]
    answers: dict[str, list[str | None]] = {
        "good": [right(at) for at in range(ROWS)],
        "poor": [right(at) if at % 3 else "Nobody was there." for at in range(ROWS)],
        "silent": [None] * ROWS,
    }
    return [
        written(folder / f"{name}.jsonl", [row(at, each, contexts=contexts[at]) for at, each in enumerate(answers[name])])
        for name in SYSTEMS
    ]


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    capsys.readouterr()
    assert main([*argv]) == 0
    return capsys.readouterr().out


def decision(text: str) -> str:
    """The lines before the first table, as one."""
    return " ".join(text.partition("\n\n")[0].split())


MEASURES = ("F1", "EM,F1", "AnswerRate", "ROUGE-L", "Faithfulness", "ClaimF1,F1")


@pytest.mark.parametrize("measures", MEASURES)
def test_answers_decides_in_its_first_line_as_compare_the_report_and_python_do(
    measures: str, logs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "results")
    here = decision(printed(capsys, "answers", *logs, "-m", measures, "-o", folder, "--quiet"))
    assert here.startswith(("Ship good: ", "Not decided: good leads", "By overlap (not checked by people), good leads: "))
    assert "silent did not answer 60 of 60 questions; they count as 0." in here
    assert decision(printed(capsys, "compare", folder)) == here
    assert decision(printed(capsys, "answers", folder)) == here
    sentences = rp.evaluate_answers(folder).compare().decision.sentences
    assert " ".join(sentences) == here
    assert rp.load_results(folder).compare().decision.sentences == sentences
    assert main(["report", folder, "-o", str(tmp_path / "report.html"), "--quiet"]) == 0
    page = unescape(re.sub(r"<[^>]+>", "", (tmp_path / "report.html").read_text(encoding="utf-8")))
    assert all(sentence in " ".join(page.split()) for sentence in sentences)


def test_every_format_of_answers_has_the_decision(logs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("json", "markdown"):
        assert "Ship good: 1.000 F1" in printed(capsys, "answers", *logs, "-m", "F1", "--format", kind).replace("\\", "")


def test_the_default_measures_of_answers_are_decided_by_f1_in_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = [{"_id": f"q{at}", "text": f"Capital of {at}?", "answers": [f"Town{at} city"]} for at in range(ROWS)]
    files = [written(tmp_path / "queries.jsonl", queries)]
    for name, every in (("good", 9), ("poor", 2)):
        rows = [{"query": f"q{at}", "answer": f"Town{at}" if at % every else "none"} for at in range(ROWS)]
        files.append(written(tmp_path / f"{name}.jsonl", rows))
    folder = str(tmp_path / "results")
    here = decision(printed(capsys, "answers", *files, "-o", folder, "--quiet"))
    assert here.startswith("Ship good: 0.589 F1(tokens='bag')")
    assert decision(printed(capsys, "compare", folder)) == here
    assert " ".join(rp.load_results(folder).compare().decision.sentences) == here


def test_margin_cost_baseline_and_primary_decide_and_the_folder_keeps_them(
    logs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "results")
    costs = ("--cost", "good=4", "--cost", "poor=1", "--cost", "silent=1")
    options = ("-m", "EM", "--primary", "F1", "--margin", "0.5", *costs)
    here = decision(printed(capsys, "answers", *logs, *options, "-o", folder, "--quiet"))
    assert here.startswith("Ship poor only to save cost: it is 4 times cheaper, and measurably worse than good by 33.3 pp")
    assert decision(printed(capsys, "compare", folder)) == here
    result = rp.evaluate_answers(logs, measures=["EM", "F1"])
    found = result.compare(primary="F1", margin=0.5, costs={"good": 4, "poor": 1, "silent": 1})
    assert " ".join(found.decision.sentences) == here
    kept = str(tmp_path / "kept")
    here = decision(printed(capsys, "answers", *logs, "-m", "F1", "--baseline", "good", "-o", kept, "--quiet"))
    assert here.startswith("Keep good: ")
    assert decision(printed(capsys, "compare", kept)) == here
    assert main(["answers", *logs, "--cost", "good=1", "--cost", "good=2"]) == 2
    assert "--cost is given twice for good" in capsys.readouterr().err


def test_a_log_without_contexts_whose_answers_are_all_empty_is_a_system_that_answers_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [
        written(tmp_path / "good.jsonl", [row(at, right(at)) for at in range(ROWS)]),
        written(tmp_path / "null.jsonl", [row(at, None) for at in range(ROWS)]),
        written(tmp_path / "blank.jsonl", [row(at, " ") for at in range(ROWS)]),
    ]
    here = decision(printed(capsys, "answers", *paths, "-m", "F1"))
    assert here.startswith("Ship good: 1.000 F1(tokens='bag')")
    for name in ("null", "blank"):
        assert f"{name} did not answer 60 of 60 questions; they count as 0." in here
    assert list(rp.evaluate_answers(paths[1:2] + paths[:1]).means) == ["null", "good"]
    with pytest.raises(UsageError, match="there are no answers"):
        rp.evaluate_answers(paths[1:], measures="F1")


def test_names_of_systems_go_to_the_logs_in_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contexts = ["The capital is Town."]
    unanswered = [{"_id": f"q{at}", "question": f"What is the capital of {at}?", "contexts": contexts} for at in range(ROWS)]
    paths = [
        written(tmp_path / "a.jsonl", [row(at, right(at), contexts=contexts) for at in range(ROWS)]),
        written(tmp_path / "b.jsonl", unanswered),
        written(tmp_path / "c.jsonl", [row(at, "No.", contexts=contexts) for at in range(ROWS)]),
    ]
    names = [part for name in ("first", "second", "third") for part in ("--name", name)]
    out = json.loads(printed(capsys, "answers", *paths, *names, "-m", "AnswerRate", "--format", "json"))
    means = next(table for table in out["tables"] if table["name"] == "answer measures")
    assert {each["system"]: each["value"] for each in means["rows"]} == {"first": 1.0, "second": 0.0, "third": 1.0}


def test_python_knows_who_wrote_references_and_judgements() -> None:
    made = Queries(
        Query(f"q{at}", f"Capital of {at}?", fields={"answers": [right(at)], "generated_by": "llm:tiny:1"}) for at in range(ROWS)
    )
    answers = {"good": {f"q{at}": right(at) for at in range(ROWS)}, "poor": {f"q{at}": "No." for at in range(ROWS)}}
    result = rp.evaluate_answers(answers, made, measures="F1")
    assert result.compare().decision.outcome == "judge_leads"
    assert "By tiny (not checked by people), good leads" in str(result)
    cited = {name: {f"q{at}": Answer("x", cited=(doc,)) for at in range(ROWS)} for name, doc in (("a", "d1"), ("b", "d2"))}
    qrels = Qrels(Judgement(f"q{at}", "d1", 1, judge_label="llm:tiny:1") for at in range(ROWS))
    by_machine = rp.evaluate_answers(cited, {f"q{at}": "x" for at in range(ROWS)}, qrels, "CiteP").compare()
    assert (by_machine.decision.outcome, by_machine.decision.judge) == ("judge_leads", "tiny")


def test_python_counts_an_abstention_as_right_if_there_is_no_answer() -> None:
    references: dict[str, Any] = {f"q{at}": [] for at in range(ROWS)}
    answers = {name: dict.fromkeys(references, text) for name, text in (("brave", "It is here."), ("modest", "NO ANSWER"))}
    result = rp.evaluate_answers(answers, references, measures="F1")
    assert str(result).splitlines()[1].startswith("Ship modest: 1.000 F1")


def test_the_command_for_labels_names_the_folder_and_works_if_the_answers_were_not_saved(
    logs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers-1").mkdir()
    here = decision(printed(capsys, "answers", *logs, "-m", "Faithfulness"))
    assert "Next: the same command with -o answers-2, then rankproof serve answers-2 --label 30 (30 questions at random" in here
    assert "30 decide 2 of 10 comparisons of two systems, 100 decide 5 of 10" in here
    spaced = decision(printed(capsys, "answers", *logs, "-m", "Faithfulness", "-o", "my answers"))
    assert f"Next: rankproof serve {shlex.quote('my answers')} --label 30 (30 questions at random" in spaced
    assert decision(printed(capsys, "answers", "my answers")) == spaced
    more = decision(printed(capsys, "answers", "my answers", "-m", "ClaimF1"))
    assert "Next: the same command with -o answers-2, then rankproof serve answers-2 --label 30" in more
