"""Answers in the results folder: saved, loaded, and written as a table and a summary."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._data.answers import Answer, Answers
from rankproof._data.qrels import Qrels
from rankproof._experiment import answers as answering
from rankproof._experiment.answers import Encoders, evaluate_answering_systems
from rankproof._render.paper import long_rows
from rankproof._render.systems import answers_table
from rankproof._render.table import shown_rows
from rankproof._results.folder import load_results, save_results
from rankproof.errors import InputError
from support.answering_results import QUERIES, TYPES, answering_results
from support.bad_inputs import harmful_texts
from support.examples import sampled
from support.paths import DOCS
from support.small_models import HashedWords
from support.small_results import small_results


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_results(answering_results(), tmp_path / "out", findings=["says is the only one"])
    return tmp_path / "out"


def test_answers_are_loaded_as_they_were_saved(saved: Path) -> None:
    results, again = answering_results(), load_results(saved)
    assert again.system_runs[1].answers == results.system_runs[1].answers
    assert again.system_runs[0].answers is None
    assert again.answers is not None
    assert results.answers is not None
    assert again.answers.queries == results.answers.queries
    assert again.answers.means == results.answers.means
    assert again.answers.notes == results.answers.notes
    assert again.answers.per_query("says") == results.answers.per_query("says")
    assert (again.judged_documents, again.urls) == (results.judged_documents, results.urls)
    assert again.document_fields == results.document_fields != {}
    assert again.system_runs[1].money == results.system_runs[1].money
    assert {name: values.tolist() for name, values in again.system_runs[1].counts.items()} == {
        name: values.tolist() for name, values in results.system_runs[1].counts.items()
    }


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_has_a_row_for_each_system_that_answers_and_each_question(saved: Path) -> None:
    rows = rows_in(saved / "answers.csv")
    assert [row["query"] for row in rows] == list(QUERIES)
    first = rows[1]
    assert first["method"] == "says"
    assert first["question"] == "what is 1?"
    assert first["type"] == "comparative"
    assert json.loads(first["expected_url"]) == ["https://a.example/1"]
    assert json.loads(first["retrieved_url"]) == ["https://a.example/1", "d2"]
    assert (first["answer"], first["expected_answer"], first["state"]) == ("it is word 1", "word 1", "answered")
    assert rows[2]["expected_answer"] == "[]"
    assert (float(first["EM"]), float(first["Contains"]), float(first["CiteP"])) == (0.0, 1.0, 1.0)
    parts = [float(first[name]) for name in ("retrieval_ms", "rerank_ms", "generation_ms")]
    assert all(value >= 0 for value in parts)
    assert "total_ms" in first


def test_the_summary_has_means_with_n_segments_counts_and_findings(saved: Path) -> None:
    summary = json.loads((saved / "answers.json").read_text(encoding="utf-8"))
    (system,) = summary["systems"]
    assert (summary["questions"], summary["with_reference"]) == (12, 12)
    assert summary["findings"] == ["says is the only one"]
    assert system["states"] == {"answered": 11, "failed": 1}
    assert system["answers"]["Contains"] == {"mean": 8 / 11, "n": 11}
    assert set(system["segments"]["type"]) == set(TYPES)
    assert system["segments"]["type"]["factual"]["EM"]["n"] == 3
    assert system["counts"]["calls"] == 66
    assert system["money"] == 0.1 + 0.2


def test_a_system_whose_every_answer_failed_has_no_mean_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = answering_results()
    down = replace(results.system_runs[1], name="down", answers=Answers({query: Answer("", state="failed") for query in QUERIES}))
    system_runs, texts = (*results.system_runs, down), results.texts
    document = results.judged_documents
    result = evaluate_answering_systems(
        system_runs, texts, results.qrels, None, rel=results.rel, document=lambda doc: document.get(doc, doc)
    ).result
    ranked = replace(results.result, systems=(*results.result.systems, replace(results.result.systems[1], name="down")))
    save_results(replace(results, system_runs=system_runs, answers=result, result=ranked), tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "answers.json").read_text(encoding="utf-8"))
    assert summary["systems"][1]["answers"]["EM"] == {"mean": None, "n": 0}
    stored = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert stored["answers"]["systems"][1]["measures"]["EM"]["value"] is None
    again = load_results(tmp_path / "out")
    assert again.answers is not None
    assert again.answers.per_query("down")["EM"] == {}
    rows = shown_rows(answers_table(again.answers))
    assert [(row[1].text, row[2].text) for row in rows] == [("11", "0.0000"), ("0", "–")]
    assert {row["EM"] for row in rows_in(tmp_path / "out" / "answers.csv") if row["method"] == "down"} == {""}
    assert not [row for row in long_rows(again) if row.kind == "answers" and row.system == "down"]
    assert main(["answers", str(tmp_path / "out"), "--by", "type"]) == 0
    shown = capsys.readouterr()
    assert "12 queries have failed answers and are left out of the means" in shown.err
    assert "down has no value of F1(tokens='bag') and is left out" in shown.err
    assert "8 of 8 answers failed and are left out." in shown.out


def test_a_failed_answer_is_a_missing_query_for_the_gate(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", str(saved), "-m", "EM", "--save", str(tmp_path / "base.json")]) == 0
    results = answering_results()
    worse = Answers({**(results.system_runs[1].answers or {}), "q1": Answer("", state="failed")})
    system_runs = (results.system_runs[0], replace(results.system_runs[1], answers=worse))
    result = evaluate_answering_systems(
        system_runs, results.texts, results.qrels, None, rel=results.rel, document=lambda doc: doc.partition("#")[0]
    )
    save_results(replace(results, system_runs=system_runs, answers=result.result), tmp_path / "worse")
    capsys.readouterr()
    assert main(["gate", str(tmp_path / "worse"), "--baseline", str(tmp_path / "base.json")]) == 3
    shown = capsys.readouterr()
    assert "1 of 11 queries of the baseline are missing or not answered: q1" in " ".join((shown.out + shown.err).split())
    assert "2 queries have failed answers" in " ".join((shown.out + shown.err).split())


def test_a_folder_may_have_another_rel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels = Qrels.from_dict({query: {"d1": 2 + at % 2} for at, query in enumerate(QUERIES)})
    save_results(replace(answering_results(), qrels=qrels), tmp_path / "out")

    def judged(*options: str) -> int:
        capsys.readouterr()
        assert main(["answers", str(tmp_path / "out"), "--format", "json", *options]) == 0
        (table,) = [each for each in json.loads(capsys.readouterr().out)["tables"] if each["name"] == "answer measures"]
        return next(int(row["n"]) for row in table["rows"] if row["measure"] == "CiteP")

    assert (judged(), judged("--rel", "2"), judged("--rel", "3"), judged("--rel", "3", "-m", "CiteP")) == (11, 11, 5, 5)
    assert main(["answers", str(tmp_path / "out"), "-m", "CiteP", "--rel", "4"]) == 2
    assert "no query has a relevant document" in capsys.readouterr().err


def test_an_encoder_is_loaded_once_and_a_truncated_text_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = []

    def named(name: str) -> HashedWords:
        loads.append(name)
        return HashedWords(max_words=3)

    monkeypatch.setattr(answering, "encoder_by_name", named)
    encode = Encoders()
    for answer in ("one", "a text of more than three words"):
        assert len(encode("words", [answer, "a reference of many words", "a reference of many words"])) == 3
    assert loads == ["words"]
    assert encode.notes() == ("2 answers or references are longer than words reads and were truncated",)


def test_results_without_answers_have_no_file_of_answers(tmp_path: Path) -> None:
    save_results(small_results(), tmp_path / "out")
    assert not list((tmp_path / "out").glob("answers*"))


def test_a_folder_with_answers_may_be_replaced(saved: Path) -> None:
    save_results(small_results(), saved)
    assert not list(saved.glob("answers*"))


@pytest.mark.parametrize("change", [b"", b"{}\n", b'{"system": "says"}\n'])
def test_answers_that_were_changed_are_refused(saved: Path, change: bytes) -> None:
    (saved / "answers.jsonl").write_bytes(change)
    with pytest.raises(InputError, match=r"answers\.jsonl: the file was changed"):
        load_results(saved)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("systems", 0, "name"), "bm25"),
        (("systems",), []),
        (("judged_documents",), []),
        (("judged_ids",), 3),
        (("systems", 0, "measures", "EM", "per_query"), {"q": "x"}),
    ],
)
def test_a_damaged_document_is_refused(saved: Path, path: tuple[Any, ...], value: Any) -> None:
    document = json.loads((saved / "result.json").read_text(encoding="utf-8"))
    inner = document["answers"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (saved / "result.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=r"result\.json"):
        load_results(saved)


HOSTILE = ["=1+1", "@SUM(1)", "\t=x", 'a"b,c', "new\nline", "\x1b[31mred", "\u202eabc", "\r=1", "-2+3", "+1", "文書 é"]


def hostile_texts() -> list[str]:
    return [*HOSTILE, *(text for text in harmful_texts() if text.strip())]


@pytest.mark.parametrize("text", sampled(hostile_texts(), 6), ids=lambda text: ascii(text)[:30])
def test_hostile_answers_are_saved_and_shown_safely(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    results = answering_results([text])
    save_results(results, tmp_path / "out")
    again = load_results(tmp_path / "out").system_runs[1].answers
    assert again is not None
    assert again["q0"].text == text
    (row,) = [row for row in rows_in(tmp_path / "out" / "answers.csv") if row["query"] == "q0"]
    assert not row["answer"].startswith(("=", "+", "-", "@", "\t", "\r"))
    for name in ("answers.csv", "answers.json", "answers.jsonl"):
        written = (tmp_path / "out" / name).read_text(encoding="utf-8")
        assert "\x1b" not in written
        assert "\u202e" not in written
    assert main(["answers", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert "\x1b[31m" not in shown.out + shown.err


def test_the_page_of_the_folder_names_every_file_and_column_of_answers(saved: Path) -> None:
    page = (DOCS / "results-folder.md").read_text(encoding="utf-8")
    summary = json.loads((saved / "answers.json").read_text(encoding="utf-8"))
    measures = summary["systems"][0]["answers"]
    columns = [name for name in rows_in(saved / "answers.csv")[0] if name not in measures]
    line = json.loads((saved / "answers.jsonl").read_text(encoding="utf-8").splitlines()[0])
    document = json.loads((saved / "result.json").read_text(encoding="utf-8"))
    names = [
        "answers.csv",
        "answers.json",
        "answers.jsonl",
        *columns,
        *summary,
        *summary["systems"][0],
        *line,
        *document["answers"],
    ]
    assert [name for name in names if f"`{name}`" not in page] == []
