"""From the raw logs of two systems to the decision in two commands, and the answers of a run file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._data.identity import identity
from rankproof._results.folder import load_results
from rankproof.errors import InputError
from rankproof.stages import RunFile

QUESTIONS = 40


def write_log(path: Path, rank: int, **without: Any) -> str:
    """A log in which the relevant context has this rank for three questions of four; the answer is right if the rank is 1."""
    rows = []
    for at in range(QUESTIONS):
        contexts = [f"Passage {at} {place}." for place in range(4)]
        found = rank if at % 4 else 3
        contexts.insert(found - 1, f"Answer {at}.")
        row = {
            "user_input": f"question {at}",
            "retrieved_contexts": contexts,
            "reference_contexts": [f"Answer {at}."],
            "response": f"answer {at}" if found == 1 else "something else",
            "reference": f"answer {at}",
        }
        rows.append({key: value for key, value in row.items() if key not in without})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    return [write_log(tmp_path / "old.jsonl", 3), write_log(tmp_path / "new.jsonl", 1)]


def test_two_commands_lead_from_two_logs_to_the_decision(
    tmp_path: Path, logs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, results = str(tmp_path / "rag"), str(tmp_path / "results")
    assert main(["import", *logs, "-o", folder]) == 0
    assert f"next: rankproof run {folder}/experiment.toml" in " ".join(capsys.readouterr().err.split())
    assert main(["run", f"{folder}/experiment.toml", "-o", results, "--no-report"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("rag (dataset rag), ")
    assert "Ship new: 0.875 nDCG@10" in shown
    assert "Answers, over 40 queries with a reference answer" in shown
    found = load_results(results)
    assert found.answers is not None
    assert found.answers.means["new"]["EM"] == 0.75
    assert found.answers.means["old"]["EM"] == 0.0
    assert [one.times for one in found.system_runs] == [{}, {}]


def test_one_log_gives_its_values(tmp_path: Path, logs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", logs[1], "-o", str(tmp_path / "rag")]) == 0
    assert main(["run", str(tmp_path / "rag" / "experiment.toml"), "-o", str(tmp_path / "results"), "--no-report"]) == 0
    assert "One system, so nothing to decide: " in capsys.readouterr().out


def test_logs_without_reference_contexts_are_compared_their_answers_measured_and_judging_is_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = [write_log(tmp_path / f"{name}.jsonl", rank, reference_contexts=None) for name, rank in (("old", 3), ("new", 1))]
    assert main(["import", *logs, "-o", str(tmp_path / "rag")]) == 0
    assert main(["run", str(tmp_path / "rag" / "experiment.toml"), "-o", str(tmp_path / "results"), "--no-report"]) == 0
    written = "".join(capsys.readouterr())
    assert "40 queries without judgements" in written
    assert "Answers, over 40 queries with a reference answer" in written
    assert f"rankproof judge {tmp_path / 'results'}" in written


def test_the_searches_of_an_agent_come_through_a_run(tmp_path: Path) -> None:
    calls = [{"query": "q", "contexts": ["no"], "tokens": 5, "elapsed_ms": 80}, {"query": "r", "contexts": ["yes"]}]
    row = {"question": "q?", "answer": "a", "answers": ["a"], "reference_contexts": ["yes"], "searches": calls}
    (tmp_path / "a.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert main(["import", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "rag")]) == 0
    for _ in range(2):
        assert main(["run", str(tmp_path / "rag" / "experiment.toml"), "-o", str(tmp_path / "results"), "--no-report"]) == 0
        (system,) = load_results(str(tmp_path / "results")).system_runs
        assert system.answers is not None
        (answer,) = system.answers.values()
        assert [(call.query, len(call.returned), call.tokens, call.elapsed_ms) for call in answer.searches or ()] == [
            ("q", 1, 5.0, 80.0),
            ("r", 1, None, None),
        ]


@pytest.fixture
def stage(tmp_path: Path) -> RunFile:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2.0 a\nq1 Q0 d2 2 1.0 a\nq2 Q0 d2 1 1.0 a\n")
    (tmp_path / "a.jsonl").write_text('{"query": "q1", "answer": "Paris"}\n{"query": "q9", "answer": "Rome"}\n')
    return RunFile(str(tmp_path / "a.run"), answers=str(tmp_path / "a.jsonl"))


def dataset_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "one", "answers": ["Paris"]}\n{"_id": "q2", "text": "two", "answers": ["Rome"]}\n'
    )
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    return folder


def test_answers_that_are_missing_or_of_other_queries_are_noted(tmp_path: Path, stage: RunFile) -> None:
    (tmp_path / "e.toml").write_text('dataset = "data"\n[systems.a]\nstage = "run"\npath = "a.run"\nanswers = "a.jsonl"\n')
    dataset_folder(tmp_path / "data")
    assert main(["run", str(tmp_path / "e.toml"), "-o", str(tmp_path / "results"), "--no-report", "--quiet"]) == 0
    found = load_results(str(tmp_path / "results"))
    (system,) = found.system_runs
    assert "1 of 2 queries not in a.jsonl (q2): no answer, which scores 0" in system.notes
    assert "1 answer of a.jsonl to queries that the experiment does not have (q9): left out" in system.notes
    assert system.answers is not None
    assert (system.answers["q1"].text, system.answers["q1"].given) == ("Paris", ("d1", "d2"))
    assert found.answers is not None
    assert found.answers.means["a"]["EM"] == 0.5


def test_the_content_of_the_answers_is_part_of_the_identity(tmp_path: Path, stage: RunFile) -> None:
    before = identity(stage)
    assert before != identity(RunFile(stage.path))
    (tmp_path / "a.jsonl").write_text('{"query": "q1", "answer": "Berlin, Germany"}\n')
    assert identity(stage) != before


def test_a_damaged_file_of_answers_is_refused_with_its_line(
    tmp_path: Path, stage: RunFile, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text('{"query": "q1", "answer": "Paris"}\n{"query": "q1", "answer": 5}\n')
    (tmp_path / "e.toml").write_text('dataset = "data"\n[systems.a]\nstage = "run"\npath = "a.run"\nanswers = "a.jsonl"\n')
    dataset_folder(tmp_path / "data")
    assert main(["run", str(tmp_path / "e.toml"), "-o", str(tmp_path / "results")]) == InputError.exit_code
    assert "a.jsonl:2: query q1 occurs twice" in capsys.readouterr().err


def test_two_commands_lead_from_exports_of_quepid_to_the_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "case.csv").write_text("query,docid,rating\ncats,d1,3\ndogs,d2,3\nbirds\n")
    header = "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position\n"
    for name, docs in (("before", ("d3", "d1", "d3", "d2")), ("after", ("d1", "d3", "d2", "d3"))):
        rows = zip(("cats", "cats", "dogs", "dogs"), docs, (1, 2, 1, 2), strict=True)
        text = "".join(f"{name},2026,1,{query},{doc},{position}\n" for query, doc, position in rows)
        (tmp_path / f"{name}.csv").write_text(header + text)
    paths = [str(tmp_path / f"{name}.csv") for name in ("case", "before", "after")]
    assert main(["import", *paths, "-o", str(tmp_path / "quepid")]) == 0
    assert "ranked documents of before" in capsys.readouterr().out
    assert main(["run", str(tmp_path / "quepid" / "experiment.toml"), "-o", str(tmp_path / "results"), "--no-report"]) == 0
    means = load_results(str(tmp_path / "results")).result.means
    assert (means["before"]["RR@10"], means["after"]["RR@10"]) == (0.5, 1.0)
