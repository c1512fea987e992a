"""RAG logs that the tools themselves write, where they are installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._importers.base import Imported
from rankproof._importers.registry import import_source

PURR, BARK = "Cats purr when content.", "Dogs bark | and howl."
QUESTION, ANSWER, REFERENCE = "do cats purr", "They purr.", "Yes, they do."


def contexts(imported: Imported, system: str) -> list[str | None]:
    (answer,) = imported.answers[system].values()
    return [imported.contexts.get(passage) for passage in answer.given or ()]


@pytest.fixture
def haystack(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    return pytest.importorskip("haystack")


def haystack_run(haystack: Any) -> Any:
    dogs, cats = (haystack.Document(content=text, score=score) for text, score in ((BARK, 0.9), (PURR, 0.4)))
    inputs = {
        **{"question": [QUESTION], "ground_truth_documents": [[cats]], "retrieved_documents": [[dogs, cats]]},
        **{"predicted_answers": [ANSWER], "ground_truth_answers": [REFERENCE]},
    }
    evaluation = pytest.importorskip("haystack.evaluation")
    return evaluation.EvaluationRunResult("bm25", inputs, {"doc_mrr": {"score": 0.5, "individual_scores": [0.5]}})


def test_a_report_of_haystack_in_json_is_read(tmp_path: Path, haystack: Any) -> None:
    report = haystack_run(haystack).detailed_report(output_format="json")
    (tmp_path / "a.json").write_text(json.dumps(report, default=lambda document: document.to_dict()))
    imported = import_source(str(tmp_path / "a.json"))
    assert contexts(imported, "a") == [BARK, PURR]
    run = imported.runs["a"]
    assert [sorted(docs) for docs in imported.dataset.qrels.values()] == [[run.docs[1]]]


def test_a_report_of_haystack_in_csv_keeps_the_ids_of_documents(tmp_path: Path, haystack: Any) -> None:
    run = haystack_run(haystack)
    run.detailed_report(output_format="csv", csv_file=str(tmp_path / "a.csv"))
    imported = import_source(str(tmp_path / "a.csv"))
    ids = [document.id for document in run.inputs["retrieved_documents"][0]]
    assert [*imported.runs["a"].docs] == ids
    assert [dict(docs) for docs in imported.dataset.qrels.values()] == [{ids[1]: 1}]
    assert any("only the ids are kept" in note for note in imported.report.notes)


def test_ground_truth_of_trulens_is_read(tmp_path: Path) -> None:
    groundtruth = pytest.importorskip("trulens.core.schema.groundtruth")
    chunks = [{"text": PURR, "title": "cats", "expected_score": 0.9}, {"text": BARK, "expected_score": 0.1}]
    truth = groundtruth.GroundTruth(
        dataset_id="d", query=QUESTION, query_id="q", expected_response=REFERENCE, expected_chunks=chunks
    )
    (tmp_path / "a.jsonl").write_text(json.dumps(truth.model_dump()) + "\n")
    imported = import_source(str(tmp_path / "a.jsonl"))
    assert sorted(imported.dataset.qrels["q"].values()) == [1, 3]
    assert imported.dataset.queries["q"].fields["answers"] == [REFERENCE]


def test_a_dataset_that_deepeval_saves_is_read(tmp_path: Path) -> None:
    dataset = pytest.importorskip("deepeval.dataset")
    golden = dataset.Golden(
        **{"input": QUESTION, "actual_output": ANSWER, "expected_output": REFERENCE, "source_file": "x.md"},
        context=[PURR],
        retrieval_context=["Dogs bark.", PURR],
    )
    for suffix in ("json", "csv", "jsonl"):
        saved = dataset.EvaluationDataset(goldens=[golden]).save_as(suffix, str(tmp_path), file_name="a")
        imported = import_source(saved)
        assert contexts(imported, "a") == ["Dogs bark.", PURR]
        assert [len(docs) for docs in imported.dataset.qrels.values()] == [1]
        assert [one.text for one in imported.answers["a"].values()] == [ANSWER]
