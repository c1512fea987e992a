"""Contexts of answers: which places support claims, what the place of the first relevant one does, and changed contexts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._analysis.answers.answer_input import AnswerInput, answer_input_from_files
from rankproof._analysis.answers.log_tables import first_relevant_table, support_table
from rankproof._analysis.answers.logged_answers import answers_of_logs
from rankproof._cli.main import main
from rankproof._importers.registry import import_source

ROWS = 12
SETS = ("shuffled", "removed", "noise", "contradicted")


def row(number: int) -> dict[str, Any]:
    """The fact of even questions stands in the first context, that of odd ones in the third."""
    fact, other = f"Item {number} weighs {100 + number} grams.", f"Paint of colour {number} dries slowly."
    contexts = [fact, other, "Glue is sticky."] if number % 2 == 0 else [other, "Glue is sticky.", fact]
    asked = {"id": f"q{number}", "question": f"How heavy is item {number}?", "contexts": contexts, "reference_contexts": [fact]}
    return {**asked, "answer": fact if number % 2 == 0 else "I guess five pounds.", "reference": fact}


def log(folder: Path) -> Path:
    path = folder / "rag.jsonl"
    path.write_text("".join(json.dumps(row(number)) + "\n" for number in range(ROWS)), encoding="utf-8")
    return path


def answer_input(path: Path) -> AnswerInput:
    return answer_input_from_files(answers_of_logs(import_source(path)), ["ClaimF1", "Faithfulness"])


def test_the_share_of_claims_that_rest_on_each_place(tmp_path: Path) -> None:
    table = support_table(answer_input(log(tmp_path)))
    assert table is not None
    (shares,) = table.records()
    assert (shares["claims"], shares["context 1"], shares["context 2"], shares["context 4"]) == (6, 1.0, 0.0, None)


def test_values_by_the_place_of_the_first_relevant_context(tmp_path: Path) -> None:
    table = first_relevant_table(answer_input(log(tmp_path)), "ClaimF1(judge='overlap')")
    assert table is not None
    assert [(shown["place"], shown["n"]) for shown in table.records()] == [("1", 6), ("3", 6)]
    first, third = (shown["value"] for shown in table.records())
    assert first == 1.0
    assert isinstance(third, float)
    assert third < 0.5


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("varied")
    assert main(["answers", str(log(folder)), "--vary-contexts", str(folder / "sets"), "--quiet"]) == 0
    lines = {name: (folder / "sets" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines() for name in SETS}
    return {name: list(map(json.loads, rows)) for name, rows in lines.items()}


@pytest.mark.parametrize("name", SETS)
def test_a_set_has_every_question_with_its_answer_and_reference(varied: dict[str, list[dict[str, Any]]], name: str) -> None:
    kept = [(made["id"], made["answer"], made["answers"]) for made in varied[name]]
    assert kept == [(shown["id"], shown["answer"], [shown["reference"]]) for shown in map(row, range(ROWS))]


def test_shuffled_contexts_are_the_same_texts_and_mostly_in_another_order(varied: dict[str, list[dict[str, Any]]]) -> None:
    pairs = [(made["contexts"], row(number)["contexts"]) for number, made in enumerate(varied["shuffled"])]
    assert all(sorted(new) == sorted(old) for new, old in pairs)
    assert sum(new != old for new, old in pairs) > ROWS / 2


def test_the_removed_context_is_the_one_with_the_reference(varied: dict[str, list[dict[str, Any]]]) -> None:
    assert all(len(made["contexts"]) == 2 and made["answers"][0] not in made["contexts"] for made in varied["removed"])


def test_noise_is_a_context_of_another_question(varied: dict[str, list[dict[str, Any]]]) -> None:
    for number, made in enumerate(varied["noise"]):
        (new,) = set(made["contexts"]) - set(row(number)["contexts"])
        assert any(new in row(other)["contexts"] for other in range(ROWS) if other != number)


def test_a_contradiction_has_another_number_and_the_fact_stays(varied: dict[str, list[dict[str, Any]]]) -> None:
    for number, made in enumerate(varied["contradicted"]):
        (new,) = set(made["contexts"]) - set(row(number)["contexts"])
        assert set(made["contexts"]) > set(row(number)["contexts"])
        assert new.startswith(f"Item {number} weighs ")
        assert new != f"Item {number} weighs {100 + number} grams."


def test_the_change_of_each_measure_is_a_paired_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, sets = log(tmp_path), tmp_path / "sets"
    assert main(["answers", str(path), "--vary-contexts", str(sets), "--quiet"]) == 0
    logs = [str(path), *(str(sets / f"{name}.jsonl") for name in SETS)]
    capsys.readouterr()
    assert main(["answers", *logs, "-m", "Faithfulness,ContextR", "--baseline", "rag", "--format", "json", "--quiet"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    rows = [shown for table in tables for shown in table["rows"] if {"measure", "value"} <= shown.keys()]
    means = {shown["system"]: shown["value"] for shown in rows if shown["measure"].startswith("ContextR")}
    assert means["rag"] == means["shuffled"] == means["noise"] == 1.0
    assert means["removed"] < 0.5


@pytest.mark.parametrize("existing", ["file", "folder"])
def test_sets_are_written_to_a_new_folder_alone(tmp_path: Path, existing: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "sets"
    if existing == "file":
        place.write_text("x", encoding="utf-8")
    else:
        place.mkdir()
        (place / "x").write_text("x", encoding="utf-8")
    assert main(["answers", str(log(tmp_path)), "--vary-contexts", str(place)]) == 2
    assert "specify an empty or new folder with --vary-contexts" in capsys.readouterr().err
