"""A file that does not exist: every command names the file with the most similar name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._io.file_errors import near_path
from rankproof.errors import InputError, RankproofError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files, in which commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.csv").write_text("query_id,query\nq1,shoes\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "bm25.run").write_text("q1 Q0 d1 1 1 x\n")
    (tmp_path / "experiment.toml").write_text('[systems.a]\nstage = "run"\npath = "bm52.run"\n')
    (tmp_path / "log.jsonl").write_text(json.dumps({"question": "a", "answer": "b", "contexts": ["c"]}) + "\n")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "queries.jsonl").write_text('{"_id": "q1", "text": "shoes"}\n')
    (tmp_path / "results").mkdir()
    return tmp_path


COMMANDS: dict[str, tuple[list[str], str]] = {
    "import": (["import", "quries.csv"], "quries.csv: file not found; is it queries.csv?"),
    "import of several": (
        ["import", "queries.csv", "shop/queries.json"],
        "shop/queries.json: file not found; is it shop/queries.jsonl?",
    ),
    "eval qrels": (["eval", "qrel.txt", "bm25.run"], "qrel.txt: file not found; is it qrels.txt?"),
    "eval run": (["eval", "qrels.txt", "bm25.rum"], "bm25.rum: file not found; is it bm25.run?"),
    "eval weights": (
        ["eval", "qrels.txt", "bm25.run", "--weights", "query.csv"],
        "query.csv: file not found; is it queries.csv?",
    ),
    "compare": (["compare", "qrels.txt", "bm25.run", "bm26.run"], "bm26.run: file not found; is it bm25.run?"),
    "segments": (["segments", "QRELS.TXT.", "bm25.run", "--by", "relevant"], "QRELS.TXT.: file not found; is it qrels.txt?"),
    "answers": (["answers", "logs.jsonl"], "logs.jsonl: file not found; is it log.jsonl?"),
    "run": (["run", "experimnt.toml"], "experimnt.toml: file not found; is it experiment.toml?"),
    "run dataset": (["run", "--dataset", "shops"], "shops does not exist; is it shop?"),
    "file of a system": (["run", "experiment.toml"], "file not found: bm52.run; is it bm25.run?"),
    "report": (["report", "result"], "result: no such file or folder; is it results?"),
    "doctor": (["doctor", "shopp"], "shopp: no such file or folder; is it shop?"),
    "convert": (["convert", "bm25.rn", "out.csv"], "bm25.rn: file not found; is it bm25.run?"),
    "a folder with another name": (
        ["import", "shp/queries.jsonl"],
        "shp/queries.jsonl: file not found; is it shop/queries.jsonl?",
    ),
    "nothing near": (["import", "zzz.parquet"], "zzz.parquet: file not found; check the path"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_missing_file_names_the_near_one(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, message = COMMANDS[name]
    assert main(command) == 2
    assert message in capsys.readouterr().err.replace("\n", " ")


def test_python_names_the_near_file_too(folder: Path) -> None:
    with pytest.raises(InputError, match=r"quries\.csv: file not found; is it queries\.csv\?"):
        rp.import_dataset("quries.csv")
    with pytest.raises(RankproofError, match=r"is it .*bm25\.run\?"):
        rp.read_run(folder / "bm26.run")


@pytest.mark.parametrize("path", ["nofile.run", "", "no\0thing", "a/b/c/d", "/"])
def test_a_path_without_a_near_file_has_none(folder: Path, path: str) -> None:
    assert near_path(path) is None
