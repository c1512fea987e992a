"""Judgements and run files where a results folder is taken: pages, exports and analyses without latency."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.inputs import input_from_results, input_from_runs
from rankproof._analysis.run_files import results_from_runs, with_texts
from rankproof._cli.main import main
from rankproof._data.ordering import ranked_run
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.options import EvaluateOptions
from rankproof._formats.read import write_folder
from rankproof.errors import UsageError
from support.explorer_pages import blocks_of
from support.results_server import data_of, serving
from support.small_datasets import RELEVANT, small_dataset
from support.small_results import small_results

SYSTEMS = ("bm25", "static", "hybrid")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The judgements and three runs of the sample as files."""
    folder = tmp_path_factory.mktemp("files")
    rp.write_qrels(rp.read_qrels("sample"), folder / "qrels.txt")
    for name in SYSTEMS:
        rp.write_run(rp.read_run(f"sample:{name}"), folder / f"{name}.run")
    return [str(folder / "qrels.txt"), *(str(folder / f"{name}.run") for name in SYSTEMS)]


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def decided(files: list[str], *more: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["compare", *files, "--format", "json", *more]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["decision"]
    return found


def test_the_report_of_run_files_has_the_decision_of_compare_and_no_latency(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *files, "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"report: {tmp_path / 'page.html'}; open it in a browser" in capsys.readouterr().err
    first, *_ = decided(files, capsys=capsys)["sentences"]
    assert first in page.replace("\u00a0", " ")
    sections = {"decision", "systems", "queries", "pairs", "steps", "measures", "segments", "diagnosis", "movement", "unjudged"}
    assert all(f'id="{section}"' in page for section in sections)
    for word in ('id="latency"', 'id="pareto"', "ms p50", "index MB", "queries/s", "0 ms"):
        assert word not in page


def plain_text(page: str) -> str:
    """The text of a page without its scripts and styles."""
    without = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", without)).split())


def compared_in(page: str) -> list[int | None]:
    """The system that the table of queries compares each system with."""
    return [system["compared"] for system in blocks_of(page)["data"]["systems"]]


def test_run_files_build_on_no_other_run_file_and_are_compared_with_the_baseline(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *files, "-o", str(tmp_path / "page.html"), "--quiet"]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = plain_text(page)
    assert not re.search("(than|from|to) the system that it builds on", shown)
    assert {"bm25 → static", "bm25 → hybrid"} <= set(re.findall(r"\S+ → \S+", shown))
    assert "static → hybrid" not in shown
    assert "What does each system gain over the baseline, and at what cost?" in shown
    assert compared_in(page) == [None, 0, 0]
    assert main(["diagnose", *files, "--format", "json"]) == 0
    tables = {table["name"]: table["rows"] for table in json.loads(capsys.readouterr().out)["tables"]}
    assert [row["compared with"] for row in tables["gains"]] == [None, "bm25", "bm25"]
    assert [row["compared with"] for row in tables["moves"]] == [None, "bm25", "bm25"]


def test_a_case_of_junit_fails_if_a_run_file_is_worse_than_the_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rp.write_qrels(Qrels.from_dict({f"q{at}": {"yes": 1} for at in range(20)}), "qrels.txt")
    for name, docs in (("first", ["yes"]), ("worst", ["no"]), ("middle", ["no", "yes"])):
        scores = {f"q{at}": {doc: -float(rank) for rank, doc in enumerate(docs)} for at in range(20)}
        rp.write_run(Run.from_dict(scores, name=name), f"{name}.run")
    assert main(["export", "qrels.txt", "first.run", "worst.run", "middle.run", "--format", "junit", "-m", "RR@10"]) == 0
    failures = re.findall(r'<failure message="(\w+): worse [^"]* of (\w+),', capsys.readouterr().out)
    assert failures == [("worst", "first"), ("middle", "first")]


def test_the_page_of_run_files_compares_with_the_named_baseline(files: list[str]) -> None:
    page = rp.report(files[0], files[1:], baseline="static").html
    assert {"static → bm25", "static → hybrid"} <= set(re.findall(r"\S+ → \S+", plain_text(page)))
    assert compared_in(page) == [1, None, 1]


@pytest.mark.slow
def test_costs_of_run_files_decide_between_good_systems(files: list[str], tmp_path: Path) -> None:
    costs = {"bm25": 1.0, "static": 2.0, "hybrid": 3.0}
    given = [part for name, cost in costs.items() for part in ("--cost", f"{name}={cost}")]
    margin = ["--margin", "0.1"]
    assert main(["report", *files, *margin, "-o", str(tmp_path / "free.html"), "--quiet"]) == 0
    assert main(["report", *files, *margin, *given, "-o", str(tmp_path / "costly.html"), "--quiet"]) == 0
    assert "Either of hybrid and static: no difference that matters" in (tmp_path / "free.html").read_text(encoding="utf-8")
    assert "Ship bm25 only to save cost: it is 3 times cheaper" in (tmp_path / "costly.html").read_text(encoding="utf-8")
    qrels, *runs = files
    assert (
        rp.report(qrels, runs, costs=costs, margin=0.1)
        .decision[0]
        .startswith("Ship bm25 only to save cost: it is 3 times cheaper")
    )


def test_a_results_folder_takes_the_settings_of_the_decision_too(tmp_path: Path) -> None:
    rp.save_results(small_results(), tmp_path / "out")
    page = rp.report(tmp_path / "out", primary="RR@2", baseline="dense")
    assert "RR(rel=2)@2" in page.html
    assert "compared with dense" in page.html


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--cost", "other=1"], "no system is called other; choose from: bm25, static, hybrid"),
        (["--baseline", "other"], "no system is called other"),
        (["--margin", "2"], "margin is 2; pass a difference below 1"),
        (["--primary", "NumRet"], "NumRet cannot be the primary measure"),
        (["--skip-missing"], "--skip-missing gives each system its own queries"),
    ],
)
def test_a_setting_that_a_page_cannot_show_is_refused(
    files: list[str], more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *files, *more, "-o", str(tmp_path / "page.html")]) == 2
    assert capsys.readouterr().err.startswith(said)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    "option", [["--depth", "5"], ["--name", "a"], ["--dataset", "sample"], ["-J"], ["--order", "rank"], ["--rel", "2"]]
)
def test_options_of_run_files_are_refused_for_a_results_folder(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rp.save_results(small_results(), tmp_path / "out")
    assert main(["report", str(tmp_path / "out"), *option]) == 2
    assert "is for run files; leave out --" in capsys.readouterr().err


def test_one_file_alone_is_no_input_of_a_report(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", files[0]]) == 2
    assert "no run file after" in capsys.readouterr().err


def test_an_export_of_run_files_has_values_and_no_times(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", *files, "-m", "nDCG@10,RR@10"]) == 0
    rows = table_of(capsys.readouterr().out)
    assert {row["kind"] for row in rows} == {"measure"}
    result = rp.evaluate(files[0], files[1:], ["nDCG@10", "RR@10"])
    means = {(row["system"], row["measure"]): float(row["value"]) for row in rows if row["level"] == "system"}
    assert means == {(name, measure): value for name, each in result.means.items() for measure, value in each.items()}
    assert main(["export", *files, "--format", "latex"]) == 0
    assert "ms p50" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_texts_of_run_files_come_from_the_dataset(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["segments", *files, "--by", "category"]) == 2
    assert "category" in capsys.readouterr().err
    assert main(["segments", *files, "--by", "category", "--dataset", "sample", "--format", "csv"]) == 0
    segments = {row["segment"] for row in table_of(capsys.readouterr().out)}
    assert segments >= {"technique", "product", "timing", "appliance", "ingredient"}
    assert main(["diagnose", *files, "--dataset", "sample", "--failed", "3"]) == 0
    shown = capsys.readouterr().out
    assert "Gain of each system in nDCG@10" in shown
    assert "my cooker top drones" in shown
    assert "my cooker top drones" in rp.report(files[0], files[1:], dataset="sample").html


@pytest.mark.parametrize(
    ("rename", "said"),
    [
        ({"hob": "hob", "q1": "x1", "q2": "x2", "q3": "x3", "q4": "x4"}, "no judged query is in the dataset"),
        ({doc: f"doc-{doc}" for doc in RELEVANT.values()}, "no document of a is in the dataset"),
    ],
)
def test_a_dataset_with_none_of_the_ids_is_refused_with_examples(rename: Mapping[str, str], said: str) -> None:
    qrels = {rename.get(query, query): {rename.get(doc, doc): 1} for query, doc in RELEVANT.items()}
    inputs = input_from_runs(qrels, {"a": {query: dict.fromkeys(docs, 1.0) for query, docs in qrels.items()}})
    with pytest.raises(UsageError, match=said) as found:
        with_texts(inputs, small_dataset())
    assert "the dataset has " in found.value.what


def test_a_dataset_without_documents_gives_the_texts_of_queries() -> None:
    dataset = replace(small_dataset(), corpus=rp.Corpus([]))
    runs = {"a": Run.from_dict({query: {doc: 1.0} for query, doc in RELEVANT.items()})}
    found = results_from_runs(input_from_runs(dataset.qrels, runs), dataset)
    assert found.texts["q3"].text == "sharp blade"
    assert not found.snippets
    assert "documents" not in {name for name, value in found.provenance.items() if value is not None}


def test_weights_of_the_dataset_count_for_run_files(tmp_path: Path) -> None:
    dataset = small_dataset()
    heavy = rp.Queries([replace_fields(query, weight=9 if query.id == "q1" else 1) for query in dataset.queries.values()])
    write_folder(replace(dataset, queries=heavy), str(tmp_path / "data"))
    runs = {"a": {"q1": ["hob"]}, "b": {"q2": ["dough"]}}
    page = rp.report(dataset.qrels, runs, ["RR@10"], dataset=tmp_path / "data")
    assert "0.7500" in page.html  # 9 of 12, where 1 of 4 would be without weights.


def replace_fields(query: rp.types.Query, **fields: Any) -> rp.types.Query:
    return type(query)(query.id, query.text, fields={**query.fields, **fields})


@pytest.mark.parametrize(
    "how",
    [
        ReadOptions(),
        ReadOptions(depth=2),
        ReadOptions(lower_is_better=True),
        ReadOptions(order="rank"),
        ReadOptions(float32=True),
        ReadOptions(on_duplicate="keep-last"),
        ReadOptions(judged_only=True),
    ],
)
def test_a_ranked_run_read_plainly_has_the_values_of_the_run_read_with_options(how: ReadOptions) -> None:
    draws = np.random.default_rng(4)
    rows = [
        rp.types.RunRow(f"q{query}", f"d{doc}", float(np.round(draws.random(), 1)) + 1e-9 * rank, rank)
        for query in range(6)
        for rank, doc in enumerate(draws.permutation(8).tolist(), start=1)
    ]
    again = [rows[0]._replace(score=2.0)] if how.on_duplicate != "error" else []
    run = Run.from_rows([*rows, *again], name="a")
    qrels = {f"q{query}": {f"d{doc}": int(draws.integers(0, 3)) for doc in range(6)} for query in range(6)}
    measures = ["nDCG@3", "RR", "AP", "NumRet", "Judged@5"]
    inputs = input_from_runs(qrels, {"a": run}, measures, options=EvaluateOptions(how))
    results = results_from_runs(inputs)
    plain = ReadOptions(judged_only=how.judged_only)
    assert rp.evaluate(qrels, ranked_run(run, how), measures, judged_only=how.judged_only).means["a"] == inputs.result.means["a"]
    assert input_from_results(results).read_options == plain


def test_serve_shows_run_files_with_their_report_and_their_documents_to_judge(tmp_path: Path) -> None:
    dataset = small_dataset()
    runs = {"a": {query: {"oven": 2.0, doc: 1.0} for query, doc in RELEVANT.items()}, "b": {"q1": {"rice": 1.0, "hob": 2.0}}}
    results = results_from_runs(input_from_runs(dataset.qrels, runs), dataset)
    with serving([], judge=tmp_path / "my.qrels", given={"some/qrels.txt": results}, dataset=dataset) as visitor:
        assert "run files judged by qrels.txt" in visitor.enter().get("/").text
        assert 'id="decision"' in visitor.get("/r/1").text
        texts = {(query, doc): (text, passage) for query, doc, _, _, text, passage, *_ in data_of(visitor)["pairs"]}
        assert texts["q3", "oven"][0] == "sharp blade"
        assert texts["q3", "oven"][1].endswith("pyrolysis burns residue to ash.")
