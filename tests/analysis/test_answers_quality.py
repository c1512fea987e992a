"""Answer quality beside retrieval: over the same queries, and only if retrieval is known."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main

QUERIES = (
    {"_id": "q1", "text": "capital of France", "answers": ["Paris"]},
    {"_id": "q2", "text": "capital of Italy", "answers": ["Rome"]},
    {"_id": "q3", "text": "capital of Nowhere", "answers": []},
    {"_id": "q4", "text": "capital of Peru", "answers": ["Lima"]},
)
QRELS = "q1 0 d1 1\nq2 0 d2 1\nq3 0 d9 0\nq4 0 d4 0\n"


def written(folder: Path, answers: Sequence[dict[str, Any]], queries: Sequence[dict[str, Any]] = QUERIES) -> list[str]:
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in queries))
    (folder / "mine.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))
    (folder / "q.qrels").write_text(QRELS)
    return ["answers", str(folder / "queries.jsonl"), str(folder / "mine.jsonl"), "--qrels", str(folder / "q.qrels")]


def tables(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    assert main([*arguments, "--format", "json"]) == 0
    return {table["name"]: table for table in json.loads(capsys.readouterr().out)["tables"]}


def line(query: str, answer: str, **more: Any) -> dict[str, Any]:
    return {"query": query, "answer": answer, **more}


def test_retrieval_and_answers_run_over_the_same_questions_and_the_parts_add_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [
        line("q1", "Paris", given=["d1"]),
        line("q2", "Oslo", given=[]),
        line("q3", "Atlantis", given=["d9"]),
        line("q4", "Quito", given=["d4"]),
    ]
    (row,) = tables(written(tmp_path, answers), capsys)["retrieval and answers"]["rows"]
    assert (row["n"], row["RR@10"], row["F1"]) == (2, 0.5, 0.5)
    assert (row["n relevant"], row["F1 relevant"], row["n other"], row["F1 other"]) == (1, 1.0, 1, 0.0)


def test_a_failed_answer_is_in_neither_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = [line("q1", "Paris", given=["d1"]), line("q2", "", state="failed")]
    (row,) = tables(written(tmp_path, answers), capsys)["retrieval and answers"]["rows"]
    assert (row["n"], row["RR@10"], row["F1"], row["n relevant"], row["n other"]) == (1, 1.0, 1.0, 1, 0)


def test_retrieval_is_not_analysed_if_only_some_answers_have_their_given_passages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tables(written(tmp_path, [line("q1", "Paris", given=["d1"]), line("q2", "Rome")]), capsys)["retrieval and answers"]
    (row,) = found["rows"]
    assert (row["RR@10"], row["n relevant"], row["n other"]) == (None, None, None)
    assert row["n"] == 3
    assert found["notes"] == ["mine: 1 of 2 answers lack the given passages, so retrieval is not analysed"]


def test_chunks_that_answers_cite_count_as_their_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = [
        line("q1", "Paris", cited=["d1#c1", "d1#c2"], given=["x#c1", "d1#c2", "d1#c1"]),
        line("q2", "Rome", cited=["d2#c3"], given=["d2#c3"]),
    ]
    found = tables(written(tmp_path, answers), capsys)
    values = {row["measure"]: row["value"] for row in found["answer measures"]["rows"]}
    assert values["CiteP"] == values["CiteR"] == 1.0
    assert found["retrieval and answers"]["rows"][0]["RR@10"] == 0.75
    assert not any("cited id" in note for note in found["answer measures"]["notes"])


def test_cited_ids_that_no_judgement_names_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = [line("q1", "Paris", cited=["d1", "d1#chapter", "u7"]), line("q2", "Rome", cited=["d9"])]
    notes = tables(written(tmp_path, answers), capsys)["answer measures"]["notes"]
    assert "mine: 2 cited ids have no judgement and count as not relevant: d1#chapter, u7" in notes


def test_no_interval_leaves_the_range_of_its_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = [{"_id": f"q{at}", "text": "x", "answers": ["Paris"]} for at in range(1, 9)]
    answers = [line(f"q{at}", "Paris" if at < 8 else "Rome", given=[]) for at in range(1, 9)]
    rows = tables(written(tmp_path, answers, queries), capsys)["answer measures"]["rows"]
    bounds = [row["95% CI"] for row in rows if row["95% CI"] is not None]
    assert bounds
    assert all(0 <= low < high == 1.0 for low, high in bounds)


def test_one_question_is_shown_with_its_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = written(tmp_path, [line("q1", "Paris")], QUERIES[:1])
    (tmp_path / "theirs.jsonl").write_text('{"query": "q1", "answer": "Rome"}\n')
    found = tables([*arguments[:3], str(tmp_path / "theirs.jsonl"), *arguments[3:]], capsys)
    assert {(row["system"], row["value"]) for row in found["answer measures"]["rows"] if row["measure"] == "EM"} == {
        ("mine", 1.0),
        ("theirs", 0.0),
    }


@pytest.mark.parametrize("phrase", ["NO ANSWER", "No answer.", "  no answer ", ""])
def test_the_usual_phrase_abstains(phrase: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = written(tmp_path, [line("q3", phrase)], [QUERIES[2]])
    values = {row["measure"]: row["value"] for row in tables(arguments, capsys)["answer measures"]["rows"]}
    assert (values["EM"], values["Contains"]) == (1.0, 1.0)


def test_a_stated_answer_is_not_taken_for_an_abstention(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"_id": "q1", "text": "what did the judge reply?", "answers": ["No answer"]}
    arguments = written(tmp_path, [line("q1", "No answer", state="answered")], [asked])
    assert tables(arguments, capsys)["answer measures"]["rows"][0]["value"] == 1.0


def test_counts_of_one_are_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "queries.jsonl").write_text(json.dumps(QUERIES[0]) + "\n")
    (data / "corpus.jsonl").write_text('{"_id": "d1", "text": "Paris is the capital of France."}\n{"_id": "d2", "text": ""}\n')
    (data / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "e.toml").write_text(
        f'dataset = "{data}"\n[systems.bm25]\nstage = "bm25"\n[systems.x]\nstage = "extract"\nof = "bm25"\n'
    )
    assert main(["run", str(tmp_path / "e.toml"), "-o", str(tmp_path / "out"), "--no-cache"]) == 0
    assert main(["answers", str(tmp_path / "out")]) == 0
    assert main(["explain", str(tmp_path / "out"), "-m", "EM", "--system", "x"]) == 0
    found = capsys.readouterr()
    output = " ".join((found.out + found.err).split())
    assert "1 document has no words in title and text" in output
    assert "over 1 query with a reference answer" in output
    assert "Of 1 answer, 1 has an F1 under 0.4" in output
    assert not re.search(r"(?<![\d.,])1 (queries|documents|answers|replies|pairs|calls|judgements)\b", output)
