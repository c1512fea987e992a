"""`rankproof export`: every format holds the same numbers, and no name does harm in any."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import rankproof as rp
from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.inputs import input_from_results
from rankproof._cli.main import main
from rankproof._render.ci import as_steps_junit
from rankproof._render.formats import EXPORT_FORMATS
from rankproof._render.paper import LONG_COLUMNS, METADATA_KEY, long_rows, paper_table
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, save_results
from rankproof.errors import UsageError, escape_invisible
from support.claim_results import claim_results
from support.plot_results import HOSTILE, hostile_results, wide_results


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExperimentResult:
    """Three systems, each far better than the one before, as a results folder in the current folder."""
    monkeypatch.chdir(tmp_path)
    save_results(wide_results(["weak", "fair", "strong"], [f"q{at}" for at in range(40)]), "results")
    return load_results("results")


def written(name: str, *argv: str) -> Path:
    assert main(["export", "results", "-o", name, "--quiet", *argv]) == 0
    return Path(name)


def test_parquet_holds_every_row_for_pyarrow_and_polars(results: ExperimentResult) -> None:
    path = written("values.parquet")
    rows = list(long_rows(results))
    table = pq.read_table(path)
    assert [tuple(row.values()) for row in table.to_pylist()] == rows
    assert pl.read_parquet(path).rows() == rows
    about = json.loads(table.schema.metadata[METADATA_KEY])
    assert (about["fingerprint"], about["provenance"]["dataset"]) == (results.fingerprint, "tiny")


def test_the_long_table_holds_each_value_and_mean_once(results: ExperimentResult) -> None:
    frame = pl.read_parquet(written("values.parquet"))
    assert frame.select("level", "kind", "system", "query", "measure").is_duplicated().sum() == 0
    measures = frame.filter(pl.col("kind") == "measure")
    for system in results.result.systems:
        for name, one in system.measures.items():
            mine = measures.filter((pl.col("system") == system.name) & (pl.col("measure") == name))
            each = mine.filter(pl.col("level") == "query")
            assert dict(each.select("query", "value").rows()) == one.per_query
            assert mine.filter(pl.col("level") == "system")["value"].to_list() == [one.value]


def test_csv_is_the_same_table(results: ExperimentResult) -> None:
    with written("values.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == LONG_COLUMNS
    found = [(*row[:3], row[3] or None, row[4], float(row[5])) for row in rows]
    assert found == list(long_rows(results))


def test_json_is_the_result_with_every_value(results: ExperimentResult) -> None:
    found = json.loads(written("values.json").read_text())
    for system in results.result.systems:
        mine = next(one for one in found["systems"] if one["name"] == system.name)["measures"]
        assert {name: one["per_query"] for name, one in mine.items()} == results.result.per_query(system.name)


def test_measures_may_be_chosen(results: ExperimentResult) -> None:
    frame = pl.read_parquet(written("values.parquet", "-m", "P@5"))
    assert frame.filter(pl.col("kind") == "measure")["measure"].unique().to_list() == ["P@5"]


def test_a_subset_of_the_queries_is_one_in_every_number(results: ExperimentResult) -> None:
    counts = {"calls": np.arange(40), "prompt_tokens": np.arange(40) * 7}
    system_runs = tuple(replace(system_run, counts=counts) for system_run in results.system_runs)
    save_results(replace(results, chunks=results.result, system_runs=system_runs), "results")
    Path("some.txt").write_text("q3\nq11\nq0\n")
    chosen = {"q0", "q3", "q11"}
    frame = pl.read_parquet(written("values.parquet", "--queries", "some.txt"))
    assert set(frame.filter(pl.col("level") == "query")["query"]) == chosen
    assert set(frame.filter(pl.col("level") == "query")["kind"]) == {"measure", "chunks", "time", "cost"}
    whole = frame.filter((pl.col("level") == "system") & (pl.col("system") == "weak"))
    found = {(kind, measure): value for kind, measure, value in whole.select("kind", "measure", "value").rows()}
    each = results.result.per_query("weak")["nDCG@10"]
    mean = sum(each[query] for query in chosen) / 3
    assert found["measure", "nDCG@10"] == pytest.approx(mean)
    assert found["chunks", "nDCG@10"] == pytest.approx(mean)
    assert found["time", "total_ms_mean"] == pytest.approx(float(results.system_runs[0].times["total"][[0, 3, 11]].mean()))
    assert found["cost", "prompt_tokens"] == 7 * 14
    assert json.loads(written("values.json", "--queries", "some.txt").read_text())["query_ids"] == ["q0", "q3", "q11"]


def test_money_is_not_exported_for_a_subset(results: ExperimentResult, capsys: pytest.CaptureFixture[str]) -> None:
    system_runs = tuple(
        replace(system_run, counts={"calls": np.ones(40, dtype=np.int64)}, money=2.5) for system_run in results.system_runs
    )
    save_results(replace(results, system_runs=system_runs), "results")
    Path("some.txt").write_text("q3\n")
    assert main(["export", "results", "--queries", "some.txt"]) == 2
    assert "the cost of weak is known only in total, not per query; leave out --queries" in capsys.readouterr().err
    assert main(["export", "results"]) == 0


def test_the_folder_is_read_once(results: ExperimentResult, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr("rankproof._results.folder.load_results", lambda path: read.append(path) or results)  # type: ignore[func-returns-value]
    written("values.csv")
    assert read == ["results"]


def test_latex_has_the_best_in_bold_and_letters_for_those_it_beats(results: ExperimentResult) -> None:
    text = written("table.tex", "-m", "nDCG@10").read_text()
    value = results.result.means["strong"]["nDCG@10"]
    assert rf"strong & c & \textbf{{{value:.4f}$^{{ab}}$}} &" in text
    assert rf"weak & a & {results.result.means['weak']['nDCG@10']:.4f} &" in text
    assert "tiny: means over n = 40 queries." in text
    assert "Holm over 3 tests" in text
    assert r"\label{tab:rankproof-small}" in text


def test_latex_without_a_test_says_so() -> None:
    text = paper_table(wide_results(["alone"], ["q1", "q2"]), None)
    assert "No significance test" in text
    assert "$^" not in text


def test_hostile_names_leave_latex_balanced_and_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_results(hostile_results(), "results")
    text = written("table.tex", "-m", "nDCG@10").read_text()
    bare = re.sub(r"\\[\\{}$&#_%]", "", text.split("\n", 1)[1])
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") == 2 * text.count("$^{")
    commands = set(re.findall(r"\\([A-Za-z]+)", text))
    layout = {"usepackage", "begin", "end", "centering", "caption", "label", "toprule", "midrule", "bottomrule", "textbf"}
    assert {name for name in commands - layout if not name.startswith("text")} == set()
    rows = text.split("\\midrule\n")[1].split("\\bottomrule")[0].splitlines()
    assert len(rows) == len(HOSTILE)
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {4}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(results: ExperimentResult) -> None:
    table = written("table.tex").read_text()
    Path("page.tex").write_text(
        f"\\documentclass{{article}}\\usepackage{{booktabs,textcomp}}\\begin{{document}}\n{table}\\end{{document}}\n"
    )
    done = subprocess.run(["pdflatex", "-halt-on-error", "-no-shell-escape", "page.tex"], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


def test_hostile_names_stay_in_their_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_results(hostile_results(), "results")
    with written("values.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert {len(row) for row in rows} == {len(LONG_COLUMNS)}
    assert not [cell for row in rows for cell in row[2:4] if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert pl.read_parquet(written("values.parquet"))["system"].unique(maintain_order=True).to_list() == list(HOSTILE)
    page = written("page.md").read_text()
    assert "<script" not in page
    assert "<svg" not in page
    cases = ET.fromstring(written("junit.xml").read_text()).iter("testcase")
    assert {case.attrib["name"].removesuffix(" nDCG@10") for case in cases} >= {
        escape_invisible(name.lstrip()) for name in HOSTILE
    }


def test_markdown_has_the_systems_and_the_letters(results: ExperimentResult) -> None:
    page = written("page.md").read_text()
    assert "| 3 strong | " in page
    assert "<sup>ab</sup>" in page


def test_junit_fails_no_system_if_every_one_gains(results: ExperimentResult) -> None:
    suite = ET.parse(written("junit.xml")).getroot()[0]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("9", "0")


def test_junit_fails_the_system_that_is_significantly_worse(results: ExperimentResult) -> None:
    turned = replace(
        results,
        system_runs=tuple(
            replace(system_run, builds_on={"fair": "strong"}.get(system_run.name)) for system_run in results.system_runs
        ),
    )
    comparison = compare_inputs(input_from_results(results))
    cases = ET.fromstring(as_steps_junit(turned, comparison)).iter("testcase")
    failed = {case.attrib["name"]: failure for case in cases if (failure := case.find("failure")) is not None}
    assert list(failed) == ["fair nDCG@10"]
    assert failed["fair nDCG@10"].attrib["message"].startswith("fair: worse (nDCG@10 ")


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.md", "a.tex", "a.xml", "a.parquet"])
def test_the_same_results_give_the_same_bytes(name: str, results: ExperimentResult) -> None:
    assert written(name).read_bytes() == written(name).read_bytes()


def test_standard_output_gets_csv_by_default(results: ExperimentResult, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "results"]) == 0
    assert capsys.readouterr().out.startswith(",".join(LONG_COLUMNS))
    assert main(["export", "results", "--format", "latex", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("% \\usepackage{booktabs}")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nowhere"], "nowhere: no such file or folder; specify a folder that `rankproof run` wrote"),
        (["results", "results"], "2 results folders, but one is expected; specify one results folder"),
        (["results", "-o", "file"], "file has no known suffix; choose a format with --format: csv"),
        (["results", "--format", "parquet"], "parquet cannot go to standard output; specify a file with -o"),
        (["results", "--to", "mlflow", "-o", "a.csv"], "--to logs to a server and writes no file"),
        (["results", "--experiment", "x"], "are for MLflow; add --to mlflow"),
        (["results", "-o", "results/summary.csv"], "would overwrite"),
        (["results", "-o", "a.tex", "-m", "nonsense"], "nonsense"),
        (["results", "-m", "ROUGE-L"], "-m takes measures of rankings only; leave out measures of answers"),
        (["results", "--name", "a", "--name", "b"], "2 names for one results folder"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    argv: list[str], message: str, results: ExperimentResult, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", *argv]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", [*EXPORT_FORMATS, "x.csv.gz"])
def test_the_function_writes_what_the_command_writes(name: str, results: ExperimentResult) -> None:
    if name.startswith("claims-"):
        shutil.rmtree("results")
        save_results(claim_results(), "results")
        results = load_results("results")
    suffix = EXPORT_FORMATS.components[list(EXPORT_FORMATS).index(name)].aliases[:1] if name in EXPORT_FORMATS else ()
    path = f"a.{(*suffix, name)[0]}"
    exported = rp.export("results", path=f"python-{path}")
    assert (exported.path, exported.format) == (f"python-{path}", name if name in EXPORT_FORMATS else "csv")
    assert Path(f"python-{path}").read_bytes() == written(path).read_bytes()
    assert rp.export(results, format=exported.format).content == exported.content


def test_the_function_exports_some_measures_and_queries_of_runs_and_results(results: ExperimentResult) -> None:
    Path("queries.txt").write_text("q1\nq2\n")
    assert main(["export", "results", "-m", "RR", "--queries", "queries.txt", "-o", "few.csv", "--quiet"]) == 0
    assert rp.export("results", measures="RR", queries=["q1", "q2"]).text == Path("few.csv").read_text()
    runs = {one.name: one.run for one in results.system_runs}
    assert "system,measure,weak,,RR@10," in rp.export(results.qrels, runs, "RR@10").text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "values.xyz"}, "values.xyz has no known suffix; choose a format with format=: csv, json"),
        ({"format": "excel"}, "format is excel; choose one of csv, json, markdown, latex, junit, parquet"),
        ({"to": "mlflow", "path": "x.csv"}, "to= logs to a server and writes no file"),
        ({"to": "wandb"}, "to is wandb; choose mlflow"),
        ({"experiment": "x"}, 'tracking_uri= and experiment= are for MLflow; add to="mlflow"'),
    ],
)
def test_wrong_arguments_of_the_function_are_refused(arguments: dict[str, Any], message: str, results: ExperimentResult) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        rp.export(results, **arguments)


def test_parquet_has_no_text(results: ExperimentResult) -> None:
    with pytest.raises(UsageError, match="parquet is not text; write it to a file: pass path="):
        assert rp.export(results, format="parquet").text
