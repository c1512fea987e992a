"""Every verb that shows a value says so where few of the top documents are judged."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._cli.parser import COMMANDS, command_named
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._results.folder import save_results
from rankproof.stages import BM25, ExtractAnswer
from rankproof.stages._base import Stage
from support.results_server import serving

WITH_VALUES: dict[str, list[str]] = {
    "run": ["--dataset", "data", "--systems", "bm25", "-o", "out"],
    "eval": ["qrels.txt", "one.run"],
    "compare": ["results"],
    "explain": ["results"],
    "audit": ["results"],
    "segments": ["results"],
    "diagnose": ["results"],
    "baselines": ["results"],
    "answers": ["results"],
    "gate": ["results", "--threshold", "RR@10>=0", "--save", "base.json"],
    "report": ["results", "-o", "page.html"],
    "plot": ["results", "-o", "plots"],
    "export": ["results", "-o", "out.csv"],
}
NOTE = ("Judged@10 is 10%", "-J", "rankproof judge")
BOUNDS = ("is between", "cannot change")


@pytest.fixture
def files(files_of_all: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset with one judged document a query, a run on it, and results folders, in the current folder."""
    shutil.copytree(files_of_all, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def files_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    with contextlib.chdir(folder):
        _write_files()
    return folder


def _write_files() -> None:
    queries, docs = [f"q{at}" for at in range(4)], [f"d{at}" for at in range(10)]
    Path("data").mkdir()
    Path("data/corpus.jsonl").write_text("".join(f'{{"_id": "{doc}", "text": "common {doc} word. Another."}}\n' for doc in docs))
    Path("data/queries.jsonl").write_text(
        "".join(f'{{"_id": "{query}", "text": "common d{at}", "answers": ["word"]}}\n' for at, query in enumerate(queries))
    )
    Path("data/qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{query}\td{at}\t1\n" for at, query in enumerate(queries))
    )
    Path("qrels.txt").write_text("".join(f"{query} 0 d{at} 1\n" for at, query in enumerate(queries)))
    Path("one.run").write_text("".join(f"{query} Q0 {doc} 0 {9 - at} t\n" for query in queries for at, doc in enumerate(docs)))
    bm25 = BM25()
    systems: dict[str, Stage] = {"bm25": bm25, "other": BM25(k1=2.0), "says": ExtractAnswer(bm25)}
    experiment = Experiment(systems, dataset="data")
    save_results(run_experiment(experiment, RunOptions(cache=None)), "results")
    save_results(run_experiment(replace(experiment, name="second"), RunOptions(cache=None)), "second")
    save_results(run_experiment(replace(experiment, name="judged", judged_only=True), RunOptions(cache=None)), "judged")


def test_every_verb_that_reads_results_is_listed() -> None:
    reading = {name for name in COMMANDS if "RESULTS" in command_named(name).usage}
    without = {
        "doctor": "it shows checks",
        "serve": "its pages have their own test",
        "judge": "it judges the top documents before it shows values",
        "correlate": "it shows no value of a measure",
        "online": "it reads a log of live search",
        "prefer": "it reads preferences",
        "stability": "it needs more queries, and has its own test",
    }
    missing = sorted(reading - {*WITH_VALUES, *without})
    assert missing == [], "add the verb to WITH_VALUES, or to `without` if it shows no value of a ranking"


@pytest.mark.parametrize("verb", WITH_VALUES)
def test_every_verb_with_values_says_that_few_documents_are_judged(
    verb: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, *WITH_VALUES[verb]]) == 0
    said = capsys.readouterr().err.replace("\n", " ")
    assert all(words in said for words in NOTE)
    assert any(words in said for words in BOUNDS) == (verb != "audit"), "the table of the audit has the bounds"


