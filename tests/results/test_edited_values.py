"""A results folder whose result.json has a number that its files do not give is refused by every verb."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._cli.parser import COMMANDS, command_named
from rankproof._evaluation.notes import Note
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, save_results
from rankproof.errors import InputError
from support.answering_results import answering_results
from support.result_files import write_result_file
from support.results_server import serving
from support.small_results import small_results

Steps = tuple[str | int, ...]
OPTIONS: dict[str, list[str]] = {
    "gate": ["--threshold", "RR@10>=0", "--save", "base.json"],
    "report": ["-o", "page.html"],
    "plot": ["-o", "plots"],
    "export": ["-o", "out.csv"],
}
"""The options that a verb needs besides its results folder."""
OF_A_FOLDER = [
    name
    for name in COMMANDS
    if "RESULTS" in command_named(name).usage and name not in ("serve", "judge", "stability", "online", "prefer")
]
"""The verbs that read a results folder. `serve`, `judge` and `stability` have their own tests; two read other files."""


def edit(folder: Path, steps: Steps, value: Any, *, by_program: bool = False) -> None:
    document = json.loads((folder / "result.json").read_text())
    inner = document
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    if by_program:
        write_result_file(folder / "result.json", document)
    else:
        (folder / "result.json").write_text(json.dumps(document))


def saved(results: ExperimentResult, path: Path) -> Path:
    return Path(save_results(results, path))


VALUE: Steps = ("systems", 1, "measures", "nDCG@10", "value")


def test_a_verb_reads_a_results_folder_if_its_usage_says_so() -> None:
    without_options = {"compare", "doctor", "explain", "audit", "segments", "diagnose", "baselines", "answers"}
    assert {*OPTIONS, *without_options} <= set(OF_A_FOLDER)


@pytest.mark.parametrize("verb", OF_A_FOLDER)
def test_every_verb_refuses_an_edited_value(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = saved(answering_results(), tmp_path / "results")
    assert main([verb, "results", *OPTIONS.get(verb, [])]) == 0, f"add the options that {verb} needs to OPTIONS"
    capsys.readouterr()
    edit(folder, VALUE, 0.9999)
    assert main([verb, "results", *OPTIONS.get(verb, [])]) == 2
    shown = capsys.readouterr()
    given = load_results_value(tmp_path)
    what = f"result.json: systems[1].measures.nDCG@10.value is 0.9999, but the files of the folder give {given!r}"
    assert what in shown.err
    assert shown.err.endswith("; restore the original file, or run the experiment again\n")
    assert "0.9999" not in shown.out


def load_results_value(tmp_path: Path) -> float:
    return load_results(saved(answering_results(), tmp_path / "again")).result.value("nDCG@10", "says")


def test_judge_refuses_an_edited_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = saved(small_results(), tmp_path / "results")
    edit(folder, VALUE, 0.9999)
    assert main(["judge", "sample", "--results", str(folder), "--model", "none"]) == 2
    assert "nDCG@10.value is 0.9999, but" in capsys.readouterr().err


def test_stability_refuses_an_edited_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = saved(small_results(), tmp_path / "results")
    edit(folder, VALUE, 0.9999)
    assert main(["stability", str(folder)]) == 2
    assert "nDCG@10.value is 0.9999, but" in capsys.readouterr().err


def test_serve_lists_the_folder_with_the_reason_and_shows_no_value_of_it(tmp_path: Path) -> None:
    edit(saved(small_results(), tmp_path / "results"), VALUE, 0.9999)
    with serving([tmp_path]) as visitor:
        visitor.enter()
        pages = [visitor.get("/"), visitor.get("/r/1")]
        assert [page.status for page in pages] == [200, 422]
        assert all("nDCG@10.value is 0.9999, but the files of the folder give" in page.text for page in pages)


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        (("queries",), 4),
        (("judged_ids", 0), "q2"),
        (("systems", 0, "measures", "RR@10", "per_query", "q3"), 0.25),
        (("systems", 0, "measures", "RR@10", "queries"), 2),
        (("systems", 0, "measures", "RR@10", "summary"), "sum"),
        (("systems", 1, "gain_pp", "RR@10"), 1.5),
        (("systems", 1, "times_ms", "total", "p95"), 0.001),
        (("systems", 1, "counts", "calls", "sum"), 1),
        (("answers", "systems", 0, "measures", "EM", "value"), 1.0),
        (("answers", "systems", 0, "measures", "EM", "per_query", "q1"), 1.0),
        (("chunks", 0, "measures", "nDCG@10", "value"), 0.9999),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_every_number_that_follows_from_the_files_is_checked(steps: Steps, value: Any, tmp_path: Path) -> None:
    results = answering_results()
    folder = saved(replace(results, chunks=results.result), tmp_path / "results")
    edit(folder, steps, value)
    with pytest.raises(InputError, match=r"result\.json: .*, but the files of the folder give "):
        load_results(folder)


def test_a_difference_in_the_last_bits_is_accepted(tmp_path: Path) -> None:
    folder = saved(small_results(), tmp_path / "results")
    value = json.loads((folder / "result.json").read_text())["systems"][1]["measures"]["nDCG@10"]["value"]
    edit(folder, VALUE, float(np.nextafter(value, 2)), by_program=True)
    assert load_results(folder).result.value("nDCG@10", "dense") == value


@pytest.mark.parametrize("notes", [[], [{"code": "own", "count": 1, "text": "a note"}]])
def test_a_note_that_the_files_give_cannot_be_removed(notes: Sequence[Any], tmp_path: Path) -> None:
    results = small_results(scores={"bm25": {"q1": {"d1": 1.0}}})
    folder = saved(results, tmp_path / "results")
    edit(folder, ("systems", 0, "notes"), notes, by_program=True)
    given = results.result.notes["bm25"]
    assert given
    assert load_results(folder).result.notes["bm25"] == (*(Note(**note) for note in notes), *given)


@pytest.mark.parametrize("name", ["summary.csv", "per_query.csv", "summary.json", "answers.csv", "answers.json", "report.html"])
def test_an_edit_of_a_file_that_is_only_written_changes_nothing(name: str, tmp_path: Path) -> None:
    rp.save_results(answering_results(), tmp_path / "out")
    (tmp_path / "out" / "report.html").touch()
    before = load_results(tmp_path / "out").result.means
    (tmp_path / "out" / name).write_text("edited")
    assert load_results(tmp_path / "out").result.means == before


@pytest.mark.parametrize("name", ["qrels.tsv", "queries.jsonl", "snippets.jsonl", "experiment.toml", "answers.jsonl"])
def test_an_edit_of_a_file_that_is_read_is_refused(name: str, tmp_path: Path) -> None:
    rp.save_results(answering_results(), tmp_path / "out")
    path = tmp_path / "out" / name
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(InputError, match="the file was changed after the results were written"):
        load_results(tmp_path / "out")
