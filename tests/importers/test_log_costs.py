"""What answers cost by their logs: time, tokens and money become costs of the decision, groups of users its segments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.answers import AnswerUsage
from rankproof._importers.registry import import_source
from rankproof.errors import InputError

QUESTIONS = 40


def row(at: int, **more: Any) -> dict[str, Any]:
    return {"id": f"q{at}", "question": f"what is {at}?", "answer": "yes", "reference": "yes", "contexts": ["yes"], **more}


def log(folder: Path, name: str, **columns: Any) -> str:
    """A log whose columns are numbers, or functions of the number of the row."""
    path = folder / f"{name}.jsonl"
    rows = [
        row(at, **{key: value(at) if callable(value) else value for key, value in columns.items()}) for at in range(QUESTIONS)
    ]
    path.write_text("".join(json.dumps(item) + "\n" for item in rows), encoding="utf-8")
    return str(path)


def usages(path: str) -> list[AnswerUsage | None]:
    (answers,) = rp.import_dataset(path).answers.values()
    return [answer.usage for answer in answers.values()]


def test_times_tokens_money_and_the_model_of_an_answer_are_kept(tmp_path: Path) -> None:
    path = log(tmp_path, "a", latency=0.5, prompt_tokens=90, completion_tokens="10", cost_usd=0.002, model="small")
    assert usages(path) == [AnswerUsage(500.0, 90.0, 10.0, None, 0.002, "small")] * QUESTIONS


def test_milliseconds_count_before_seconds(tmp_path: Path) -> None:
    (first, *_) = usages(log(tmp_path, "a", latency=0.5, latency_ms=499.0))
    assert first is not None
    assert first.latency_ms == 499.0


def test_a_column_that_has_text_is_no_cost(tmp_path: Path) -> None:
    imported = rp.import_dataset(log(tmp_path, "a", cost=lambda at: "high" if at % 2 else "low", tokens=lambda at: [at]))
    assert "columns that make segments (--by): cost" in imported.report.notes
    assert "columns that are not used: tokens" in imported.report.notes


@pytest.mark.parametrize("wrong", [-1, "-3.5", "inf", "nan", "fast"])
def test_a_cost_below_zero_or_that_is_no_number_is_an_error_with_its_line(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(InputError, match=r"a\.jsonl:3: cost is .*at least 0"):
        usages(log(tmp_path, "a", cost=lambda at: wrong if at == 2 else 1))


@pytest.mark.parametrize(
    ("cheap", "dear", "words"),
    [
        ({"cost": 0.001}, {"cost": 0.004, "latency_ms": 1}, "4 times cheaper"),
        ({"latency_ms": 200}, {"latency_ms": 800}, "4 times faster"),
        ({"tokens": 200}, {"tokens": 800}, "4 times cheaper"),
        ({"tokens_in": 150, "tokens_out": 50}, {"tokens": 800}, "4 times cheaper"),
    ],
)
def test_the_cheaper_of_two_equal_systems_is_shipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cheap: dict[str, Any], dear: dict[str, Any], words: str
) -> None:
    logs = [log(tmp_path, "dear", answer=lambda at: "yes" if at else "no", **dear), log(tmp_path, "cheap", **cheap)]
    folder = str(tmp_path / "results")
    assert main(["answers", *logs, "-m", "EM", "--margin", "0.2", "-o", folder]) == 0
    said = capsys.readouterr().out
    assert words in said
    assert "Ship cheap" in said
    assert "Costs of an answer, as logged" in said
    comparison = rp.compare(rp.load_results(folder), primary="EM", margin=0.2)
    assert comparison.decision.systems == ("cheap",)
    assert words in " ".join(comparison.decision.sentences)


def test_a_cost_that_one_answer_lacks_does_not_decide(tmp_path: Path) -> None:
    logs = [log(tmp_path, "a", cost=lambda at: None if at == 3 else 0.001), log(tmp_path, "b", cost=0.004)]
    comparison = rp.compare(rp.evaluate_answers(logs, measures="EM"))
    assert [system.cost for system in comparison.decision.by_system] == [None, 0.004]
    assert any("the price of a is unknown" in note for note in comparison.notes)


def test_groups_of_users_are_segments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def group(at: int) -> str:
        return "free" if at % 2 else "pro"

    logs = [log(tmp_path, name, user_group=group, trace=lambda at: f"t{at}") for name in ("a", "b")]
    assert main(["answers", *logs, "-m", "EM", "--by", "user_group"]) == 0
    shown = capsys.readouterr()
    assert "EM by user_group" in shown.out
    assert "columns that are not used: trace" in shown.err


def test_a_column_that_differs_between_systems_is_no_segment(tmp_path: Path) -> None:
    logs = [log(tmp_path, name, tier=lambda at, n=name: n if at % 2 else "x") for name in ("a", "b")]
    imported = rp.import_dataset(logs)
    assert any(note.startswith("tier differs between the rows of 20 questions") for note in imported.report.notes)
    assert not any("tier" in query.fields for query in imported.dataset.queries.values())


def test_equal_answers_of_other_costs_are_equal() -> None:
    assert rp.types.Answer("yes", usage=AnswerUsage(cost=1.0)) == rp.types.Answer("yes")


def test_costs_of_imported_logs_are_kept_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    logs = [log(tmp_path, name, latency_ms=100.0, cost=cost) for name, cost in (("big", 0.01), ("small", 0.001))]
    folder = str(tmp_path / "rag")
    assert main(["import", *logs, "-o", folder]) == 0
    assert main(["run", f"{folder}/experiment.toml", "-o", str(tmp_path / "out"), "--no-report"]) == 0
    money = {
        run.name: {answer.usage.cost for answer in run.answers.values() if answer.usage}
        for run in rp.load_results(tmp_path / "out").system_runs
        if run.answers
    }
    assert money == {"big": {0.01}, "small": {0.001}}


def test_an_object_of_usage_and_seconds_are_costs(tmp_path: Path) -> None:
    row = {"answer": "yes", "usage": {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100, "details": {}}}
    lines = [{"question": f"q{at}", **row, "duration_s": 0.5} for at in range(3)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    read = import_source(tmp_path / "a.jsonl")
    usages = {answer.usage for answer in read.answers["a"].values()}
    assert usages == {AnswerUsage(latency_ms=500.0, tokens_in=90.0, tokens_out=10.0, tokens=100.0)}
    assert not any("not used" in note for note in read.report.notes)
