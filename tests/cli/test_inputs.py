"""What every verb of analysis works on: evidence of files, folders and standard input, never overwritten."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from threading import Thread

import pytest

import rankproof as rp
from rankproof._analysis.inputs import checked_system, input_from_results, input_from_runs
from rankproof._cli.main import main
from rankproof._evaluation.options import EvaluateOptions
from rankproof._results.folder import save_results
from support.examples import crossed
from support.small_results import small_results

QUERIES = [f"q{at}" for at in range(12)]
QRELS = {query: {"d1": 1, "d2": 0} for query in QUERIES}
RUN = {query: {"d1": float(at % 3), "d2": 1.0, "d3": 0.5} for at, query in enumerate(QUERIES)}
VERBS: dict[str, list[str]] = {
    "audit": [],
    "baselines": [],
    "compare": [],
    "diagnose": [],
    "doctor": [],
    "explain": [],
    "gate": ["--threshold", "RR>=0"],
    "segments": [],
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Judgements, two runs and a list of queries, in the folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("".join(f"{query} 0 {doc} {grade}\n" for query in QRELS for doc, grade in QRELS[query].items()))
    rows = [(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items()]
    Path("one.run").write_text("".join(f"{query} Q0 {doc} 0 {score} t\n" for query, doc, score in rows))
    Path("two.run").write_text("".join(f"{query} Q0 {doc} 0 {-score} t\n" for query, doc, score in rows))
    Path("ids.txt").write_text("".join(f"{query}\n" for query in QUERIES))
    return tmp_path


@pytest.mark.parametrize(
    ("verb", "output"), crossed(dict.fromkeys(VERBS, ("qrels.txt", "one.run", "./two.run", "link", "ids.txt")))
)
def test_no_verb_overwrites_its_input(verb: str, output: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("link").symlink_to("one.run")
    before = Path(output).read_bytes()
    argv = [verb, "qrels.txt", "one.run", "two.run", *VERBS[verb], "--queries", "ids.txt"]
    assert main([*argv, "-o", output]) == 2
    assert f"{output} would overwrite " in capsys.readouterr().err
    assert Path(output).read_bytes() == before
    assert main([*argv, "-o", "fresh", "--quiet"]) == 0
    assert main([*argv, "-o", "fresh", "--quiet"]) == 0


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_overwrites_a_part_of_a_results_folder(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save_results(small_results(), tmp_path / "results")
    parts = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    assert {os.path.basename(part) for part in parts} >= {"result.json", "qrels.tsv", "bm25.trec.gz"}
    before = [Path(part).read_bytes() for part in parts]
    for part in parts:
        assert main([verb, folder, *VERBS[verb], "-o", part]) == 2
    assert [Path(part).read_bytes() for part in parts] == before
    assert "would overwrite" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["report", "compare", "correlate"])
def test_a_missing_folder_beside_a_results_folder_is_named_with_the_near_one(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_results(small_results(), "week1")
    assert main([verb, "week1", "wek1"]) == 2
    assert "wek1: no such file or folder; is it week1?" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("part", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
@pytest.mark.parametrize(
    "argv", [["doctor", "data"], ["doctor", "--dataset", "data"], ["baselines", "qrels.txt", "one.run", "--dataset", "data"]]
)
def test_no_part_of_a_dataset_is_overwritten(argv: list[str], part: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "data" / "qrels").mkdir(parents=True)
    Path("data/corpus.jsonl").write_text("".join(f'{{"_id": "{doc}", "text": "a b"}}\n' for doc in ("d1", "d2", "d3")))
    Path("data/queries.jsonl").write_text("".join(f'{{"_id": "{query}", "text": "a b"}}\n' for query in QUERIES))
    rows = [f"{query}\t{doc}\t{grade}\n" for query in QRELS for doc, grade in QRELS[query].items()]
    Path("data/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    before = Path("data", part).read_bytes()
    assert main([*argv, "-o", f"data/{part}"]) == 2
    assert f"data/{part} would overwrite data/{part}" in capsys.readouterr().err
    assert Path("data", part).read_bytes() == before
    assert main([*argv, "-o", "data/found.md", "--quiet"]) == 0
    assert main([*argv, "-o", "data/found.md", "--quiet"]) == 0


def test_a_list_of_segments_is_not_overwritten(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("kinds.csv").write_text("q1,a\n")
    assert main(["segments", "qrels.txt", "one.run", "--by-file", "kinds.csv", "-o", "kinds.csv"]) == 2
    assert Path("kinds.csv").read_text() == "q1,a\n"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_reads_a_run_from_standard_input_and_from_a_pipe(
    verb: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(source: str) -> str:
        argv = [verb, "qrels.txt", source, "two.run", "--name", "one", "--name", "two", *VERBS[verb], "--quiet", "-o", "-"]
        assert main(argv) == 0
        lines = capsys.readouterr().out.splitlines()
        text = " ".join(word for line in lines if '"made"' not in line for word in line.split())
        # Standard input cannot be read again, so the command to run next does not name it.
        return re.sub(r"rankproof audit .*? --judge-next", "rankproof audit FILES --judge-next", text)

    plain = said("one.run")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("one.run").read_bytes())))
    assert said("-") == plain
    os.mkfifo("pipe")
    writer = Thread(target=Path("pipe").write_bytes, args=[Path("one.run").read_bytes()])
    writer.start()
    assert said("pipe") == plain
    writer.join()


def test_input_from_runs_holds_the_options_of_the_evaluation() -> None:
    some = {query: RUN[query] for query in QUERIES[:5]}
    options = EvaluateOptions(rel=1, skip_missing=True, queries=QUERIES[:9])
    inputs = input_from_runs(QRELS, {"all": RUN, "some": some}, ["RR"], name="mine", options=options)
    assert (inputs.name, inputs.systems) == ("mine", ("all", "some"))
    assert [one.measures["RR"].queries for one in inputs.result.systems] == [9, 5]
    again = input_from_runs(inputs.qrels, inputs.runs, ["RR"], options=inputs.options)
    assert again.result.means == inputs.result.means
    assert again.qrels_fingerprint == inputs.qrels_fingerprint == rp.Qrels.from_dict(QRELS).fingerprint()
    assert inputs.fingerprint == ""


def test_input_from_results_is_evaluated_again_to_the_same_values() -> None:
    results = small_results()
    inputs = input_from_results(results)
    measures = [str(one.measure) for one in results.result.systems[0].measures.values()]
    again = input_from_runs(inputs.qrels, inputs.runs, measures, options=inputs.options)
    values = [[list(means.values()) for means in result.means.values()] for result in (again.result, results.result)]
    assert values[0] == values[1]
    assert inputs.system_runs == results.system_runs


def test_files_and_folders_skip_missing_queries_where_asked(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from argparse import ArgumentParser

    from rankproof._cli.inputs import add_analysis_options, read_input

    parser = ArgumentParser()
    add_analysis_options(parser)
    folder = save_results(small_results(), files / "results")
    for inputs in (["qrels.txt", "one.run"], [folder]):
        assert read_input(parser.parse_args([*inputs, "--skip-missing", "-m", "RR"])).options.skip_missing
        assert not read_input(parser.parse_args([*inputs, "-m", "RR"])).options.skip_missing


def test_an_unknown_system_is_refused_with_the_known_ones() -> None:
    inputs = input_from_runs(QRELS, {"one": RUN, "two": RUN}, ["RR"])
    assert checked_system(inputs, "two") == "two"
    with pytest.raises(rp.errors.UsageError, match=r"no system is called t\\x1b; choose from: one, two"):
        checked_system(inputs, "t\x1b")
