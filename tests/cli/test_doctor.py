"""`rankproof doctor` on folders, results and run files, and on public collections."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof import Dataset
from rankproof._analysis.doctor.check import Example, all_checks, clean_example, example_input
from rankproof._cli.main import main
from rankproof._cli.terminal import FORMATS
from rankproof._formats.read import write_folder
from rankproof._formats.write import write_run
from rankproof._results.folder import save_results
from support.shared_data import collection
from support.small_results import small_results


def broken(name: str) -> Example:
    return next(check for check in all_checks() if check.name == name).broken(clean_example())


def folder_of(example: Example, path: Path) -> str:
    subject = example_input(example)
    write_folder(Dataset("example", subject.corpus, subject.queries, subject.qrels), str(path))
    return str(path)


def runs_of(example: Example, path: Path) -> list[str]:
    for name, run in example_input(example).runs.items():
        write_run(run, str(path / f"{name}.run"), "trec")
    return [str(path / f"{name}.run") for name in example.runs]


def findings(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> dict[str, Any]:
    assert main(["doctor", *argv, "--format", "json"]) == code
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    return dict(table)


def codes_of(table: dict[str, Any]) -> list[str]:
    return [row["check"] for row in table["rows"]]


def test_a_dataset_alone_gets_the_checks_that_it_allows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = findings(capsys, folder_of(clean_example(), tmp_path / "data"))
    assert codes_of(table) == []
    assert set(table["facts"]["skipped"].values()) == {"rankings", "stages", "training queries", "training judgements", "log"}


def test_a_dataset_with_runs_is_examined_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = broken("unknown-documents")
    folder = folder_of(clean_example(), tmp_path / "data")
    table = findings(capsys, folder, *runs_of(example, tmp_path), "-m", "nDCG@10")
    assert codes_of(table) == ["unknown-documents"]


def test_judgements_with_runs_are_examined_without_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(clean_example(), tmp_path / "data")
    runs = runs_of(broken("constant-scores"), tmp_path)
    table = findings(capsys, f"{folder}/qrels/test.tsv", *runs, "-m", "nDCG@10")
    assert "constant-scores" in codes_of(table)
    assert table["facts"]["skipped"]["empty-documents"] == "documents"


def test_a_results_folder_is_examined_with_its_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = small_results()
    system_runs = (replace(results.system_runs[0], facts={"mean_cosine": 0.999, "passages": 4}), *results.system_runs[1:])
    save_results(replace(results, system_runs=system_runs), tmp_path / "results")
    table = findings(capsys, str(tmp_path / "results"))
    assert codes_of(table)[0] == "embedding-collapse"


def test_only_strict_turns_a_severe_finding_into_exit_code_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    severe = folder_of(broken("dangling-documents"), tmp_path / "severe")
    mild = folder_of(broken("near-empty-documents"), tmp_path / "mild")
    assert main(["doctor", severe]) == 0
    assert main(["doctor", severe, "--strict"]) == 3
    assert main(["doctor", mild, "--strict"]) == 0
    assert "near-empty-documents" in capsys.readouterr().out


def test_training_files_are_compared_with_the_test_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(clean_example(), tmp_path / "data")
    table = findings(capsys, folder, "--train", f"{folder}/queries.jsonl", "--train-qrels", f"{folder}/qrels/test.tsv")
    assert codes_of(table) == ["trained-on-test-queries", "trained-on-test-pairs"]
    assert [row["count"] for row in table["rows"]] == [12, 144]


def test_results_of_another_dataset_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_results(small_results(), tmp_path / "results")
    folder = folder_of(clean_example(), tmp_path / "data")
    assert main(["doctor", str(tmp_path / "results"), "--dataset", folder]) == 2
    assert "data is not the dataset of small; specify the dataset of the results" in capsys.readouterr().err


def test_the_built_in_dataset_is_examined_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(findings(capsys, "sample")["facts"]["skipped"].values()) == {
        *("rankings", "stages", "training queries", "training judgements", "log"),
    }
    Path("own.run").write_text("q001 Q0 nowhere 1 1.0 own\n")
    assert "unknown-documents" in codes_of(findings(capsys, "sample", "own.run", "-m", "nDCG@10"))


def test_a_folder_called_sample_is_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder_of(broken("dangling-documents"), tmp_path / "sample")
    assert codes_of(findings(capsys, "sample")) == ["dangling-documents"]


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nowhere"],
        ["nowhere", "r"],
        ["--dataset", "nowhere"],
        ["{data}", "--train", "nowhere"],
        ["{data}", "--dataset", "{data}"],
    ],
)
def test_a_missing_input_ends_with_2_and_one_line(argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(clean_example(), tmp_path / "data")
    assert main(["doctor", *(one.format(data=folder) for one in argv)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_shows_the_finding_and_escapes_ids(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "=cmd()|<b>\x1b[31m&\\input{x}"
    example = replace(clean_example(), documents={**clean_example().documents, evil: ("", "")})
    assert main(["doctor", folder_of(example, tmp_path / "data"), "--format", form]) == 0
    page = capsys.readouterr().out
    assert "empty-documents" in page
    assert "\x1b" not in page
    if form == "markdown":
        assert "<b>" not in page
    if form == "csv":
        assert [row[0] for row in csv.reader(io.StringIO(page)) if row] == ["check", "empty-documents"]


def test_the_list_of_checks_needs_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--list"]) == 0
    assert f"{len(all_checks())} checks" in capsys.readouterr().out


def test_cranfield_has_two_empty_documents_and_nothing_worse(capsys: pytest.CaptureFixture[str]) -> None:
    table = findings(capsys, str(collection("cranfield")), "--strict")
    assert [(row["check"], row["count"], row["examples"]) for row in table["rows"]] == [("empty-documents", 2, "471, 995")]


def test_scifact_has_claims_that_are_nearly_training_claims(capsys: pytest.CaptureFixture[str]) -> None:
    scifact = collection("scifact")
    table = findings(capsys, str(scifact), "--train", str(scifact / "queries.train.jsonl"), "--strict", code=3)
    assert codes_of(table) == ["trained-on-test-queries", "one-grade"]
    assert "870 = 871" in table["sentences"][0]


def test_reversed_grades_of_cranfield_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = (collection("cranfield") / "qrels.original-codes.tsv").read_text().splitlines()[1:]
    (tmp_path / "qrels").write_text("".join(f"{query} 0 {doc} {code}\n" for query, doc, code in map(str.split, codes)))
    run = _bm25_run(tmp_path)
    assert "reversed-grades" in codes_of(findings(capsys, str(tmp_path / "qrels"), run))
    right = findings(capsys, str(collection("cranfield") / "qrels.tsv"), run)
    assert codes_of(right) == ["zeros-on-top", "shallow-pool"]


def _bm25_run(folder: Path) -> str:
    """BM25's rankings of the judged queries, without the timing of an experiment and the compiling of a batch."""
    from rankproof import Run, read_dataset
    from rankproof.stages import BM25
    from rankproof.stages._base import QueryTimer

    dataset = read_dataset(str(collection("cranfield")))
    searcher = BM25().index(dataset.corpus)
    found = {query: searcher.search(dataset.queries[query], (), QueryTimer()) for query in dataset.qrels}
    scores = {query: dict(zip(docs, each.tolist(), strict=True)) for query, (docs, each) in found.items()}
    write_run(Run.from_dict(scores, name="bm25"), str(folder / "bm25.run"), "trec")
    return str(folder / "bm25.run")


def test_wrong_inputs_name_the_dataset_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 2
    assert "no input files; specify a dataset and any runs on it" in capsys.readouterr().err
    assert main(["doctor", str(tmp_path / "nowhere")]) == 2
    assert "nowhere: no such file or folder; specify a dataset" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "result.json").write_text(""), "the file is damaged: run the experiment again"),
        (
            lambda folder: (folder / "result.json").unlink(),
            "is a damaged results folder: it has no result.json; run the experiment",
        ),
        (
            lambda folder: (folder / "qrels.tsv").unlink(),
            "file not found; the results folder is damaged: run the experiment again",
        ),
    ],
)
def test_a_damaged_results_folder_is_called_damaged(
    damage: Callable[[Path], object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_results(small_results(), tmp_path / "out")
    damage(tmp_path / "out")
    assert main(["doctor", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err


def test_a_table_without_the_option_for_datasets_is_refused_with_the_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "products.csv"
    table.write_text("query,title,grade\nred pan,Red pan,1\nblue pan,Blue pan,1\n", encoding="utf-8")
    assert main(["doctor", str(table)]) == 2
    assert f"use --dataset {table}" in capsys.readouterr().err
    assert main(["doctor", "--dataset", str(table)]) == 0
