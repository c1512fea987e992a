"""`rankproof tokenizers train`: a tiny encoder that learns on the processor, kept checkpoints, options that are refused."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof._cli.main import main
from rankproof._cli.options import read_dataset_or_sample
from rankproof._cli.terminal import Terminal
from rankproof._formats.read import write_folder
from rankproof._tokenizer_lab.splits import relevant_documents
from rankproof._tokenizer_lab.training_config import TrainingConfig
from rankproof.errors import UsageError
from rankproof.stages._fields import passage_texts

pytestmark = pytest.mark.torch

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
    told = ("--tokenizers", "wordpiece-1000", "--repeats", "1", "--steps", "120", "--learning-rate", "0.004", "--quiet")
    assert train(folder, *LEARNING, *told) == 0
    return folder


@pytest.mark.parametrize(
    ("setting", "value", "range_"),
    [("temperature", 20.0, "a number from 0.001 to 10"), ("width", 0, "a whole number from 1 to 8,192")],
)
def test_a_setting_out_of_range_has_one_sentence_for_the_flag_and_in_python(
    setting: str, value: Any, range_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, f"--{setting}", str(value)) == 2
    assert capsys.readouterr().err == f"--{setting} is {value}; choose {range_}\n"
    with pytest.raises(UsageError, match=f"^{setting} is {value}; choose {range_}$"):
        TrainingConfig(**{setting: value})


def test_the_loss_falls(learned: Path) -> None:
    rows = list(csv.DictReader((learned / "training.csv").read_text().splitlines()))
    assert {(row["kind"], row["seed"]) for row in rows} == {("wordpiece-1000", "1")}
    assert float(rows[0]["loss"]) > 3
    assert float(rows[-1]["loss"]) < 1.5


def test_recall_on_held_out_queries_is_far_above_chance(learned: Path) -> None:
    from rankproof.models._trained.checkpoint import TrainedEncoder, open_checkpoint

    sample = read_dataset_or_sample("sample")
    taught = set(open_checkpoint(learned / "wordpiece-1000-1").metadata["data"]["queries"])
    held = {query: docs for query, docs in relevant_documents(sample.qrels).items() if query not in taught}
    found = recalls(TrainedEncoder(str(learned / "wordpiece-1000-1")).load(threads=1), sample, held)
    chance = 10 / len(sample.corpus)
    assert len(held) > 40
    assert found.mean() > 5 * chance
    assert (found.mean() - chance) / (found.std(ddof=1) / np.sqrt(len(found))) > 3


def recalls(encoder: Any, sample: Any, held: dict[str, frozenset[str]]) -> Any:
    """Recall@10 of each query."""
    texts = passage_texts(sample.corpus, ("title", "text"))
    docs = list(texts)
    rows = encoder.encode([sample.queries[query].text for query in held]) @ encoder.encode(list(texts.values())).T
    best = [[docs[at] for at in np.argsort(-row)[:10]] for row in rows]
    return np.array([len(set(top) & held[query]) / len(held[query]) for query, top in zip(held, best, strict=True)])


def test_a_finished_training_is_not_trained_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = (*SMALL, "--steps", "2", "--repeats", "2", "--tokenizers")
    assert train(tmp_path, *told, "bytes-4") == 0
    assert "bytes-4-2: step 2 of 2, loss" in capsys.readouterr().err
    before = (tmp_path / "bytes-4-1" / "checkpoint.json").stat().st_mtime_ns
    assert train(tmp_path, *told, "bytes-4,bpe-300") == 0
    shown = capsys.readouterr()
    assert "bytes-4-1: step" not in shown.err
    assert "bpe-300-2: step 2 of 2" in shown.err
    assert (tmp_path / "bytes-4-1" / "checkpoint.json").stat().st_mtime_ns == before
    assert shown.out.count("bpe-300") >= 2
    rows = list(csv.DictReader((tmp_path / "training.csv").read_text().splitlines()))
    assert len({(row["kind"], row["seed"]) for row in rows}) == 4


def test_all_tokenizers_are_trained_unless_some_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ("--width", "32", "--depth", "2", "--parameters", "200000", "--batch", "8", "--characters", "64", "--crops", "2")
    assert train(tmp_path, *small, "--steps", "1", "--repeats", "1", "--architecture", "lstm") == 0
    kinds = ("bytes", "characters", "bpe-4000", "wordpiece-4000")
    assert sorted(path.name for path in tmp_path.glob("*/")) == sorted(f"{kind}-1" for kind in kinds)
    shown = capsys.readouterr().out
    assert all(shown.count(f"{kind} ") == 2 for kind in kinds)


def test_losses_of_earlier_series_in_the_folder_stay_in_the_table(tmp_path: Path) -> None:
    told = (*SMALL, "--steps", "1", "--repeats", "1", "--tokenizers")
    assert train(tmp_path, *told, "bytes") == 0
    assert train(tmp_path, *told, "bytes-4") == 0
    rows = list(csv.DictReader((tmp_path / "training.csv").read_text().splitlines()))
    assert [(row["kind"], row["seed"], row["step"]) for row in rows] == [("bytes-4", "1", "1"), ("bytes", "1", "1")]


def test_a_finished_training_whose_weights_are_damaged_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = (*SMALL, "--steps", "0", "--repeats", "1", "--tokenizers", "bytes-4")
    assert train(tmp_path, *told) == 0
    weights = tmp_path / "bytes-4-1" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    assert train(tmp_path, *told) == 1
    assert "model.safetensors: not a complete safetensors file" in capsys.readouterr().err


def test_an_unsuitable_tokenizer_is_refused_before_any_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = ("--width", "32", "--depth", "2", "--parameters", "50000", "--characters", "64", "--crops", "2", "--steps", "1")
    assert train(tmp_path, *told, "--tokenizers", "bytes,bpe-4000") == 2
    assert "bpe-4000 of " in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["training_data.json.gz"]


def test_a_partly_written_checkpoint_is_replaced_and_other_folders_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = (*SMALL, "--steps", "0", "--repeats", "1", "--tokenizers", "bytes-4")
    assert train(tmp_path, *told) == 0
    (tmp_path / "bytes-4-1" / "checkpoint.json").unlink()
    assert train(tmp_path, *told) == 0
    (tmp_path / "training.csv").unlink()
    assert train(tmp_path, *told) == 0
    assert (tmp_path / "training.csv").is_file()
    (tmp_path / "bytes-4-1" / "checkpoint.json").unlink()
    (tmp_path / "bytes-4-1" / "thesis.tex").write_text("years of work")
    capsys.readouterr()
    assert train(tmp_path, *told) == 2
    assert "contains other files; specify another folder" in capsys.readouterr().err


def test_queries_of_other_splits_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_folder(read_dataset_or_sample("sample"), str(tmp_path / "data"))
    rows = (tmp_path / "data" / "qrels" / "test.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "data" / "qrels" / "train.tsv").write_text("".join(rows[:200]))
    first = {row.split("\t")[0] for row in rows[200:]} & {row.split("\t")[0] for row in rows[1:200]}
    (tmp_path / "data" / "qrels" / "test.tsv").write_text("".join([rows[0], *rows[200:]]))
    command = ["tokenizers", "train", str(tmp_path / "data"), "--data-only", "-o", str(tmp_path / "out"), *SMALL]
    assert main(command) == 0
    said = capsys.readouterr().err
    assert ("left out of training: " in said) == bool(first)
    (tmp_path / "data" / "qrels" / "copy.tsv").write_text("".join(rows[:100]))
    assert main([*command[: -len(SMALL) - 1], str(tmp_path / "more"), *SMALL]) == 0
    said = capsys.readouterr().err
    assert "judged queries left out of training: " in said
    assert "copy.tsv" in said


def test_a_folder_of_another_training_config_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = (*SMALL, "--repeats", "1", "--tokenizers", "bytes-4")
    assert train(tmp_path, *told, "--steps", "0") == 0
    assert train(tmp_path, *told, "--steps", "1") == 2
    assert "was trained with another config or on other data; choose another folder" in capsys.readouterr().err
    assert train(tmp_path, *told, "--steps", "0", "--crops", "3") == 2
    assert "has training data of another dataset, config or seed" in capsys.readouterr().err


def test_training_data_made_on_one_machine_trains_on_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, *SMALL, "--data-only") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["training_data.json.gz"]
    monkeypatch.setattr("rankproof._tokenizer_lab.training_data.hard_negatives", None)
    assert train(tmp_path, *SMALL, "--steps", "1", "--repeats", "1", "--tokenizers", "bytes-4") == 0
    assert (tmp_path / "bytes-4-1" / "model.safetensors").is_file()


def test_an_interrupt_leaves_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rankproof._cli import progress as training_progress

    def stop(self: Any, step: int, steps: int, loss: float, rate: float) -> None:
        if self._name == "bytes-4-2":
            raise KeyboardInterrupt

    monkeypatch.setattr(training_progress.TrainingProgress, "__call__", stop)
    assert train(tmp_path, *SMALL, "--steps", "1", "--repeats", "3", "--tokenizers", "bytes-4") == 130
    assert "finished checkpoints are saved" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bytes-4-1", "training.csv", "training_data.json.gz"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--tokenizers", "letters"), "no tokenizer is called letters"),
        (("--query-prompt", "x" * 512), "query_prompt has 512 characters, and the network reads 512 of each text"),
        (("--prompts", "all"), "--prompts is an option of tokenizers compare"),
        (("--store", "memory"), "--store is an option of tokenizers compare"),
        (("--typos", "1"), "--typos is an option of tokenizers compare"),
        (("--holdout", "0.99"), "holdout is 0.99"),
        (("--languages", "de"), "no language de"),
        (("--width", "30"), "width 30 with 4 heads"),
        (("--width", "20", "--heads", "2"), "width 20 with 2 heads"),
        (("--depth", "80"), "depth is 80; choose a whole number from 1 to 64"),
        (("--architecture", "lstm", "--depth", "3"), "choose an even depth for an lstm"),
        (("--parameters", "60000"), "bytes of 257 tokens, width 256 and depth 4 has at least"),
        (("--parameters", "1000", "--tokenizers", "bpe-4000"), "parameters, not 1,000; raise the parameters to"),
        (("--parameters", "75000", "--tokenizers", "characters", "--width", "32", "--depth", "2"), "to 79,536 or more"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: tuple[str, ...], said: str
) -> None:
    assert train(tmp_path / "out", *wrong) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_progress_rewrites_its_line_on_a_terminal_and_adds_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankproof._cli.progress import TrainingProgress

    for tty, wanted in ((True, "\r\x1b[Kbytes-1: step 3 of 9, loss 0.500, 64 examples/s"), (False, "")):
        stream, clock = Stream(tty), iter([0.0, 0.0, 0.1, 1.0, 1.1])
        monkeypatch.setattr("sys.stderr", stream)
        progress = TrainingProgress(Terminal(), "bytes-1", clock.__next__)
        progress(1, 9, 0.5, 64.0)
        before = stream.tell()
        progress(2, 9, 0.5, 64.0)
        assert stream.tell() == before
        progress(3, 9, 0.5, 64.0)
        assert stream.getvalue()[before:] == wanted
        progress(9, 9, 0.5, 64.0)
        assert stream.getvalue().endswith("bytes-1: step 9 of 9, loss 0.500, 64 examples/s\n")


class Stream(StringIO):
    def __init__(self, tty: bool) -> None:
        super().__init__()
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty


def test_a_series_can_be_trained_from_python(tmp_path: Path) -> None:
    from rankproof._tokenizer_lab.train import seed_runs, train_series
    from rankproof._tokenizer_lab.training_data import build_training_data

    config = TrainingConfig(flops=None, steps=1, parameters=30_000, width=32, depth=2, batch=8, characters=64, crops=1)
    training_data = build_training_data({"own": read_dataset_or_sample("sample")}, config.data_config(holdout=0.5))
    repeats = seed_runs(["bytes", "bytes-4"], 2, 5)
    done = train_series(str(tmp_path), training_data, config, repeats, device="cpu", threads=1)
    assert [(repeat.kind, repeat.seed) for repeat in done] == [("bytes", 5), ("bytes-4", 5), ("bytes", 6), ("bytes-4", 6)]
    assert [one.metadata["seed"] for one in done.values()] == [5, 5, 6, 6]
    again = train_series(str(tmp_path), training_data, config, repeats, device="cpu", threads=1)
    assert [one.digests() for one in again.values()] == [one.digests() for one in done.values()]


def test_a_folder_is_required(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["tokenizers", "train", "sample", *HELD]) == 2
    assert "pass one with -o" in capsys.readouterr().err
    (tmp_path / "file").write_text("x")
    assert train(tmp_path / "file") == 2
    assert "cannot be created" in capsys.readouterr().err
