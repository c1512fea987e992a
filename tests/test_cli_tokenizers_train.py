"""`rankproof tokenizers train`: a tiny encoder that learns on the processor, kept checkpoints, options that are refused."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof.cli.dataset import read_named
from rankproof.cli.main import main
from rankproof.lab.lessons.holdout import relevant_of
from rankproof.stages.passages import passages

HELD = ("--split", "test", "--holdout", "0.5")
SMALL = ("--width", "32", "--depth", "2", "--parameters", "30000", "--batch", "8", "--characters", "64", "--crops", "2")
LEARNING = ("--width", "64", "--depth", "2", "--parameters", "110000", "--batch", "32", "--characters", "160")
CPU = ("--device", "cpu", "--threads", "1")


def train(folder: Path, *more: str) -> int:
    return main(["tokenizers", "train", "sample", *HELD, *CPU, "-o", str(folder), *more])


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch", reason="the extra torch is not installed")


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder that is trained for some seconds."""
    pytest.importorskip("torch", reason="the extra torch is not installed")
    folder = tmp_path_factory.mktemp("trials")
    told = ("--kinds", "wordpiece-1000", "--repeats", "1", "--steps", "120", "--learning-rate", "0.004", "--quiet")
    assert train(folder, *LEARNING, *told) == 0
    return folder


def test_the_loss_falls(learned: Path) -> None:
    rows = list(csv.DictReader((learned / "training.csv").read_text().splitlines()))
    assert {(row["kind"], row["seed"]) for row in rows} == {("wordpiece-1000", "1")}
    assert float(rows[0]["loss"]) > 3
    assert float(rows[-1]["loss"]) < 1.5


def test_recall_on_held_out_queries_is_far_above_chance(learned: Path) -> None:
    from rankproof.models.trial.checkpoint import open_checkpoint
    from rankproof.models.trial.model import Trial

    sample = read_named("sample")
    taught = set(open_checkpoint(learned / "wordpiece-1000-1").card["data"]["queries"])
    held = {query: docs for query, docs in relevant_of(sample.qrels).items() if query not in taught}
    found = recalls(Trial(str(learned / "wordpiece-1000-1")).load(threads=1), sample, held)
    chance = 10 / len(sample.corpus)
    assert len(held) > 40
    assert found.mean() > 5 * chance
    assert (found.mean() - chance) / (found.std(ddof=1) / np.sqrt(len(found))) > 3


def recalls(encoder: Any, sample: Any, held: dict[str, frozenset[str]]) -> Any:
    """Recall@10 of each query."""
    texts = passages(sample.corpus, ("title", "text"))
    docs = list(texts)
    rows = encoder.encode([sample.queries[query].text for query in held]) @ encoder.encode(list(texts.values())).T
    best = [[docs[at] for at in np.argsort(-row)[:10]] for row in rows]
    return np.array([len(set(top) & held[query]) / len(held[query]) for query, top in zip(held, best, strict=True)])


def test_every_kind_is_trained_and_none_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = (*SMALL, "--steps", "2", "--repeats", "2", "--kinds")
    assert train(tmp_path, *told, "bytes-4") == 0
    assert "bytes-4-2: step 2 of 2, loss" in capsys.readouterr().err
    before = (tmp_path / "bytes-4-1" / "trial.json").stat().st_mtime_ns
    assert train(tmp_path, *told, "bytes-4,bpe-300") == 0
    shown = capsys.readouterr()
    assert "bytes-4-1: step" not in shown.err
    assert "bpe-300-2: step 2 of 2" in shown.err
    assert (tmp_path / "bytes-4-1" / "trial.json").stat().st_mtime_ns == before
    assert shown.out.count("bpe-300") >= 2
    rows = list(csv.DictReader((tmp_path / "training.csv").read_text().splitlines()))
    assert len({(row["kind"], row["seed"]) for row in rows}) == 4


def test_a_folder_of_another_recipe_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = (*SMALL, "--repeats", "1", "--kinds", "bytes-4")
    assert train(tmp_path, *told, "--steps", "0") == 0
    assert train(tmp_path, *told, "--steps", "1") == 2
    assert "was trained by another recipe or on other data; name another folder" in capsys.readouterr().err
    assert train(tmp_path, *told, "--steps", "0", "--crops", "3") == 2
    assert "has lessons of other data or another recipe" in capsys.readouterr().err


def test_lessons_made_on_one_machine_are_taught_on_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *SMALL, "--lessons-only") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["lessons.json.gz"]
    monkeypatch.setattr("rankproof.lab.lessons.teach.hard_negatives", None)
    assert train(tmp_path, *SMALL, "--steps", "1", "--repeats", "1", "--kinds", "bytes-4") == 0
    assert (tmp_path / "bytes-4-1" / "model.safetensors").is_file()


def test_an_interrupt_leaves_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rankproof.cli import training_progress

    def stop(self: Any, step: int, steps: int, loss: float, rate: float) -> None:
        if self._name == "bytes-4-2":
            raise KeyboardInterrupt

    monkeypatch.setattr(training_progress.TrainingProgress, "__call__", stop)
    assert train(tmp_path, *SMALL, "--steps", "1", "--repeats", "3", "--kinds", "bytes-4") == 130
    assert "finished checkpoints are kept" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bytes-4-1", "lessons.json.gz", "training.csv"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--kinds", "letters"), "no tokenizer is called letters"),
        (("--store", "memory"), "--store is an option of tokenizers compare"),
        (("--typos", "1"), "--typos is an option of tokenizers compare"),
        (("--holdout", "0.99"), "holdout is 0.99"),
        (("--languages", "de"), "no language de"),
        (("--width", "30"), "width 30"),
        (("--parameters", "1000", "--kinds", "bpe-4000", "--crops", "1", "--steps", "1"), "parameters"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: tuple[str, ...], said: str
) -> None:
    assert train(tmp_path / "out", *wrong) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("out/*/"))


def test_options_of_train_are_refused_by_compare(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokenizers", "compare", "sample", "--kinds", "bytes"]) == 2
    assert "--kinds is an option of tokenizers train; leave it out of tokenizers compare" in capsys.readouterr().err


def test_a_folder_is_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["tokenizers", "train", "sample", *HELD]) == 2
    assert "name one with -o" in capsys.readouterr().err
    (tmp_path / "file").write_text("x")
    assert train(tmp_path / "file") == 2
    assert "cannot be made" in capsys.readouterr().err
