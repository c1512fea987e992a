"""`rankproof tokenizers compare` with checkpoints: repeats, what they were trained on, where they run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.tokenizer_comparisons import compared, rows_of, save_tiny_checkpoint, write_translated

pytestmark = pytest.mark.torch

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_translated(tmp_path_factory.mktemp("data") / "small")


def test_repeats_of_a_tokenizer_are_one_system(folder: str, tmp_path: Path, capsys: Capture) -> None:
    for kind, seed in (("bytes", 1), ("bytes", 2), ("characters", 1)):
        save_tiny_checkpoint(tmp_path / "trials" / f"{kind}-{seed}", kind, seed, queries=["q1"], name="small")
    save_tiny_checkpoint(tmp_path / "trials" / "bpe-300-1", "bpe-300", 1, trained=False, queries=["q1"], name="small")
    output = tmp_path / "out"
    code = compared(
        *(folder, "--checkpoints", str(tmp_path / "trials"), "--lexical", "words", "--typos", "0,2", "-o", str(output)),
        *("--languages", "all", "--format", "json"),
    )
    assert code == 0
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert told["left_out"] == 1
    first = [one for one in told["systems"] if (one["language"], one["edits"]) == ("own", 0)]
    repeats = {one["system"]: len(one["measures"]["RR"]["repeats"]) for one in first}
    assert repeats == {"bpe-300": 1, "bytes": 2, "characters": 1, "BM25 words": 1}
    assert "bpe-300: untrained: not usable to compare tokenizers" in captured.err
    assert "1 query is excluded because an encoder was trained on" in captured.err
    rows = rows_of((output / "queries.csv").read_text())
    assert {row["query"] for row in rows} == {"q2", "q3", "q4"}
    assert {(row["language"], row["edits"]) for row in rows} == {("own", "0"), ("own", "2"), ("xx", "0"), ("xx", "2")}
    assert {"quality.png", "latency.png", "pareto.png", "typos.png", "languages.png", "conclusion.md"} <= {
        path.name for path in output.iterdir()
    }


def test_a_checkpoint_named_as_a_model_may_have_been_trained_on_the_queries(folder: str, tmp_path: Path, capsys: Capture) -> None:
    trained = save_tiny_checkpoint(tmp_path / "one", "bpe-300", 1, queries=["q1", "q3"], name="small")
    assert compared(folder, "--lexical", "words", "--model", f"bpe:{trained}", "--device", "cpu", "--format", "json") == 0
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert (told["queries"], told["left_out"]) == (2, 2)
    assert [(one["system"], one["sources"]) for one in told["systems"]] == [("bpe:one", [str(trained)]), ("BM25 words", [])]
    assert "2 queries are excluded because an encoder was trained on" in captured.err


def test_a_device_that_is_not_there_is_refused_for_a_named_checkpoint_too(
    folder: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = save_tiny_checkpoint(tmp_path / "one", "bytes", 1)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert compared(folder, "--lexical", "none", "--model", str(trained), "--device", "cuda") == 2
    assert "GPU" in capsys.readouterr().err
