"""Test cases on the command line: searched by `run`, checked by `gate` one by one, and in no mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._results.folder import load_results

CASES = (
    {"id": "found", "text": "agar or gelatine", "grades": {"ing-agar": 3}, "least": 0.1, "dataset": "kitchen"},
    {"id": "lost", "text": "agar or gelatine today", "grades": {"no-such-document": 3}, "least": 0.5},
    {"id": "shown", "text": "only shown", "grades": {"no-such-document": 1}},
    {"id": "else", "text": "of another dataset", "grades": {"d": 1}, "dataset": "other", "least": 1.0},
)


def written(path: Path, cases: Any = CASES) -> Path:
    path.write_text("".join(f"{json.dumps(case)}\n" for case in cases), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cases")
    cases = written(place / "cases.jsonl")
    command = ["run", "--systems", "bm25", "-m", "nDCG@10", "-o", str(place / "results"), "--no-report", "--quiet"]
    assert main([*command, "--cases", str(cases)]) == 0
    return place


def gate_json(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, Any]:
    code = main(["gate", str(folder / "results"), *options, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_cases_have_results_of_their_own_and_change_no_mean(folder: Path, tmp_path: Path) -> None:
    results, cases = load_results(folder / "results"), load_results(folder / "results" / "cases")
    assert cases.queries == ("found", "lost", "shown")
    assert not set(cases.queries) & set(results.queries)
    plain = tmp_path / "plain"
    assert main(["run", "--systems", "bm25", "-m", "nDCG@10", "-o", str(plain), "--no-report", "--quiet"]) == 0
    assert load_results(plain).result.means == results.result.means
    assert load_results(plain).fingerprint == results.fingerprint


def test_the_gate_checks_each_case_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = gate_json(folder, capsys, "--cases", str(folder / "cases.jsonl"))
    assert code == 3
    (table,) = shown["tables"]
    rows = {row["id"]: (row["result"], row["least"]) for row in table["facts"]["cases"]}
    assert rows == {"found": ("passed", 0.1), "lost": ("failed", 0.5), "shown": ("passed", None)}


def test_a_failed_case_fails_a_gate_that_passes_otherwise_and_leaves_its_checks_as_they_are(folder: Path) -> None:
    baseline, cases = folder / "baseline.json", folder / "cases.jsonl"
    rp.gate(folder / "results", save=baseline)
    plain = rp.gate(folder / "results", baseline=baseline)
    gated = rp.gate(folder / "results", baseline=baseline, cases=cases)
    assert (plain.outcome, gated.outcome) == ("passed", "failed")
    assert gated.checks[: len(plain.checks)] == plain.checks
    assert [check.kind for check in gated.checks[len(plain.checks) :]] == ["case"] * 3
    assert "lost" not in str(gated.decision)


def test_cases_in_run_files_are_rows_of_their_id_and_a_missing_one_is_unsure(tmp_path: Path) -> None:
    qrels = {f"q{at}": {"d1": 1} for at in range(30)}
    run = {query: {"d1": 2.0, "d2": 1.0} for query in (*qrels, "found")}
    cases = written(tmp_path / "cases.jsonl", [{**CASES[0], "grades": {"d2": 1}, "least": 0.6309}, CASES[1]])
    gated = rp.gate(qrels, {"mine": run}, cases=cases)
    assert [(value.case.id, value.result, value.value) for value in gated.cases] == [
        ("found", "passed", pytest.approx(0.63093, abs=1e-5)),
        ("lost", "unsure", None),
    ]
    assert "run it with `rankproof run --cases FILE`" in gated.checks[-1].sentence


@pytest.mark.parametrize(("least", "result"), [(0.6309297, "passed"), (0.63094, "failed"), (0.0, "passed"), (1.0, "failed")])
def test_a_case_is_met_up_to_the_digits_of_a_saved_value(tmp_path: Path, least: float, result: str) -> None:
    qrels, run = {"q": {"d1": 1}}, {"q": {"d1": 1.0}, "c": {"x": 2.0, "d": 1.0}}
    cases = written(tmp_path / "cases.jsonl", [{"id": "c", "text": "t", "grades": {"d": 1}, "least": least}])
    assert [value.result for value in rp.gate(qrels, {"a": run}, cases=cases).cases] == [result]


def test_included_cases_are_queries_like_others_and_the_results_say_so(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "all"
    options = ["--systems", "bm25", "-m", "nDCG@10", "-o", str(output), "--no-report"]
    assert main(["run", *options, "--include-cases", str(folder / "cases.jsonl")]) == 0
    assert "3 test cases of" in " ".join(capsys.readouterr().err.split())
    results = load_results(output)
    assert {"found", "lost", "shown"} <= set(results.result.queries)
    assert results.fingerprint != load_results(folder / "results").fingerprint
    again = rp.read_experiment(output / "experiment.toml")
    assert Path(str(again.include_cases)) == folder / "cases.jsonl"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--cases", "none.jsonl"], "none.jsonl does not exist; save test cases with `rankproof serve --edit`"),
        (["--cases", "bad.jsonl"], "bad.jsonl:1: grades is empty; grade at least one document, or remove the line"),
        (["--cases", "else.jsonl"], "else.jsonl has no test case of this dataset; save some with `rankproof serve --edit`"),
        (["--self-test", "--cases", "bad.jsonl"], "leave out --baseline, --save, --log and --cases"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_with_the_fix(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    monkeypatch.chdir(folder)
    written(folder / "bad.jsonl", [{"text": "x", "grades": {}}])
    written(folder / "else.jsonl", [CASES[3]])
    assert main(["gate", "results", *options]) == 2
    assert words in capsys.readouterr().err.replace("\n", " ")
