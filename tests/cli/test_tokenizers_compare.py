"""`rankproof tokenizers compare`, as a user types it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.tokenizer_comparisons import compared, rows_of, write_translated
from support.vector_stores import require

VALUES = ("nDCG@10", "recall@1", "recall@5", "recall@10", "mrr", "precision@1", "precision@5", "precision@10")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_translated(tmp_path_factory.mktemp("data") / "small")


@pytest.mark.slow
def test_the_sample_is_compared_in_a_table_of_80_columns(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert compared("sample", "--lexical", "words,characters-4,bpe-500", "--model", "wordllama", "--limit", "30") == 0
    shown = capsys.readouterr().out
    tables = shown.split("Conclusion")[0].splitlines()
    assert max(map(len, tables)) <= 80
    assert "BM25 characters-4" in shown
    assert "has the highest nDCG@10" in shown


@pytest.mark.slow
def test_pgvector_gives_the_values_of_memory(folder: str, capsys: Capture) -> None:
    require("pgvector")
    found = {}
    for store in ("memory", "pgvector"):
        assert compared(folder, "--lexical", "none", "--model", "wordllama", "--store", store, "--format", "csv") == 0
        found[store] = [[row[name] for name in VALUES] for row in rows_of(capsys.readouterr().out)]
    assert found["memory"] == found["pgvector"]
    assert len(found["memory"]) == 1


def test_a_second_run_gives_the_same_output(folder: str, capsys: Capture) -> None:
    texts = []
    for _ in range(2):
        assert compared(folder, "--lexical", "words,stems", "--typos", "0,1", "--format", "csv") == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


def test_markdown_has_a_table_the_conclusion_and_the_notes(folder: str, tmp_path: Path, capsys: Capture) -> None:
    options = ("--format", "markdown", "-m", "RR@10", "--cache", str(tmp_path))
    for is_cached in (False, True):
        assert compared(folder, "--lexical", "words,stems", *options) == 0
        shown = capsys.readouterr().out
        assert "| system | RR@10 |" in shown
        assert "### Conclusion" in shown
        assert ("### Notes\n\n- times of all systems are cached" in shown) == is_cached


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lexical", "none"], "there are no systems to compare"),
        (["--lexical", "syllables"], "tokens is syllables"),
        (["--model", "nonsense"], "no model is called nonsense"),
        (["--model", "trained"], "the model trained lacks its source; write trained:FOLDER"),
        (["--model", "bpe:"], "is not a checkpoint"),
        (["--model", "wordllama", "--device", "cuda"], "--device is for checkpoints"),
        (["--checkpoints", "nowhere"], "has no checkpoint"),
        (["--checkpoints", "one", "--checkpoints", "other"], "--checkpoints is given more than once"),
        (["--typos", "1,x"], "not a whole number"),
        (["--typos", "99"], "edits is 99"),
        (["--typos", "-1"], "typos"),
        (["--languages", "klingon"], "klingon"),
        (["--store", "shelf"], "shelf"),
        (["-m", "NumRet"], "NumRet"),
        (["--limit", "0"], "limit"),
        (["--cache", ""], "--cache has no folder"),
        (["--tokenizers", "bytes"], "option of tokenizers train"),
        (["-o", "."], "contains the working directory"),
    ],
)
def test_a_wrong_option_is_refused_with_a_fix(folder: str, capsys: Capture, arguments: list[str], words: str) -> None:
    assert compared(folder, *arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_a_folder_of_something_else_is_not_replaced(folder: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious.txt").write_text("x")
    assert compared(folder, "--lexical", "words", "-o", str(tmp_path / "mine")) == 2
    assert "exists and is not a comparison folder" in capsys.readouterr().err
    assert (tmp_path / "mine" / "precious.txt").read_text() == "x"


def test_without_matplotlib_there_is_a_note_and_everything_else(
    folder: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert compared(folder, "--lexical", "words", "-o", str(tmp_path / "out")) == 0
    assert "no charts: matplotlib is not installed" in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("comparison.csv", "comparison.json", "queries.csv", "conclusion.md")
    }
