"""Rows of a RAG log with the same question: an id names the question, and without ids they are repeats of one question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._analysis.answers.logged_answers import answers_of_logs
from rankproof._cli.main import main
from rankproof._data.validation import made_id
from rankproof._formats.texts import read_answers
from rankproof._importers.base import ImportOptions
from rankproof._importers.registry import import_source
from rankproof._io.open import open_source
from rankproof._results.system_files import read_answers_file
from rankproof.errors import RankproofError

QUESTIONS = 21
ROWS = [
    {
        "question": f"What is {at % QUESTIONS}?",
        "answer": f"answer {at}",
        "contexts": [f"context {at}"],
        "reference": f"answer {at}",
    }
    for at in range(80)
]
WITH_IDS = [{"id": f"r{at}", **row} for at, row in enumerate(ROWS)]
NOTE = "log: 59 answers repeat a question: its value is the mean over its answers, its cause of a low F1 that of the first"


def log(folder: Path, rows: list[dict[str, Any]], name: str = "log") -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def counts(imported: rp.types.Imported) -> dict[str, tuple[int, int]]:
    return {count.part: (count.read, count.kept) for count in imported.report.counts}


def test_an_id_names_the_question_also_if_another_row_has_its_text(tmp_path: Path) -> None:
    imported = rp.import_dataset(log(tmp_path, WITH_IDS))
    assert list(imported.dataset.queries) == [f"r{at}" for at in range(80)]
    assert [answer.text for answer in imported.answers["log"].values()] == [f"answer {at}" for at in range(80)]
    assert counts(imported)["rows of log"] == (80, 80)
    assert not imported.answers["log"].repeats


def test_rows_without_ids_and_with_one_question_are_repeats_that_are_kept(tmp_path: Path) -> None:
    imported = rp.import_dataset(log(tmp_path, ROWS), tmp_path / "out")
    answers, query = imported.answers["log"], made_id("query", ["What is 3?"])
    assert len(imported.dataset.queries) == len(answers) == QUESTIONS
    assert answers[query].text == "answer 3"
    assert [answer.text for answer in answers.repeats[query]] == ["answer 24", "answer 45", "answer 66"]
    assert counts(imported)["rows of log"] == (80, 80)
    assert counts(imported)["repeats of log"] == (59, 59)
    assert NOTE in imported.report.notes
    written = read_answers(open_source(tmp_path / "out" / "answers" / "log.jsonl"))
    assert list(written.with_repeats()) == list(answers.with_repeats())
    assert {imported.contexts[doc] for _, _, one in answers.with_repeats() for doc in one.given or ()} == {
        f"context {at}" for at in range(80)
    }


def test_a_repeated_id_with_the_same_question_is_a_repeat(tmp_path: Path) -> None:
    rows = [{**row, "id": f"q{at % QUESTIONS}"} for at, row in enumerate(ROWS)]
    imported = rp.import_dataset(log(tmp_path, rows))
    assert list(imported.dataset.queries) == [f"q{at}" for at in range(QUESTIONS)]
    assert counts(imported)["repeats of log"] == (59, 59)


def test_logs_whose_ids_name_rows_and_not_questions_are_merged_by_text(tmp_path: Path) -> None:
    others = [{**row, "id": f"s{at}"} for at, row in enumerate(ROWS)]
    imported = rp.import_dataset([log(tmp_path, WITH_IDS), log(tmp_path, others, "other")])
    assert len(imported.dataset.queries) == QUESTIONS
    assert any(note.startswith("the ids of questions are not used") for note in imported.report.notes)
    assert counts(imported)["repeats of other"] == (59, 59)


def test_logs_that_share_ids_are_merged_by_id(tmp_path: Path) -> None:
    imported = rp.import_dataset([log(tmp_path, WITH_IDS), log(tmp_path, WITH_IDS[:40], "other")])
    assert len(imported.dataset.queries) == 80
    assert len(imported.answers["other"]) == 40


def test_repeats_without_answers_are_counted_as_dropped(tmp_path: Path) -> None:
    rows = [{"question": row["question"], "contexts": row["contexts"]} for row in ROWS]
    imported = rp.import_dataset(log(tmp_path, rows))
    (count,) = [count for count in imported.report.counts if count.part == "rows of log"]
    assert [str(one) for one in count.dropped] == ["59 with the same question as an earlier row (first at line 22)"]


def test_references_of_repeats_count(tmp_path: Path) -> None:
    imported = rp.import_dataset(log(tmp_path, ROWS))
    assert imported.dataset.queries[made_id("query", ["What is 3?"])].fields["answers"] == [
        f"answer {at}" for at in (3, 24, 45, 66)
    ]


def test_the_command_says_that_repeats_are_kept_and_the_results_have_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    assert main(["answers", str(log(tmp_path, ROWS)), "-m", "F1", "-o", str(results)]) == 0
    assert NOTE in capsys.readouterr().err.replace("\n", " ")
    assert main(["answers", str(results), "-m", "F1"]) == 0
    assert NOTE in capsys.readouterr().err.replace("\n", " ")
    lines = [json.loads(line) for line in (results / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 80
    assert [line.get("repeat") for line in lines[:4]] == [None, 2, 3, 4]


@pytest.mark.parametrize(("repeat", "what"), [(3, "repeat of query q1 is 3; write 2"), (None, "query q1 occurs twice")])
def test_a_wrong_repeat_number_is_refused(tmp_path: Path, repeat: int | None, what: str) -> None:
    rows: list[dict[str, Any]] = [{"query": "q1", "answer": "a"}, {"query": "q1", "answer": "b"}]
    rows[1] |= {"repeat": repeat} if repeat else {}
    with pytest.raises(RankproofError) as caught:
        read_answers(open_source(log(tmp_path, rows)))
    assert f"log.jsonl:2: {what}" in str(caught.value)


def test_a_run_and_a_sample_keep_the_repeats_of_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    path = log(tmp_path, ROWS)
    expected = rp.import_dataset(path, tmp_path / "out").answers["log"]
    for folder in ("computed", "cached"):
        assert main(["run", str(tmp_path / "out" / "experiment.toml"), "-o", str(tmp_path / folder)]) == 0
        (answers,) = read_answers_file(str(tmp_path / folder)).values()
        assert list(answers.with_repeats()) == list(expected.with_repeats())
    sample = answers_of_logs(rp.import_dataset(path)).sample(5, 1).answers["log"]
    assert dict(sample.repeats) == {query: expected.repeats[query] for query in sample}


def conversation(session: str, thing: str, price: int, **more: Any) -> list[dict[str, Any]]:
    texts = ((f"Is there a warranty on the {thing}?", "yes"), ("How much does it cost?", f"{price} euros"))
    return [
        {"conversation_id": session, "turn_index": turn, "question": text, "answer": "20 euros", "reference": reference, **more}
        for turn, (text, reference) in enumerate(texts, start=1)
    ]


def without(rows: list[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != column} for row in rows]


@pytest.mark.parametrize("column", ["turn_index", ""])
def test_a_question_in_two_sessions_is_two_questions_that_both_systems_share(tmp_path: Path, column: str) -> None:
    rows = [
        row
        for system in ("v1", "v2")
        for row in (*conversation("c1", "router", 20, system=system), *conversation("c2", "plug", 30, system=system))
    ]
    imported = rp.import_dataset(log(tmp_path, without(rows, column)))
    references = {query.id: query.fields["answers"] for query in imported.dataset.queries.values()}
    assert references == {"c1/1": ["yes"], "c1/2": ["20 euros"], "c2/1": ["yes"], "c2/2": ["30 euros"]}
    assert all(list(answers) == list(references) and not answers.repeats for answers in imported.answers.values())
    result = rp.evaluate_answers(log(tmp_path, without(rows, column)), measures="EM")
    right = {"c1/1": 0.0, "c1/2": 1.0, "c2/1": 0.0, "c2/2": 0.0}
    assert [dict(system.measures["EM"].per_query) for system in result.systems] == [right, right]


def test_a_turn_that_is_logged_again_is_a_repeat(tmp_path: Path) -> None:
    imported = rp.import_dataset(log(tmp_path, [*conversation("c1", "router", 20), *conversation("c1", "router", 20)]))
    assert list(imported.dataset.queries) == ["c1/1", "c1/2"]
    assert {query: len(rows) for query, rows in imported.answers["log"].repeats.items()} == {"c1/1": 1, "c1/2": 1}


def test_systems_with_sessions_of_their_own_share_questions_with_the_same_text_and_the_same_questions_before_it(
    tmp_path: Path,
) -> None:
    first = log(tmp_path, [*conversation("c1", "router", 20), *conversation("c2", "plug", 30)], "first")
    second = log(tmp_path, [*conversation("d1", "plug", 30), *conversation("d2", "router", 20)], "second")
    imported = rp.import_dataset([first, second])
    references = {query.id: query.fields["answers"] for query in imported.dataset.queries.values()}
    assert sorted(references.values()) == [["20 euros"], ["30 euros"], ["yes"], ["yes"]]
    assert all(answers.keys() == references.keys() for answers in imported.answers.values())


def test_the_questions_of_a_log_without_sessions_are_known_by_their_text(tmp_path: Path) -> None:
    rows = without([*conversation("c1", "router", 20), *conversation("c2", "plug", 30)], "conversation_id")
    assert len(rp.import_dataset(log(tmp_path, rows)).dataset.queries) == 3


def versions_note(folder: Path, rows: list[dict[str, Any]], **settings: str) -> list[str]:
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = import_source(folder / "a.jsonl", ImportOptions(settings=settings))
    return [note for note in result.report.notes if "--set system=" in note]


def asked(at: int, **more: str) -> dict[str, Any]:
    return {"question": f"what is {at}?", "answer": "yes", **more}


def test_a_column_that_tells_the_answers_to_a_question_apart_may_name_the_system(tmp_path: Path) -> None:
    rows = [asked(at, bot=bot, model=f"m-{bot}") for at in range(6) for bot in ("old", "new")]
    assert versions_note(tmp_path, rows) == [
        "bot (old, new) may name the system of a row: if so, add --set system=bot",
        "model (m-old, m-new) may name the system of a row: if so, add --set system=model",
    ]
    assert versions_note(tmp_path, rows, system="bot") == []


def test_a_version_may_name_the_system_also_if_no_question_is_asked_twice(tmp_path: Path) -> None:
    rows = [asked(at, app_version=f"{1 + at % 2}.0", user_group="ab"[at % 2], model=f"m{at % 2}") for at in range(8)]
    assert versions_note(tmp_path, rows) == [
        "app_version (1.0, 2.0) may name the system of a row: if so, add --set system=app_version"
    ]
