"""`rankproof answers`, and the other verbs asked for measures of answers."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shlex
import shutil
from ast import literal_eval
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof._analysis.answers.quality import RankCorrelation, rank_correlation
from rankproof._cli.main import main
from rankproof._results.folder import load_results, save_results
from rankproof._sample import sample_folder
from rankproof.stages._answer import ANSWER_PROMPT
from support.paths import DOCS, SOURCE

LADDER = """\
name = "sample-answers"
[systems.bm25]
stage = "bm25"
[systems.extract]
stage = "extract"
of = "bm25"
[systems.short]
stage = "extract"
of = "bm25"
top = 1
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers")
    (folder / "e.toml").write_text(LADDER)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["run", str(folder / "e.toml"), "-o", str(folder / "out"), "--no-cache", "--quiet"]) == 0
    (folder / "printed").write_text(printed.getvalue())
    return folder / "out"


def shown(*arguments: str | Path, capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    capsys.readouterr()
    assert main([str(each) for each in arguments]) == code
    found = capsys.readouterr()
    return found.out if code in (0, 3) else found.err


def tables(text: str) -> dict[str, dict[str, Any]]:
    return {table["name"]: table for table in json.loads(text)["tables"]}


def test_answers_have_their_own_table_beside_that_of_the_rankings(results: Path) -> None:
    out = (results.parent / "printed").read_text()
    assert "Answers, over 78 queries with a reference answer" in out
    assert out.splitlines()[2].startswith("One system, so nothing to decide: bm25 has 0.613 nDCG@10")


def test_a_run_with_one_ranking_decides_between_its_answers_as_the_command_answers_does(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Other tests compare these results too, and a folder counts its comparisons.
    own = shutil.copytree(results, tmp_path / "out", ignore=shutil.ignore_patterns("looks.jsonl"))
    out = " ".join((results.parent / "printed").read_text().split())
    decision = json.loads((results / "summary.json").read_text(encoding="utf-8"))["answers_decision"]
    assert decision["measure"] == "F1(tokens='bag')"
    assert f"Answers by F1(tokens='bag'): {' '.join(decision['sentences'])}" in out
    answers = " ".join(shown("answers", own, capsys=capsys).split())
    assert answers.startswith(" ".join(decision["sentences"]))


def test_every_number_of_the_table_is_that_of_the_summary(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tables(shown("answers", results, "--format", "json", capsys=capsys))
    summary = json.loads((results / "answers.json").read_text(encoding="utf-8"))
    means = {(row["system"], row["measure"]): (row["value"], row["n"]) for row in found["answer measures"]["rows"]}
    for system in summary["systems"]:
        for name, one in system["answers"].items():
            assert means[system["name"], name] == (one["mean"], one["n"])
    assert found["answer measures"]["facts"]["n"] == 78
    assert {"verdicts", "reasons", "retrieval and answers", "segments by category"} <= set(found)
    counts = found["reasons"]["rows"]
    assert sum(row["extract"] for row in counts) == 78


def test_findings_use_the_numbers_of_the_folder(results: Path) -> None:
    summary = json.loads((results / "answers.json").read_text(encoding="utf-8"))
    found = " ".join(summary["findings"])
    values = {system["name"]: system["answers"]["F1(tokens='set')"]["mean"] for system in summary["systems"]}
    best = max(values, key=values.__getitem__)
    assert f"{best} has the highest F1(tokens='set'), {values[best]:.3f}" in found
    assert "Retrieval: extract, short have the same highest RR@10" in found
    assert "after Holm, n = 78" in found
    assert "is the bottleneck, by the bands of rag" in found
    assert "Spearman" in found
    assert "n = 78" in found
    assert "the most common cause" in found


@pytest.mark.parametrize("kind", ["json", "csv", "markdown", "latex"])
def test_every_format_is_there(results: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "F1(tokens" in shown("answers", results, "--format", kind, "-m", "EM,F1", capsys=capsys)


def test_the_results_go_to_a_folder(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = shown("answers", results, "-m", "EM,F1", capsys=capsys)
    assert "F1(tokens" in printed
    assert shown("answers", results, "-m", "EM,F1", "-o", tmp_path / "out", capsys=capsys) == printed
    saved = load_results(tmp_path / "out").answers
    assert saved is not None
    assert list(saved.systems[0].measures) == ["EM", "F1(tokens='bag')"]


def test_answers_from_files_are_measured_like_those_of_an_experiment(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.loads(line) for line in (results / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    for system in ("extract", "short"):
        mine = [
            json.dumps({key: one[key] for key in ("query", "answer", "cited", "given", "state")})
            for one in lines
            if one["system"] == system
        ]
        (tmp_path / f"{system}.jsonl").write_text("\n".join(mine))
    files: list[str | Path] = [
        results / "queries.jsonl",
        tmp_path / "extract.jsonl",
        tmp_path / "short.jsonl",
        "--qrels",
        results / "qrels.tsv",
    ]
    here = tables(shown("answers", *files, "--format", "json", capsys=capsys))
    there = tables(shown("answers", results, "--format", "json", capsys=capsys))
    assert here["answer measures"]["rows"] == there["answer measures"]["rows"]
    assert here["verdicts"]["rows"] == there["verdicts"]["rows"]
    assert here["reasons"]["rows"] == there["reasons"]["rows"]


@pytest.mark.slow
def test_answers_compares_with_the_baseline_of_the_experiment_as_compare_does(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = load_results(results)
    save_results(replace(loaded, decision_settings=replace(loaded.decision_settings, baseline="short")), tmp_path / "out")
    options = ("--format", "json", "--samples", "1000", "-m", "F1(tokens='set')")
    of_answers, of_compare = (
        tables(shown(verb, tmp_path / "out", *options, capsys=capsys))["verdicts"] for verb in ("answers", "compare")
    )
    assert of_answers["title"] == of_compare["title"]
    assert "which differences to short are significant" in of_answers["title"]
    assert of_answers["rows"] == of_compare["rows"]


def test_compare_segments_save_baseline_and_gate_take_measures_of_answers(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown("compare", results, "-m", "F1(tokens='set')", capsys=capsys).startswith("Ship short: 0.233 F1(tokens='set')")
    assert "EM by category" in shown("segments", results, "-m", "EM", capsys=capsys)
    base = tmp_path / "base.json"
    shown("gate", results, "-m", "F1", "--save", base, capsys=capsys)
    assert "The gate passed" in shown("gate", results, "--baseline", base, "--by", "category", capsys=capsys)
    assert "misses the threshold" in shown("gate", results, "--threshold", "EM>=0.9", capsys=capsys, code=3)


def test_a_subset_of_the_queries_can_be_chosen(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ids").write_text("q001\nq002\nq003\nq004\n")
    assert "(n = 4)" in shown("compare", results, "-m", "F1", "--queries", tmp_path / "ids", capsys=capsys)
    (tmp_path / "ids").write_text("q022\n")
    said = shown("compare", results, "-m", "F1", "--queries", tmp_path / "ids", capsys=capsys, code=2)
    assert "none of the queries has a reference" in said


@pytest.mark.parametrize(("tokens", "f1"), [("set", "0.8571"), ("bag", "0.8750")])
def test_the_f1_of_one_answer_is_explained(results: Path, tokens: str, f1: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown("explain", results, "-m", f"F1(tokens={tokens})", "--system", "extract", "--query", "q003", capsys=capsys)
    assert f"= {f1}." in out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("compare", "-m", "EM,nDCG@10"), "use one kind at a time"),
        (("answers", "-m", "nDCG@10"), "nDCG@10 measures rankings, not answers"),
        (("answers", "--qrels", "x"), "a results folder cannot be mixed with other inputs"),
        (("answers", "--by", "nothing"), "no query has a field nothing"),
        (("explain", "-m", "F1(stop_words=english)", "--query", "q003"), "of one answer cannot be explained by parts"),
        (("explain", "-m", "F1", "--query", "q022"), "query q022 has no answer or no reference"),
    ],
)
def test_wrong_options_are_refused_in_one_line(
    results: Path, arguments: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verb, *rest = arguments
    assert why in shown(verb, results, *rest, capsys=capsys, code=2)


def test_wrong_files_are_refused_in_one_line(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = results / "queries.jsonl"
    (tmp_path / "bad.jsonl").write_text('{"query": "q001", "answer": "x"}\n{"query": "q01", "answer": "x"}\n')
    assert "no input files" in shown("answers", capsys=capsys, code=2)
    assert "no file of answers after it" in shown("answers", queries, capsys=capsys, code=2)
    assert "bad.jsonl:2: no query has the id q01; did you mean" in shown(
        "answers", queries, tmp_path / "bad.jsonl", capsys=capsys, code=2
    )
    assert "would overwrite" in shown("answers", results, "-o", results, capsys=capsys, code=2)


def test_a_folder_without_answers_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from support.small_results import small_results

    save_results(small_results(), tmp_path / "out")
    assert "add a system with the stage answer or extract" in shown("answers", tmp_path / "out", capsys=capsys, code=2)


def test_questions_of_a_type_are_segments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    types = ("factual", "comparative", "inferential", "multi-hop")
    queries = [
        {"_id": f"q{at}", "text": "why?", "answers": ["yes"], "type": types[at % 4], "adversarial": "negated" if at % 2 else None}
        for at in range(48)
    ]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    answers = [{"query": f"q{at}", "answer": "yes" if at % 4 else "no"} for at in range(48)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, answers)))
    found = tables(
        shown("answers", tmp_path / "queries.jsonl", tmp_path / "a.jsonl", "-m", "EM", "--format", "json", capsys=capsys)
    )
    rows = {row["type"]: row for row in found["segments by type against the rest"]["rows"]}
    assert (rows["factual"]["value"], rows["factual"]["n"], rows["factual"]["verdict"]) == (0.0, 12, "lower")
    assert rows["multi-hop"]["value"] == 1.0
    assert "segments by adversarial against the rest" in found


def test_values_that_rise_together_have_a_correlation() -> None:
    rising = [float(at) for at in range(20)]
    found = rank_correlation(rising, [value**2 for value in rising])
    assert found is not None
    assert found.rho == pytest.approx(1.0)
    assert found.n == 20
    mixed = rank_correlation(rising, [0.0, 1.0] * 10)
    assert mixed is not None
    assert mixed.interval[0] < 0 < mixed.interval[1]
    assert "no significant correlation" in mixed.describe()
    falling = rank_correlation(rising, [-value + (at % 3) for at, value in enumerate(rising)])
    assert falling is not None
    assert falling.describe().startswith("strong negative correlation of retrieval and answers (")


@pytest.mark.parametrize(
    ("rho", "word"), [(0.29, "weak"), (0.3, "moderate"), (0.49, "moderate"), (0.5, "strong"), (-0.2, "weak")]
)
def test_a_correlation_is_called_weak_where_it_is_weak(rho: float, word: str) -> None:
    interval = (rho - 0.01, rho + 0.01)
    assert (
        RankCorrelation(rho, 1000, interval).describe().startswith(f"{word} {'positive' if rho > 0 else 'negative'} correlation")
    )


def test_few_or_equal_values_have_no_correlation() -> None:
    rising = [float(at) for at in range(20)]
    assert rank_correlation(rising[:9], rising[:9]) is None
    assert rank_correlation(rising, [1.0] * 20) is None


def test_the_sample_has_references() -> None:
    with sample_folder() as folder:
        assert '"answers"' in (Path(folder) / "queries.jsonl").read_text(encoding="utf-8")


PAGE = (DOCS / "answers.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_commands_of_the_page_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (toml,) = re.findall(r"```toml[^\n]*\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "answers.toml").write_text(toml)
    shown("run", tmp_path / "answers.toml", "-o", tmp_path / "results", "--no-cache", capsys=capsys)
    lines = re.findall(r"^rankproof (.* results .*)$", PAGE, re.MULTILINE)
    assert lines
    for line in lines:
        words = [str(tmp_path / "results") if word == "results" else word for word in shlex.split(line)]
        assert main(words) in (0, 3)


def test_the_page_shows_the_prompt_and_python_that_runs() -> None:
    assert ANSWER_PROMPT in PAGE
    blocks = re.findall(r"```python\n(.*?)```\n\n```output\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    for code, output in blocks:
        exec(code, names)
        assert literal_eval(output) == names["result"].means


def test_the_page_names_every_note_of_answers() -> None:
    source = (SOURCE / "_evaluation" / "answer_notes.py").read_text(encoding="utf-8").partition("def answer_notes")[2]
    codes = re.findall(r'^\s+"([a-z]+(?:-[a-z]+)*)": ', source, re.MULTILINE)
    assert len(codes) >= 6
    assert [code for code in codes if f"`{code}`" not in PAGE] == []


@pytest.mark.parametrize("measure", ["F1", "F1(tokens=set)", "EM", "Contains", "ROUGE-L", "CiteP", "CiteR"])
def test_an_explained_answer_names_system_query_answer_and_reference(
    measure: str, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = (results / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    said = next(one for one in map(json.loads, summary) if (one["system"], one["query"]) == ("extract", "q003"))
    asked = next(one for one in map(json.loads, (results / "queries.jsonl").read_text().splitlines()) if one["_id"] == "q003")
    out = shown(*("explain", results, "-m", measure, "--system", "extract", "--query", "q003", "--format", "json"), capsys=capsys)
    (table,) = json.loads(out)["tables"]
    assert " of extract on query q003: " in table["title"]
    assert table["sentences"][:3] == [
        f"Question: {asked['text']}",
        f"Answer: {said['answer']}",
        f"Reference: {asked['answers'][0]}",
    ]


def test_what_is_explained_is_the_value_of_the_table(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (results / "answers.csv").open(encoding="utf-8", newline="") as file:
        row = next(row for row in csv.DictReader(file) if (row["method"], row["query"]) == ("extract", "q003"))
    for measure in ("F1(tokens='bag')", "EM", "Contains", "ROUGE-L", "CiteP", "CiteR"):
        out = shown("explain", results, "-m", measure, "--system", "extract", "--query", "q003", capsys=capsys)
        assert f"{measure} of extract on query q003: {float(row[measure]):.4f}\n" in out


@pytest.mark.slow
def test_the_table_of_systems_shows_citations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "e.toml").write_text(LADDER)
    out = shown("run", tmp_path / "e.toml", "-o", tmp_path / "out", "--no-cache", "--quiet", capsys=capsys)
    assert re.search(r"^system +CiteP +CiteR$", out, re.MULTILINE)
