"""`rankproof tune` on run files and experiment files, in process."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._experiment.config_read import read_experiment

QUERIES = 60


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Judgements and two runs: the first finds the relevant document well, the second badly."""
    noise = random.Random(1)
    qrels, good, bad = tmp_path / "qrels.txt", tmp_path / "good.run", tmp_path / "bad.run"
    qrels.write_text("".join(f"q{at} 0 d{at % 10} 1\n" for at in range(QUERIES)))
    for path, spread in ((good, 0.4), (bad, 8.0)):
        rows = [(at, doc, (doc == at % 10) + noise.gauss(0, spread)) for at in range(QUERIES) for doc in range(10)]
        path.write_text("".join(f"q{at} Q0 d{doc} 0 {score:.6f} {path.stem}\n" for at, doc, score in rows))
    return [str(qrels), str(good), str(bad)]


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    path = tmp_path / "experiment.toml"
    path.write_text('dataset = "sample"\n[systems.bm25]\nstage = "bm25"\n[systems.title]\nstage = "bm25"\nfields = ["title"]\n')
    return str(path)


def output(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> str:
    assert main(["tune", *argv]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_a_bad_run_gets_less_weight_and_the_gain_is_said_first(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, *files, "-m", "RR")
    assert text.splitlines()[2].startswith("Tuning pays: +0.")
    assert "optimism" in text
    assert "best single run, held-out queries" in text
    assert "each fold is measured with the run that is best on the other folds" in " ".join(text.split())


def test_json_has_the_gain_the_parameters_and_every_trial(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, *files, "-m", "RR", "--vary", "k=10,60", "--format", "json")
    tables = {table["name"]: table for table in json.loads(text)["tables"]}
    assert len(tables["trials"]["rows"]) == tables["gain"]["facts"]["trials"] == 2 * 11 + 1
    assert tables["gain"]["facts"]["chosen"]["weights"][0] > 0.5


def test_the_same_command_prints_the_same_and_another_seed_splits_otherwise(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, again = (output(capsys, *files, "--format", "json") for _ in range(2))
    assert first == again
    assert output(capsys, *files, "--format", "json", "--seed", "1") != first


def test_trials_are_written_as_csv_and_json(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("trials.csv", "trials.json"):
        output(capsys, *files, "--step", "0.5", "--trials", str(tmp_path / name))
    rows = list(csv.DictReader((tmp_path / "trials.csv").read_text().splitlines()))
    table = json.loads((tmp_path / "trials.json").read_text())["tables"][0]
    assert len(rows) == len(table["rows"]) == 12 * 3 + 1


def test_a_dry_run_says_how_many_trials_there_are(files: list[str], experiment: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, *files, "--dry-run") == "133 trials, 5 folds x 10 repeats\n"
    text = output(capsys, "--config", experiment, "--system", "bm25", "--vary", "k1=1,2", "--dry-run", "--search", "coordinate")
    assert text.startswith("at most 3 trials")


def test_a_system_of_an_experiment_is_tuned_and_written(
    experiment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tuned = tmp_path / "tuned.toml"
    text = output(capsys, "--config", experiment, "--system", "bm25", "--vary", "b=0,0.75", "-m", "nDCG@10", "-o", str(tuned))
    assert "2 trials" in text
    assert tuned.read_text().startswith("# ")
    assert list(read_experiment(tuned).systems) == ["bm25", "bm25-tuned"]
    assert main(["run", str(tuned), "--no-report", "-o", str(tmp_path / "results")]) == 0


def test_tuned_runs_are_written_with_their_dataset(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "queries.jsonl").write_text("".join(f'{{"_id": "q{at}", "text": "query {at}"}}\n' for at in range(QUERIES)))
    (folder / "qrels.tsv").write_text("query\tdoc\tgrade\n" + "".join(f"q{at}\td{at % 10}\t1\n" for at in range(QUERIES)))
    tuned = tmp_path / "tuned.toml"
    output(capsys, *files, "--step", "0.5", "--dataset", str(folder), "-o", str(tuned))
    assert list(read_experiment(tuned).systems) == ["default", "tuned", "good", "bad"]
    assert main(["run", str(tuned), "--no-report", "-o", str(tmp_path / "results")]) == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["{qrels}", "{good}"], "there are fewer than two runs"),
        (["{qrels}", "{good}", "{bad}", "--method", "rff"], "no fusion method is called rff"),
        (["{qrels}", "{good}", "{bad}", "--norm", "l2"], "no normalisation is called l2"),
        (["{qrels}", "{good}", "{bad}", "-m", "NumRet"], "cannot choose settings"),
        (["{qrels}", "{good}", "{bad}", "-m", "RR", "-m", "AP"], "one measure chooses the settings"),
        (["{qrels}", "{good}", "{bad}", "--folds", "31"], "60 judged queries are too few for 31 folds; lower --folds to 30"),
        (["{qrels}", "{good}", "{bad}", "--vary", "gamma=1"], "no parameter gamma"),
        (["{qrels}", "{good}", "{bad}", "--vary", "k="], "--vary k= has no values"),
        (["{qrels}", "{good}", "{bad}", "-o", "tuned.toml"], "name their dataset with --dataset"),
        (["{qrels}", "{good}", "{bad}", "--step", "0.3"], "step is 0.3"),
        (["{qrels}", "{good}", "{bad}", "--system", "bm25"], "--system is for a system of an experiment file"),
        (["{qrels}", "{good}", "{bad}", "--skip-missing"], "--skip-missing is not used"),
        (["{qrels}", "{good}", "{bad}", "--compat", "trec_eval-9"], "--compat is not used"),
        (["{qrels}", "{good}", "{other}"], "no query"),
        (["{qrels}", "{good}", "{bad}", "--order", "rank", "--method", "combsum"], "combsum uses scores"),
        (["{qrels}", "{good}", "{bad}", "--trials", "no-folder/trials.csv"], "is in a folder that does not exist"),
        (["--config", "{experiment}"], "the experiment has several systems; choose one with --system: bm25, title"),
        (["--config", "{experiment}", "--system", "bm25", "--method", "rrf"], "--method is not used with --config"),
        (["{qrels}", "--config", "{experiment}"], "run files are not used with --config"),
        (["{qrels}", "{good}", "{bad}", "-m", "Success@100"], "is the same for all"),
        (["{qrels}", "{good}", "{bad}", "-o", "{good}", "--dataset", "sample"], "would overwrite"),
    ],
)
def test_wrong_input_is_refused_with_a_fix(
    argv: list[str], message: str, files: list[str], experiment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Path(experiment).with_name("other.run")
    other.write_text("x1 Q0 d1 1 2 other\nx1 Q0 d2 2 1 other\n")
    named = dict(zip(("qrels", "good", "bad"), files, strict=True), experiment=experiment, other=other)
    error = output(capsys, *(one.format(**named) for one in argv), code=2)
    assert message in " ".join(error.split())
