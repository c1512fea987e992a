"""Names of columns and settings of RAG logs as people write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._importers.base import ImportOptions
from rankproof._importers.registry import import_source


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["latency-ms", "latency_ms"])
@pytest.mark.parametrize("first", ["", "answer=reply,"])
def test_a_setting_may_be_written_with_underscores(tmp_path: Path, name: str, first: str) -> None:
    path = written(tmp_path / "a.jsonl", {"question": "q", "reply": "r", "took": 7})
    text = f"{first}{name}=took" if first else f"{name}=took,answer=reply"
    setting, _, value = text.partition("=")
    (answer,) = import_source(path, ImportOptions(settings={setting: value})).answers["a"].values()
    assert answer.text == "r"
    assert answer.usage is not None
    assert answer.usage.latency_ms == 7.0


@pytest.mark.parametrize("column", ["latency-ms", "latency_ms", "Latency ms"])
def test_a_column_of_costs_may_be_written_in_any_way(tmp_path: Path, column: str) -> None:
    path = written(tmp_path / "a.jsonl", {"question": "q", "answer": "r", column: 7})
    (answer,) = import_source(path).answers["a"].values()
    assert answer.usage is not None
    assert answer.usage.latency_ms == 7.0


def test_a_column_conversation_names_the_session(tmp_path: Path) -> None:
    rows = [{"question": f"q{at}", "answer": "r", "conversation": f"c{at // 2}"} for at in range(4)]
    queries = import_source(written(tmp_path / "a.jsonl", *rows)).dataset.queries.values()
    assert [query.fields["session"] for query in queries] == ["c0", "c0", "c1", "c1"]


@pytest.mark.parametrize("question", ["prompt", "query", "text"])
def test_two_logs_with_ids_and_unknown_columns_get_the_advice_to_name_them(
    tmp_path: Path, question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = [written(tmp_path / name, {"id": "1", question: "q?", "reply": "r"}) for name in ("a.jsonl", "b.jsonl")]
    assert main(["answers", *map(str, logs)]) == 2
    message = capsys.readouterr().err
    assert "columns: id, " in message
    assert "--set " in message


def test_a_file_of_references_alone_gives_them_to_the_questions_of_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"question": f"q{at}?", "answer": "right", "contexts": ["c"]} for at in range(4)]
    logs = [written(tmp_path / f"{name}.jsonl", *rows) for name in "ab"]
    references = written(tmp_path / "gold.jsonl", *({"question": f"q{at}?", "reference": "right"} for at in range(4)))
    for files in ([*logs, references], [references, *logs]):
        assert main(["answers", *map(str, files), "-m", "EM", "--format", "json", "--quiet"]) == 0
        (table,) = [table for table in json.loads(capsys.readouterr().out)["tables"] if table["name"] == "systems"]
        assert [(row["system"], row["EM"]) for row in table["rows"]] == [("a", 1.0), ("b", 1.0)]