@pytest.mark.slow
@pytest.mark.parametrize("verb", WITH_VALUES)
def test_every_verb_says_that_only_judged_documents_are_measured(
    verb: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["judged" if word == "results" else word for word in WITH_VALUES[verb]]
    assert main([verb, *words, *(["-J"] if "judged" not in words else [])]) == 0
    said = capsys.readouterr().err.replace("\n", " ")
    assert "judged documents only; unjudged documents are removed from the rankings" in said
    assert "Judged@10" not in said


def test_stability_says_that_few_documents_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = [f"q{at}" for at in range(12)]
    (tmp_path / "qrels").write_text("".join(f"{query} 0 d0 1\n" for query in queries))
    for name, first in (("one", 0), ("two", 3)):
        rows = (f"{query} Q0 d{(first + at) % 10} {at} {10 - at} {name}\n" for query in queries for at in range(10))
        (tmp_path / f"{name}.run").write_text("".join(rows))
    assert main(["stability", *(str(tmp_path / name) for name in ("qrels", "one.run", "two.run"))]) == 0
    said = capsys.readouterr().err.replace("\n", " ")
    assert all(words in said for words in NOTE)


def test_baselines_say_it_of_the_systems_that_they_run(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baselines", "qrels.txt", "one.run", "--dataset", "data"]) == 0
    said = capsys.readouterr().err.replace("\n", " ")
    assert "full-text BM25: Judged@10 is 10%" in said


@pytest.mark.parametrize("page", ["/", "/r/1", "/r/1/compare/2"])
def test_the_pages_of_serve_say_it_too(page: str, files: Path) -> None:
    with serving([files / "results", files / "second"]) as visitor:
        shown = visitor.enter().get(page).text
    assert all(words in shown for words in NOTE)
    assert any(words in shown for words in BOUNDS)


@pytest.mark.parametrize("page", ["/", "/r/1"])
def test_the_pages_of_serve_say_that_only_judged_documents_are_measured(page: str, files: Path) -> None:
    with serving([files / "judged"]) as visitor:
        shown = visitor.enter().get(page).text
    assert "judged documents only" in shown
    assert "Judged@10 is" not in shown


@pytest.mark.parametrize("verb", ["compare", "run"])
def test_few_judged_documents_and_ties_of_many_systems_fit_ten_lines(
    verb: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    many = "".join(f'[systems.a-long-name-{at}]\nstage = "bm25"\nk1 = {1 + at / 10}\n' for at in range(8))
    Path("many.toml").write_text(f'dataset = "data"\n{many}')
    Path("data/qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{at}\td{at + 1}\t1\n" for at in range(4)))
    assert main(["run", "many.toml", "--no-cache", "-o", "many"]) == 0
    said = capsys.readouterr().err
    if verb == "compare":
        assert main(["compare", "many"]) == 0
        said = capsys.readouterr().err
    lines = said[said.index("note: ") :].partition("results saved")[0].splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 80
    shown = " ".join(lines)
    assert "Judged@10 is 10%" in shown
    assert main(["compare", "many", "--notes"]) == 0
    assert "the order of ties" in " ".join(capsys.readouterr().err.split())


IN_PYTHON: dict[str, Callable[[], object]] = {
    "evaluate": lambda: rp.evaluate("qrels.txt", "one.run"),
    "compare": lambda: rp.compare("results"),
    "explain": lambda: rp.explain("results"),
    "audit": lambda: rp.audit("results"),
    "segments": lambda: rp.segments("results"),
    "diagnose": lambda: rp.diagnose("results"),
    "baselines": lambda: rp.baselines("results"),
    "gate": lambda: rp.gate("results", thresholds="RR@10>=0"),
    "plot": lambda: rp.plot("results", kind="bars"),
    "results": lambda: rp.load_results("results"),
}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", IN_PYTHON)
def test_every_value_of_python_with_few_judged_documents_says_so(name: str) -> None:
    said = " ".join(str(IN_PYTHON[name]()).split())
    assert "Judged@10 is 10%" in said
    assert "judged_only=True" in said


@pytest.mark.usefixtures("files")
def test_summary_json_says_that_few_documents_are_judged() -> None:
    rp.save_results(rp.load_results("results"), "again")
    notes = json.loads(Path("again/summary.json").read_text())["notes"]
    assert any("Judged@10 is 10%" in note for note in notes)


def test_explain_has_the_notes_of_the_explained_systems_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2 a\nq2 Q0 d1 1 2 a\n")
    (tmp_path / "b.run").write_text("".join(f"{query} Q0 {doc} 1 2 b\n" for query in ("q1", "q2") for doc in ("d1", "d2")))
    files = [str(tmp_path / name) for name in ("qrels.txt", "a.run", "b.run")]
    for options, noted in ((["--system", "a"], False), (["--system", "b"], True), (["--system", "a", "--against", "b"], True)):
        assert main(["explain", *files, "-m", "nDCG@10", "--notes", *options]) == 0
        assert ("order of ties" in " ".join(capsys.readouterr().err.split())) is noted


def test_the_json_of_compare_has_the_notes(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "results", "--format", "json"]) == 0
    notes = " ".join(json.loads(capsys.readouterr().out)["notes"])
    assert all(words in notes for words in NOTE)
