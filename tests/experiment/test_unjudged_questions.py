"""Unjudged queries with a reference answer are run where systems answer, and only their answers are measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.estimate import estimate_cost
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.judgements import load_dataset
from rankproof._experiment.queries import select_queries
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, save_results
from rankproof.errors import InputError
from rankproof.stages import BM25, Chunked, ExtractAnswer, GenerateAnswer
from rankproof.stages._base import Stage
from rankproof.stages._chunked import WHOLE_DOCUMENTS_NOTE
from support.paths import ROOT
from support.scripted_chat import ScriptedChat

DOCS = {
    "d1": "Paris is the capital of France. It lies on the Seine. Its river is slow.",
    "d2": "Rome is the capital of Italy. It lies on the Tiber. Its river is short.",
    "d3": "Cheese is old. Bread is older. Wine is neither.",
}
QUERIES: list[dict[str, Any]] = [
    {"_id": "q1", "text": "capital of France?", "answers": ["Paris"], "category": "town"},
    {"_id": "q2", "text": "capital of Italy?", "answers": ["Rome"], "category": "town"},
    {"_id": "u1", "text": "who made the moon?", "answers": [], "category": "odd"},
    {"_id": "u2", "text": "how old is wine?", "answerable": False, "category": "odd"},
    {"_id": "t1", "text": "which cheese?", "answers": ["old"]},
    {"_id": "n1", "text": "nobody knows what this should be"},
]
NOTE = "2 queries have a reference answer and no judgement: only answers are measured on them, not rankings"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset with two splits; `t1` is judged in the other one."""
    data = tmp_path / "data"
    (data / "qrels").mkdir(parents=True)
    (data / "corpus.jsonl").write_text("".join(json.dumps({"_id": doc, "text": text}) + "\n" for doc, text in DOCS.items()))
    written(data, QUERIES)
    for split, rows in (("test", "q1\td1\t1\nq2\td2\t1\n"), ("train", "t1\td3\t1\n")):
        (data / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    return data


def written(data: Path, queries: list[dict[str, Any]]) -> None:
    (data / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))


def run_systems(folder: Path, **more: Any) -> ExperimentResult:
    systems: dict[str, Stage] = {"bm25": BM25(), "says": ExtractAnswer(BM25()), "chunks": Chunked(ExtractAnswer(BM25()), size=6)}
    return run_experiment(Experiment(systems, folder, **more), RunOptions(cache=None))


def test_an_unjudged_query_with_a_reference_is_run_for_its_answer_alone(folder: Path) -> None:
    found = run_systems(folder)
    assert found.queries == ("q1", "q2", "u1", "u2")
    assert found.result.queries == ("q1", "q2")
    assert {note.code for system in found.result.systems for note in system.notes} <= {"few-judged"}
    assert found.chunks is not None
    assert "unjudged-queries" not in {note.code for system in found.chunks.systems for note in system.notes}
    assert found.answers is not None
    assert found.answers.queries == found.queries
    assert found.answers.per_query("says")["EM"]["u1"] == 1.0
    assert NOTE in found.notes


def test_without_answering_systems_only_judged_queries_are_run(folder: Path) -> None:
    found = run_experiment(Experiment({"bm25": BM25()}, folder), RunOptions(cache=None))
    assert found.queries == ("q1", "q2")
    assert found.notes == ()


def test_a_limit_samples_both_kinds_and_at_least_one_judged_query(folder: Path) -> None:
    def drawn(limit: int) -> tuple[int, int]:
        experiment = Experiment({"says": ExtractAnswer(BM25())}, folder, limit=limit)
        dataset = load_dataset(experiment)
        found = select_queries(experiment, dataset, dataset)
        return len(found.judged), len(found.unjudged)

    assert [drawn(limit) for limit in (1, 2, 3, 4, 9)] == [(1, 0), (1, 1), (2, 1), (2, 2), (2, 2)]


def test_the_estimate_counts_every_query(folder: Path) -> None:
    assert estimate_cost(Experiment({"says": GenerateAnswer(BM25(), ScriptedChat(()))}, folder)).total.estimate.calls == 4


def test_the_results_folder_keeps_them_and_every_command_reads_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = run_systems(folder)
    out = str(folder.parent / "out")
    save_results(before, out)
    after = load_results(out)
    assert (after.queries, after.result.queries) == (before.queries, before.result.queries)
    assert after.answers is not None
    assert before.answers is not None
    assert after.answers.means == before.answers.means
    assert after.system_run("says").answers == before.system_run("says").answers
    assert after.system_run("says").run.queries == before.system_run("says").run.queries
    for verb in (["answers", out], ["report", out, "-o", f"{out}.html"], ["compare", out]):
        assert main(verb) == 0, capsys.readouterr().err
    assert main(["compare", out, "-m", "EM"]) == 0


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_an_invalid_reference_is_refused_before_any_call(
    folder: Path, dry: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, [*QUERIES[:1], {**QUERIES[1], "answers": {"a": 1}}])
    model = ScriptedChat(())
    with pytest.raises(InputError, match=r"queries\.jsonl:2: answers of query q2 is"):
        run_experiment(Experiment({"says": GenerateAnswer(BM25(), model)}, folder), RunOptions(cache=None))
    assert model.log.loads == 0
    text = f'dataset = "{folder}"\n[systems.bm25]\nstage = "bm25"\n[systems.says]\nstage = "extract"\nof = "bm25"\n'
    (folder.parent / "e.toml").write_text(text)
    assert main(["run", str(folder.parent / "e.toml"), "-o", str(folder.parent / "out"), *dry]) == 2
    assert "answers of query q2 is" in capsys.readouterr().err


def test_without_judgements_the_error_says_how_to_measure_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "qrels" / "test.tsv").unlink()
    assert main(["run", "--dataset", str(folder), "--systems", "bm25", "-o", str(folder.parent / "out")]) == 2
    assert "rankproof answers QUERIES ANSWERS" in capsys.readouterr().err


BOTH_WAYS = """\
dataset = "data"

[systems.bm25]
stage = "bm25"

[systems.found-by-chunks]
stage = "chunked"
of = "bm25"
unit = "sentences"
size = 1

[systems.reads-documents]
stage = "extract"
of = "found-by-chunks"

[systems.answers]
stage = "extract"
of = "bm25"

[systems.reads-chunks]
stage = "chunked"
of = "answers"
unit = "sentences"
size = 1
"""


def test_answers_over_chunks_cite_documents_and_chunks_over_answers_cite_chunks(folder: Path) -> None:
    page = (ROOT / "docs" / "stages.md").read_text(encoding="utf-8")
    assert BOTH_WAYS.partition("\n\n")[2] in page
    (folder.parent / "e.toml").write_text(BOTH_WAYS)
    found = run_experiment(read_experiment(folder.parent / "e.toml"), RunOptions(cache=None))
    assert {system_run.name: WHOLE_DOCUMENTS_NOTE in system_run.notes for system_run in found.system_runs} == {
        "bm25": False,
        "found-by-chunks": False,
        "reads-documents": True,
        "answers": False,
        "reads-chunks": False,
    }
    whole, pieces = found.system_run("reads-documents").answers, found.system_run("reads-chunks").answers
    assert whole is not None
    assert pieces is not None
    assert (whole["q1"].cited, pieces["q1"].cited) == (("d1",), ("d1#c1",))
