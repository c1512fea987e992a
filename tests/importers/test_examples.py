"""Examples and runs of LangSmith, and examples of Phoenix: objects with free keys become questions, references and contexts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from rankproof._cli.main import main
from rankproof._formats.texts import text_blocks
from rankproof._importers.base import Imported, ImportOptions
from rankproof._importers.registry import import_source
from rankproof.errors import InputError, UsageError

PURR, BARK = "Cats purr when content.", "Dogs bark."
QUESTION, REFERENCE = "do cats purr", "Yes, they do."
INPUTS, OUTPUTS, METADATA = {"question": QUESTION}, {"answer": REFERENCE, "contexts": [PURR]}, {"topic": "cats"}
# The fields of langsmith.schemas.Example 0.14, and of Dataset.to_dict of arize-phoenix-client 3.5.
LANGSMITH = {"id": "e1", "dataset_id": "d1", "inputs": INPUTS, "outputs": OUTPUTS, "metadata": METADATA}
PHOENIX = {"example_id": "e1", "input": INPUTS, "output": OUTPUTS, "metadata": METADATA}


def jsonl(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def table(path: Path, *rows: dict[str, Any]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(rows[0]), *(list(row.values()) for row in rows)])
    return str(path)


def facts(imported: Imported) -> list[tuple[str, str, Any, int]]:
    """Id, question, references and number of reference contexts of each query."""
    qrels = imported.dataset.qrels
    return [(key, one.text, one.fields.get("answers"), len(qrels.get(key, {}))) for key, one in imported.dataset.queries.items()]


EXPECTED = [("e1", QUESTION, [REFERENCE], 1)]


@pytest.mark.parametrize(("importer", "row"), [("langsmith", LANGSMITH), ("phoenix", PHOENIX)])
def test_examples_are_questions_with_references_and_fields(tmp_path: Path, importer: str, row: dict[str, Any]) -> None:
    flat = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in row.items()}
    printed = {key: str(value) for key, value in row.items()}
    first = next(key for key in row if key.startswith("input"))
    dotted = {
        **{"id": "e1", f"{first}.question": QUESTION, f"{first.replace('in', 'out', 1)}.answer": REFERENCE},
        **{"metadata.topic": "cats", "metadata.contexts": json.dumps([PURR])},
    }
    (tmp_path / "j.json").write_text(json.dumps([row]))
    paths = [
        *(jsonl(tmp_path / "a.jsonl", row), str(tmp_path / "j.json"), table(tmp_path / "b.csv", flat)),
        *(table(tmp_path / "c.csv", printed), table(tmp_path / "d.csv", dotted)),
    ]
    for path in paths:
        imported = import_source(path)
        assert imported.report.importer == importer
        assert facts(imported) == EXPECTED
        assert imported.dataset.queries["e1"].fields["topic"] == "cats"
        assert not imported.runs


def test_outputs_of_runs_are_answers_and_their_documents_a_ranking(tmp_path: Path) -> None:
    documents = [{"page_content": BARK, "id": "d1"}, {"type": "constructor", "kwargs": {"page_content": PURR, "id": "d2"}}]
    run = {
        **{"run_id": "r1", "run_type": "chain", "trace_id": "r1", "reference_example_id": "e1", "inputs": INPUTS},
        **{"outputs": {"answer": "They purr.", "documents": documents}, "reference_outputs": OUTPUTS},
    }
    imported = import_source(jsonl(tmp_path / "bm25.jsonl", run))
    assert facts(imported) == EXPECTED
    assert [*imported.runs["bm25"].docs] == ["d1", "d2"]
    assert [one.text for one in imported.answers["bm25"].values()] == ["They purr."]
    assert imported.report.columns["contexts"] == "outputs.documents"


def test_free_keys_are_named_by_settings(tmp_path: Path) -> None:
    row = {"inputs": {"ask": QUESTION, "lang": "en"}, "outputs": {"gold": REFERENCE, "why": "x"}}
    path = jsonl(tmp_path / "a.jsonl", row)
    with pytest.raises(InputError, match="no row has a question"):
        import_source(path)
    imported = import_source(path, ImportOptions(settings={"question": "inputs.ask", "reference": "gold"}))
    assert [one.text for one in imported.dataset.queries.values()] == [QUESTION]
    assert imported.report.columns == {"question": "inputs.ask", "reference": "outputs.gold"}
    assert "keys that are not used: inputs.lang, outputs.why" in imported.report.notes


def test_the_only_text_is_the_question_and_the_reference(tmp_path: Path) -> None:
    imported = import_source(jsonl(tmp_path / "a.jsonl", {"inputs": {"frage": QUESTION}, "outputs": {"antwort": REFERENCE}}))
    assert [(one.text, one.fields["answers"]) for one in imported.dataset.queries.values()] == [(QUESTION, [REFERENCE])]


def test_a_single_message_is_the_question_and_a_conversation_is_counted(tmp_path: Path) -> None:
    def chat(*roles: str) -> dict[str, Any]:
        return {"inputs": {"messages": [{"role": role, "content": QUESTION} for role in roles]}, "outputs": {"answer": "x"}}

    imported = import_source(jsonl(tmp_path / "a.jsonl", chat("system", "user"), chat("user", "assistant", "user")))
    assert [one.text for one in imported.dataset.queries.values()] == [QUESTION]
    (rows,) = [one for one in imported.report.counts if one.part == "rows of a"]
    assert [str(one) for one in rows.dropped] == ["1 with a conversation of several messages (first at line 2)"]


def test_metadata_are_fields_whatever_their_names(tmp_path: Path) -> None:
    names = ("state", "nuggets", "answerable", "question", "_id", "context", "x_calls", "", "\ud800")
    row = {**LANGSMITH, "outputs": {"answer": REFERENCE}, "metadata": {**dict.fromkeys(names, "CA"), "deep": {"\ud800": 1}}}
    imported = import_source(jsonl(tmp_path / "a.jsonl", row))
    fields = dict(imported.dataset.queries["e1"].fields)
    assert fields["metadata_state"] == fields["metadata_question"] == fields["metadata"] == "CA"
    assert len(fields) == len(names) + len(("deep", "answers")) - 1
    for block in text_blocks(imported.dataset.queries):
        block.decode()


def test_rows_without_a_question_are_counted(tmp_path: Path) -> None:
    imported = import_source(jsonl(tmp_path / "a.jsonl", LANGSMITH, {**LANGSMITH, "inputs": None}, {**LANGSMITH, "inputs": {}}))
    (rows,) = [one for one in imported.report.counts if one.part == "rows of a"]
    assert (rows.read, rows.kept) == (3, 1)


def test_a_wrong_setting_and_another_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"outputs is both; write settings=.*answer"):
        import_source(jsonl(tmp_path / "a.jsonl", LANGSMITH), ImportOptions(settings={"outputs": "both"}))
    with pytest.raises(InputError, match=r"b\.jsonl:1: no object inputs in the rows"):
        import_source(jsonl(tmp_path / "b.jsonl", {"x": 1}), importer="langsmith")


def test_examples_that_langsmith_writes_are_read(tmp_path: Path) -> None:
    schemas = pytest.importorskip("langsmith.schemas")
    key = UUID("00000000-0000-0000-0000-0000000000e1")
    example = schemas.Example(id=key, inputs=INPUTS, outputs=OUTPUTS, metadata=METADATA)
    (tmp_path / "a.jsonl").write_text(example.model_dump_json() + "\n")
    assert facts(import_source(str(tmp_path / "a.jsonl"))) == [(str(key), QUESTION, [REFERENCE], 1)]


def test_a_dataset_that_phoenix_writes_is_read_as_frame_parquet_csv_and_json(tmp_path: Path) -> None:
    datasets = pytest.importorskip("phoenix.client.resources.datasets")
    pytest.importorskip("pandas")
    example = {"id": "e1", "input": INPUTS, "output": OUTPUTS, "metadata": METADATA, "updated_at": "2026-01-01T00:00:00+00:00"}
    told: dict[str, Any] = {"id": "d", "name": "n", "description": None, "metadata": {}, "version_id": "v", "example_count": 1}
    times = dict.fromkeys(("created_at", "updated_at"), "2026-01-01T00:00:00+00:00")
    dataset = datasets.Dataset.from_dict({**told, **times, "examples": [example]})
    frame = dataset.to_dataframe()
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv")
    (tmp_path / "a.json").write_text(json.dumps(dataset.to_dict()))
    for source in (frame, str(tmp_path / "a.parquet"), str(tmp_path / "a.csv"), str(tmp_path / "a.json")):
        imported = import_source(source)
        assert imported.report.importer == "phoenix"
        assert facts(imported) == EXPECTED


def test_runs_of_two_systems_lead_to_a_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for name, order in (("old", (1, 0)), ("new", (0, 1))):
        rows = []
        for at in range(30):
            texts = [f"passage {at}", f"other {at}"]
            rows.append(
                {
                    **{"run_id": f"r{at}", "inputs": {"question": f"question {at}"}},
                    **{"outputs": {"answer": "x", "contexts": [texts[place] for place in order]}},
                    **{"reference_outputs": {"answer": "x", "contexts": texts[:1]}},
                }
            )
        paths.append(jsonl(tmp_path / f"{name}.jsonl", *rows))
    assert main(["import", *paths, "-o", str(tmp_path / "data")]) == 0
    assert main(["run", str(tmp_path / "data" / "experiment.toml"), "-o", str(tmp_path / "results")]) == 0
    assert "Ship new: 1.000 nDCG@10" in capsys.readouterr().out
