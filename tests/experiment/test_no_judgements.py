"""Runs without judgements, and runs that take judgements from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._formats.read import write_folder
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, save_results
from rankproof.errors import InputError, RankproofError, UsageError
from rankproof.stages import BM25, ExtractAnswer
from support.small_datasets import small_dataset

SYSTEMS = {"bm25": BM25(), "title": BM25(fields=("title",))}


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    given = small_dataset()
    write_folder(Dataset("raw", given.corpus, given.queries, Qrels({})), str(tmp_path / "raw"))
    return tmp_path / "raw"


def ranked(results: ExperimentResult) -> list[list[str]]:
    return [list(one.run.docs) for one in results.system_runs]


def test_rankings_without_judgements_are_saved_and_loaded(raw: Path, tmp_path: Path) -> None:
    results = run_experiment(Experiment(SYSTEMS, raw), RunOptions(cache=None))
    assert (results.is_judged, len(results.queries), results.result.queries) == (False, 4, ())
    save_results(results, tmp_path / "out")
    loaded = load_results(tmp_path / "out")
    assert ranked(loaded) == ranked(results)
    assert not (tmp_path / "out" / "qrels.tsv").exists()
    save_results(loaded, tmp_path / "again")
    assert (tmp_path / "again" / "result.json").read_bytes() == (tmp_path / "out" / "result.json").read_bytes()


def test_run_shows_times_lengths_and_overlap_and_ends_with_the_next_commands(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--dataset", "raw", "--systems", "bm25,bm25-title", "-o", "my out", "--no-cache"]) == 0
    shown, said = capsys.readouterr()
    assert "4 queries without judgements" in shown
    assert "RBO" in shown
    assert said.splitlines()[-2:] == [
        "  rankproof judge 'my out' --model gpt-4o-mini  # by a language model; names the leader by this judge",
        "  rankproof serve 'my out' --judge  # by yourself, in the browser",
    ]
    assert "Rankings without judgements" in (tmp_path / "my out" / "report.html").read_text()


@pytest.mark.parametrize("format", ["json", "csv", "markdown"])
def test_every_format_shows_a_run_without_judgements(
    format: str, raw: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = [
        "run",
        "--dataset",
        str(raw),
        "--systems",
        "bm25,bm25-title",
        "-o",
        str(tmp_path / "out"),
        "--no-cache",
        "--no-report",
    ]
    assert main([*asked, "--format", format]) == 0
    shown = capsys.readouterr().out
    if format == "json":
        assert [row["other"] for row in json.loads(shown)["overlap"]] == ["bm25"]
    else:
        assert "bm25-title" in shown


@pytest.mark.parametrize(
    "verb", ["compare", "audit", "diagnose", "segments", "baselines", "explain", "gate", "export", "doctor", "plot"]
)
def test_an_analysis_that_needs_judgements_says_how_to_get_them(
    verb: str, raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_results(run_experiment(Experiment(SYSTEMS, raw), RunOptions(cache=None)), tmp_path / "out")
    option = {"plot": "-o", "gate": "--save"}.get(verb)
    output = [] if option is None else [option, str(tmp_path / "file.svg")]
    assert main([verb, str(tmp_path / "out"), *output]) == 2
    said = capsys.readouterr().err
    assert "the results of experiment have no judgements; grade the rankings: `rankproof judge RESULTS --model NAME`" in said


def test_answers_are_measured_without_judgements_of_documents(tmp_path: Path) -> None:
    given = small_dataset()
    queries = Queries(Query(one.id, one.text, fields={"answers": ["pectin"]}) for one in given.queries.values())
    dataset = Dataset("log", given.corpus, queries, Qrels({}))
    results = run_experiment(Experiment({"says": ExtractAnswer(BM25())}, dataset), RunOptions(cache=None))
    assert results.answers is not None
    assert len(results.answers.queries) == 4
    save_results(results, tmp_path / "out")
    assert main(["answers", str(tmp_path / "out")]) == 0
    assert main(["report", str(tmp_path / "out")]) == 0


def test_new_judgements_are_measured_without_computing_anything_again(raw: Path, tmp_path: Path) -> None:
    options = RunOptions(cache=tmp_path / "cache")
    before = run_experiment(Experiment(SYSTEMS, raw), options)
    (tmp_path / "people.qrels").write_text("q3 human:ann@2026-01-01T00:00:00Z knife 2\nq3 human:bo@2026-01-01T00:00:00Z jam 0\n")
    (tmp_path / "model.qrels").write_text("q1 llm:m:1 hob 3\nq3 llm:m:1 knife 3\nq3 llm:m:1 jam 0\n")
    files = [tmp_path / "model.qrels", tmp_path / "people.qrels"]
    after = run_experiment(Experiment(SYSTEMS, raw, qrels=files), options)
    assert all(one.from_cache for one in after.system_runs)
    assert ranked(after) == ranked(before)
    assert after.fingerprint == before.fingerprint
    assert set(after.result.queries) == {"q1", "q3"}
    assert {query: dict(docs) for query, docs in after.qrels.items()} == {"q3": {"knife": 2, "jam": 0}, "q1": {"hob": 3}}
    assert after.provenance["judgements"] == {
        "people": {"ann": 1, "bo": 1},
        "machines": {"llm:m:1": 1},
        "agreement": {"pairs": 2, "same_grade": 0.5, "kappa": 1.0},
    }
    assert after.notes[:2] == (
        "2 queries have no judgement and no part in the measures",
        "2 pairs have grades of people and of machines, and the person's grade counts: 50% of them are equal, and Cohen's kappa"
        " of relevant or not is 1.000",
    )


def test_judgements_of_python_are_measured_too(raw: Path) -> None:
    results = run_experiment(Experiment(SYSTEMS, raw, qrels=Qrels({"q1": {"hob": 1}})), RunOptions(cache=None))
    assert results.result.queries == ("q1",)
    assert 'qrels = ["python:qrels"]' in results.experiment


def test_two_grades_of_people_for_one_pair_need_a_rule(raw: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.qrels", "b.qrels")]
    for grade, file in enumerate(files):
        file.write_text(f"q1 0 hob {grade}\n")
    with pytest.raises(InputError, match="document hob has two grades for query q1"):
        run_experiment(Experiment(SYSTEMS, raw, qrels=files), RunOptions(cache=None))
    results = run_experiment(Experiment(SYSTEMS, raw, qrels=files, on_conflict="max"), RunOptions(cache=None))
    assert dict(results.qrels["q1"]) == {"hob": 1}
    assert "1 pair has two grades; the highest is kept (--on-conflict)" in results.notes


def test_judgements_of_three_columns_are_refused_with_the_command_that_converts_them(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("q1 hob 1\n")
    with pytest.raises(InputError, match=r"a\.qrels:1: 3 columns .*; .* first: rankproof convert IN OUT --from beir$"):
        run_experiment(Experiment(SYSTEMS, raw, qrels=tmp_path / "a.qrels"), RunOptions(cache=None))


def test_judgements_of_another_dataset_are_refused(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "other.qrels").write_text("x 0 hob 1\n")
    with pytest.raises(InputError, match=r"other\.qrels: no judged query is among the queries"):
        run_experiment(Experiment(SYSTEMS, raw, qrels=tmp_path / "other.qrels"), RunOptions(cache=None))
    with pytest.raises(UsageError, match="qrels is an int; give the path"):
        Experiment(SYSTEMS, raw, qrels=[3])  # type: ignore[list-item]


def test_an_experiment_file_names_judgements_relative_to_itself(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "my.qrels").write_text("q1 0 hob 1\n")
    file = tmp_path / "experiment.toml"
    file.write_text('dataset = "raw"\nqrels = "my.qrels"\n[systems.bm25]\nstage = "bm25"\n')
    results = rp.run(file, RunOptions(cache=None))
    assert results.result.queries == ("q1",)
    assert f'qrels = ["{tmp_path / "my.qrels"}"]' in results.experiment
    file.write_text('dataset = "raw"\nqrels = ["no.qrels"]\n[systems.bm25]\nstage = "bm25"\n')
    with pytest.raises(RankproofError, match=r"experiment\.toml:2: file of judgements not found: no\.qrels; specify a path"):
        rp.read_experiment(file)


def test_a_sample_of_unjudged_queries_is_of_all_queries(raw: Path) -> None:
    results = run_experiment(Experiment(SYSTEMS, raw, limit=2), RunOptions(cache=None))
    assert len(results.queries) == 2


def test_a_results_folder_without_its_judgements_is_damaged(tmp_path: Path) -> None:
    results = run_experiment(Experiment(SYSTEMS, small_dataset()), RunOptions(cache=None))
    save_results(results, tmp_path / "out")
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    del document["sha256"]["qrels.tsv"]
    (tmp_path / "out" / "result.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"sha256\.qrels\.tsv is missing; the file is damaged"):
        load_results(tmp_path / "out")
