"""RAG logs with their own names of columns: settings name them, and errors list the columns of the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof.errors import InputError, UsageError

ROWS = [
    {"ask": "What is a cat?", "reply": "An animal", "chunks": ["A cat is an animal."], "gold": "An animal"},
    {"ask": "What is a dog?", "reply": "An animal", "chunks": ["A dog is a pet."], "gold": "A pet"},
]
SETTINGS = {"question": "ask", "answer": "reply", "contexts": "chunks", "reference": "gold"}
FLAGS = ["--set", ",".join(f"{name}={column}" for name, column in SETTINGS.items())]
KNOWN = [{name: row[column] for name, column in SETTINGS.items()} for row in ROWS]
MISSING = (
    "no column is recognised as the question or the answer or the contexts or the reference; columns: ask, reply, chunks, gold;"
    " name those that the log has: "
)

LOG_FIX = "if this is a RAG log: --set question=COLUMN,contexts=COLUMN,answer=COLUMN"


def log(folder: Path, rows: list[dict[str, Any]], name: str = "log") -> str:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_settings_name_the_columns_of_a_log(tmp_path: Path) -> None:
    own, known = log(tmp_path, ROWS), log(tmp_path, KNOWN, "known")
    imported = rp.import_dataset(own, settings=SETTINGS)
    assert imported.dataset.fingerprint() == rp.import_dataset(known).dataset.fingerprint()
    assert imported.report.columns["retrieved contexts"] == "chunks"
    assert [one.text for one in imported.answers["log"].values()] == ["An animal", "An animal"]
    assert imported.report.notes == rp.import_dataset(known).report.notes


@pytest.mark.parametrize("form", ["path", "rows", "named"])
def test_evaluate_answers_takes_the_same_settings(tmp_path: Path, form: str) -> None:
    logs = {"path": log(tmp_path, ROWS), "rows": ROWS, "named": {"log": ROWS}}[form]
    found = rp.evaluate_answers(logs, measures="F1", settings=SETTINGS)
    expected = rp.evaluate_answers(KNOWN, measures="F1")
    assert [one.value for one in found.systems[0].measures.values()] == [
        one.value for one in expected.systems[0].measures.values()
    ]


def test_the_commands_take_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [log(tmp_path, ROWS), log(tmp_path, ROWS, "other")]
    assert main(["answers", *paths, *FLAGS]) == 0
    assert "ClaimF1" in capsys.readouterr().out
    assert main(["import", *paths, *FLAGS, "-o", str(tmp_path / "out")]) == 0
    assert "question = ask" in capsys.readouterr().out
    assert sorted(rp.read_dataset(tmp_path / "out").queries) == sorted(rp.import_dataset(log(tmp_path, KNOWN)).dataset.queries)


@pytest.mark.parametrize("command", [["answers", "log"], ["answers", "log", "other"], ["import", "log", "--from", "rag"]])
def test_an_unknown_log_is_refused_with_its_columns(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {name: log(tmp_path, ROWS, name) for name in ("log", "other")}
    assert main([paths.get(part, part) for part in command]) == 2
    assert (
        f"{paths['log']}:1: {MISSING}--set question=COLUMN,answer=COLUMN,contexts=COLUMN,reference=COLUMN"
        in capsys.readouterr().err
    )
    with pytest.raises(InputError, match="recognised as the question") as caught:
        rp.evaluate_answers(paths["log"])
    settings = dict.fromkeys(("question", "answer", "contexts", "reference"), "COLUMN")
    assert str(caught.value) == f"{paths['log']}:1: {MISSING}settings={json.dumps(settings)}"


def test_following_each_advice_leads_to_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log(tmp_path, ROWS)
    assert main(["import", path]) == 2
    assert f"name it: --query-column COLUMN; {LOG_FIX}" in capsys.readouterr().err
    assert main(["import", path, log(tmp_path, ROWS, "other")]) == 2
    assert f"as in --doc-id-column COLUMN; {LOG_FIX}" in capsys.readouterr().err
    assert main(["answers", path, "--set", "question=ask"]) == 2
    error = capsys.readouterr().err
    assert "no column is recognised as the answer or the contexts or the reference; columns: ask, reply, chunks, gold" in error
    assert "--set answer=COLUMN,contexts=COLUMN,reference=COLUMN" in error
    assert main(["answers", path, "--set", "question=ask", "--set", "answer=reply", "--set", "reference=gold"]) == 0


def test_a_setting_with_a_wrong_column_or_name_is_refused(tmp_path: Path) -> None:
    path = log(tmp_path, ROWS)
    with pytest.raises(InputError, match="no column is called asks; columns: ask, reply, chunks, gold"):
        rp.evaluate_answers(path, settings={"question": "asks"})
    for logs in (path, ROWS):
        with pytest.raises(UsageError, match="the importer rag has no setting questions; choose from: question, answer"):
            rp.evaluate_answers(logs, settings={"questions": "ask"})


@pytest.mark.parametrize("swapped", ["ask=question", "ask=question,reply=answer"])
def test_a_setting_after_its_column_is_shown_in_the_right_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], swapped: str
) -> None:
    path = log(tmp_path, ROWS)
    for command in ("import", "answers"):
        assert main([command, path, "--set", swapped]) == 2
        message = "no setting is called ask; write the setting first, then the column: --set question=ask\n"
        assert capsys.readouterr().err.endswith(message)
    with pytest.raises(UsageError, match=r'then the column: settings={"question": "ask"}'):
        rp.evaluate_answers(ROWS, settings=dict([swapped.split("=", 1)]))


def test_a_comma_in_a_setting_that_names_no_other_setting_belongs_to_its_value(tmp_path: Path) -> None:
    rows = [{"ask, user=1": row["ask"], **row} for row in ROWS]
    imported = rp.import_dataset(log(tmp_path, rows), settings={"question": "ask, user=1", "answer": "reply"})
    assert imported.report.columns["question"] == "ask, user=1"
