"""Every verb that takes a dataset takes a table in its place."""

from __future__ import annotations

import json
from pathlib import Path

import pandas
import pytest

import rankproof as rp
from rankproof._cli.main import main

TABLE = """\
query_id,query,sku,product_title,description,label
1,red shoes,p1,Red runner,a light red running shoe,Exact
1,red shoes,p2,Blue boot,a blue winter boot,Irrelevant
2,winter boots,p2,Blue boot,a blue winter boot,Exact
2,winter boots,p3,Wool hat,a warm hat for winter,Partial
3,warm hat,p3,Wool hat,a warm hat for winter,Exact
3,warm hat,p1,Red runner,a light red running shoe,
"""
MAP = ["--grade-map", "Exact=2,Partial=1,Irrelevant=0"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    (tmp_path / "shop.csv").write_text(TABLE)
    (tmp_path / "shop.run").write_text("1 Q0 p1 1 2 t\n1 Q0 p2 2 1 t\n2 Q0 p2 1 2 t\n3 Q0 p1 1 2 t\n")
    (tmp_path / "shop.qrels").write_text("1 0 p1 2\n1 0 p2 0\n2 0 p2 2\n2 0 p3 1\n3 0 p3 2\n")
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[str, str]:
    assert main(list(argv)) == 0, capsys.readouterr().err
    found = capsys.readouterr()
    return found.out, found.err


def test_run_decides_on_a_table_and_says_how_it_was_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, notes = shown(capsys, "run", "--dataset", "shop.csv", *MAP, "--systems", "bm25-title,bm25", "-o", "results")
    assert "shop (dataset shop), 3 documents, 3 queries, 2 systems" in out
    plain = " ".join(notes.split())
    assert "columns: query = query, query id = query_id, document id = sku, title = product_title" in plain
    assert "judgements: 1 without a grade (first at line 7), dropped" in plain
    again, _ = shown(capsys, "compare", "results")
    assert "bm25" in again


def test_an_experiment_file_names_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'dataset = "shop.csv"\ngrade_map = {Exact = 2, Partial = 1, Irrelevant = 0}\n[systems.bm25]\nstage = "bm25"\n'
    (folder / "experiment.toml").write_text(text)
    out, _ = shown(capsys, "run", "experiment.toml", "-o", "results", "--format", "json")
    assert json.loads(out)["systems"]
    assert len(rp.run("experiment.toml").qrels) == 3
    assert (
        len(
            rp.run(
                {"bm25": rp.stages.BM25()},
                dataset=rp.read_dataset("shop.csv", grade_map={"Exact": 1, "Partial": 1, "Irrelevant": 0}),
            ).qrels
        )
        == 3
    )


@pytest.mark.parametrize(
    "argv",
    [
        ["doctor", "--dataset", "shop.csv", *MAP],
        ["doctor", "shop.qrels", "shop.run", "--dataset", "shop.csv", *MAP],
        ["baselines", "shop.qrels", "shop.run", "--dataset", "shop.csv", *MAP],
        ["explain", "shop.qrels", "shop.run", "--query", "1", "--doc", "p1", "--dataset", "shop.csv", *MAP],
        ["judge", "shop.csv", "--by", "keywords", "--runs", "shop.run", *MAP, "-o", "new.qrels"],
        ["report", "shop.qrels", "shop.run", "--dataset", "shop.csv", *MAP, "-o", "page.html"],
    ],
    ids=lambda argv: " ".join(argv[:3]),
)
def test_a_verb_takes_a_table_as_dataset(argv: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, notes = shown(capsys, *argv)
    assert "columns: query = query" in notes


def test_queries_are_generated_from_a_table_of_documents(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = rp.read_dataset("sample").corpus.values()
    frame = pandas.DataFrame({"id": one.id, "name": one.title, "description": one.text} for one in documents)
    frame.to_csv(folder / "products.csv", index=False)
    shown(capsys, "generate", "products.csv", "-o", "new", "--count", "4", "--with-corpus")
    assert set(rp.read_dataset("new").corpus) == set(frame["id"])
    assert set(rp.generate(folder / "products.csv", 4).dataset.corpus) == set(frame["id"])
    (folder / "other.csv").write_text("id,foo\n1,2\n")
    assert main(["generate", "other.csv", "-o", "other"]) == 2
    assert "other.csv:1: no column for the text of the document; columns: id, foo" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv", [["run", "--dataset", "corpus-*.jsonl"], ["run", "experiment.toml"], ["doctor", "--dataset", "corpus-*.jsonl"]]
)
def test_a_pattern_of_files_is_refused_with_the_folder_to_make(
    folder: Path, argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for part in (1, 2):
        (folder / f"corpus-{part}.jsonl").write_text(f'{{"_id": "d{part}", "text": "red"}}\n')
    (folder / "experiment.toml").write_text('dataset = "corpus-*.jsonl"\n[systems.bm25]\nstage = "bm25"\n')
    assert main(argv) == 2
    assert "put the files into a folder as corpus-1.jsonl, corpus-2.jsonl and so on" in capsys.readouterr().err
    (folder / "made").mkdir()
    for part in (1, 2):
        (folder / f"corpus-{part}.jsonl").rename(folder / "made" / f"corpus-{part}.jsonl")
    (folder / "made" / "queries.jsonl").write_text('{"_id": "q", "text": "red"}\n')
    assert len(rp.read_dataset("made").corpus) == 2


@pytest.mark.parametrize("command", ["import", "doctor"])
def test_a_command_says_which_large_file_it_reads(
    folder: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = [command, *(["--dataset"] if command == "doctor" else []), "shop.csv", *MAP]
    assert "reading" not in shown(capsys, *argv)[1]
    monkeypatch.setattr("rankproof._io.open._LARGE_BYTES", 0)
    assert "reading shop.csv (MB)\n" in shown(capsys, *argv)[1]
    assert "reading" not in shown(capsys, *argv, "--quiet")[1]
