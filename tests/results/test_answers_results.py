"""Answers that were made elsewhere as results: saved and loaded without rankings, with their contexts and claims."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._data.answers import Answer, Answers
from rankproof._data.claims import Calibration, JudgeNoise
from rankproof._render.mlflow import mlflow_runs
from rankproof._results.folder import load_results, save_results
from rankproof.errors import InputError
from support.claim_results import ANSWERS, CONTEXTS, claim_results, claim_verdicts
from support.paths import DOCS


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return Path(save_results(claim_results(), tmp_path / "out"))


def test_answers_claims_and_contexts_are_loaded_as_they_were_saved(saved: Path) -> None:
    again = load_results(saved)
    assert again.claims == claim_verdicts()
    assert again.contexts == CONTEXTS
    assert [system_run.answers for system_run in again.system_runs] == list(ANSWERS.values())
    assert not again.is_judged
    assert again.answers is not None
    expected = claim_results().answers
    assert expected is not None
    assert again.answers.means == expected.means


def test_the_agreement_with_people_and_the_noise_of_a_judge_are_kept(tmp_path: Path) -> None:
    results = claim_results()
    assert results.answers is not None
    calibrations = (Calibration("llm:tiny:1", "answer-contexts", 9, 4, 0.75, (0.5, 0.9), None, None, 0.5, (0.25, 0.75)),)
    noise = (JudgeNoise("llm:tiny:1", "Faithfulness(judge='tiny')", 30, 3, 0.125, 0.25, None),)
    known = replace(results, answers=replace(results.answers, calibrations=calibrations, noise=noise))
    again = load_results(save_results(known, tmp_path / "known")).answers
    assert again is not None
    assert (again.calibrations, again.noise) == (calibrations, noise)


def test_saving_what_was_loaded_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    save_results(load_results(saved), tmp_path / "again")
    names = sorted(path.name for path in saved.iterdir() if path.is_file())
    assert {"claims.jsonl", "contexts.jsonl", "answers.jsonl"} <= set(names)
    assert [name for name in names if (saved / name).read_bytes() != (tmp_path / "again" / name).read_bytes()] == []


def test_two_logs_of_the_same_questions_have_the_same_fingerprint() -> None:
    one = claim_results({"open": ANSWERS["open"]})
    assert one.fingerprint == claim_results().fingerprint


@pytest.mark.parametrize("name", ["claims.jsonl", "contexts.jsonl"])
def test_a_changed_file_is_refused(saved: Path, name: str) -> None:
    (saved / name).write_text((saved / name).read_text().replace("Oslo", "Rome"))
    with pytest.raises(InputError, match=f"{name}: the file was changed after the results were written"):
        load_results(saved)


def test_contexts_that_are_not_known_stay_unknown(tmp_path: Path) -> None:
    unknown = Answers({"q1": Answer("Oslo"), "q2": Answer("", state="failed")})
    empty = Answers({"q1": Answer("Oslo", given=()), "q2": Answer("", given=())})
    save_results(claim_results({"unknown": unknown, "empty": empty}), tmp_path / "out")
    lines = [json.loads(line) for line in (tmp_path / "out" / "answers.jsonl").read_text().splitlines()]
    assert [line["given"] for line in lines] == [None, None, [], []]
    known = {one.name: one.answers and one.answers.given_known for one in load_results(tmp_path / "out").system_runs}
    assert known == {"unknown": False, "empty": True}


def test_the_page_of_the_folder_names_every_key_of_claims_and_contexts(saved: Path) -> None:
    page = (DOCS / "results-folder.md").read_text(encoding="utf-8")
    lines = [json.loads(line) for name in ("claims", "contexts") for line in (saved / f"{name}.jsonl").read_text().splitlines()]
    keys = {key for line in lines for key in line} | {"score", "reference", "shown", "importance"}
    assert [key for key in keys if f"`{key}`" not in page] == []


@pytest.mark.parametrize("verb", ["compare", "answers"])
def test_saved_answers_are_compared_although_no_system_has_a_ranking(
    tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save_results(claim_results(measures=["Faithfulness"]), tmp_path / "out")
    assert main([verb, folder, "-m", "Faithfulness"]) == 0
    shown = capsys.readouterr()
    assert "retrieved" not in shown.out + shown.err
    assert "open" in shown.out


def test_exports_have_the_values_and_why_questions_have_none(tmp_path: Path) -> None:
    folder = save_results(claim_results(measures=["Faithfulness(judge='tiny')", "AbstainP"]), tmp_path / "out")
    assert main(["export", folder, "-o", str(tmp_path / "values.csv")]) == 0
    lines = (tmp_path / "values.csv").read_text(encoding="utf-8").splitlines()
    name = "\"Faithfulness(judge='tiny')"
    assert f'system,answers,short,,{name}",{2 / 3!r}' in lines
    assert f'system,count,short,,{name} n",3.0' in lines
    assert f'system,count,short,,{name} failed",1.0' in lines
    assert not [line for line in lines if line.startswith("system,answers,short,,AbstainP")]
    assert not [line for line in lines if "nan" in line]
    (metrics,) = [run.metrics for run in mlflow_runs(load_results(folder)) if run.system == "short"]
    known = {key: value for key, value in metrics.items() if "failed" in key or key.endswith(" n")}
    assert sorted(known.values()) == [0.0, 1.0, 3.0]
    summary = json.loads((tmp_path / "out" / "answers.json").read_text(encoding="utf-8"))["systems"][1]["answers"]
    assert summary["Faithfulness(judge='tiny')"] == {"mean": 2 / 3, "n": 3, "counts": {"failed": 1}, "bounds": [0.5, 0.75]}


@pytest.mark.parametrize(
    ("key", "value"),
    [("value", 0.9), ("queries", 4), ("counts", {"failed": 0}), ("bounds", [0.0, 1.0]), ("per_query", {"q1": 0.5})],
)
def test_an_edited_value_of_claims_is_noticed_without_asking_a_judge(tmp_path: Path, key: str, value: object) -> None:
    folder = Path(save_results(claim_results(measures=["Faithfulness(judge='tiny')"]), tmp_path / "out"))
    document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    document["answers"]["systems"][1]["measures"]["Faithfulness(judge='tiny')"][key] = value
    (folder / "result.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=rf"answers.systems\[1\].measures.*{key}.*but the files of the folder give"):
        load_results(folder)
