"""Which chunk supports which claim, over all answers of a log, as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from rankproof._cli.main import main

CONTEXTS = [{"id": "wet", "text": "Bergen is wet. It is in Norway."}, {"id": "founded", "text": "Oslo was founded in 1040."}]
LOG = [
    {"question": "When was Oslo founded?", "answer": "Oslo was founded in 1040. It snows.", "contexts": CONTEXTS},
    {"question": "Where is Bergen?", "answer": "It is in Norway.", "contexts": CONTEXTS},
    {"question": "Where is Bergen?", "answer": "Nobody knows where.", "contexts": CONTEXTS},
]


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LOG), encoding="utf-8")
    assert main(["answers", "log.jsonl", "-m", "Faithfulness", "-o", "answers", "--quiet"]) == 0
    capsys.readouterr()
    return "answers"


def test_each_claim_has_the_chunks_that_it_rests_on(answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", answers, "--format", "claims-csv", "--quiet"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["text"], row["answer"], row["chunk"], row["place"], row["sentence"]) for row in rows] == [
        ("Oslo was founded in 1040.", "1", "founded", "2", "Oslo was founded in 1040."),
        ("It snows.", "1", "", "", ""),
        ("It is in Norway.", "1", "wet", "1", "It is in Norway."),
        ("Nobody knows where.", "2", "", "", ""),
    ]
    assert {row["question"] for row in rows} == {row["question"] for row in LOG}


def test_the_same_table_is_written_as_json(answers: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", answers, "--format", "claims-json", "--quiet"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert [row["chunk"] for row in table["rows"]] == ["founded", None, "wet", None]


def test_answers_without_claims_are_an_error_that_says_what_to_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"question": "q", "answer": "yes", "reference": "yes"}
    Path("log.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert main(["answers", "log.jsonl", "-m", "EM", "-o", "answers", "--quiet"]) == 0
    assert main(["export", "answers", "--format", "claims-csv"]) == 2
    assert "measure answers by claims, with -m Faithfulness" in capsys.readouterr().err
