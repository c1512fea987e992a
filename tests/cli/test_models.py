"""The verb `models`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof.models._bert import Bert
from support.hub_server import Hub
from support.tiny_bert import write_bert


@pytest.mark.slow
def test_minilm_is_downloaded_and_listed_with_its_path(minilm_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "get", "minilm"]) == 0
    got = capsys.readouterr()
    assert got.out == f"{minilm_cache / 'models' / 'minilm'}\n"
    assert "note: minilm is in the cache already; checking it\n" in got.err
    assert main(["models", "path", "minilm"]) == 0
    assert capsys.readouterr().out == got.out
    assert main(["models", "list"]) == 0
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    assert [row[:2] for row in rows if row[0] == "minilm"] == [
        ["minilm", "fp32 graph"],
        ["minilm", "weights"],
    ]
    assert {row[3] for row in rows if row[0] == "minilm"} == {"53aa51172d14"}


@pytest.mark.slow
def test_several_models_are_downloaded_at_once(minilm_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "get", "wordllama", "minilm"]) == 0
    models = minilm_cache / "models"
    assert capsys.readouterr().out == f"{models / 'wordllama'}\n{models / 'minilm'}\n"


def test_a_hub_name_is_downloaded(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "path", "acme/tiny"]) == 2
    assert "model acme/tiny is not downloaded; run: rankproof models get acme/tiny" in capsys.readouterr().err
    assert main(["models", "get", "acme/tiny"]) == 0
    folder = capsys.readouterr().out.strip()
    assert Path(folder, "model.safetensors").is_file()
    assert main(["models", "path", "acme/tiny"]) == 0
    assert capsys.readouterr().out.strip() == folder
    hub.faults["config.json"] = "500"
    assert main(["models", "get", "acme/other"]) == 1
    assert "status 500" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["get"], "models get needs a name; as in rankproof models get minilm"),
        (["path"], "models path needs a name"),
        (["path", "nope"], "no model is called nope; choose wordllama"),
        (["get", "minlm"], "no model is called minlm; choose wordllama, minilm, smollm2, or ORGANISATION/MODEL on the hub"),
        (["get", "\x1b[31m"], r"no model is called \\x1b\[31m"),
        (["take", "minilm"], "invalid choice: 'take'"),
        ([], "the following arguments are required"),
    ],
)
def test_wrong_usage_has_exit_code_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    import re

    assert main(["models", *arguments]) == 2
    assert re.search(words, capsys.readouterr().err)


def test_hostile_names_in_the_list_are_made_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    Bert(str(write_bert(tmp_path / "ev\x1b[31mil")), "fp32").load()
    assert main(["models", "list"]) == 0
    out = capsys.readouterr().out
    assert "ev\\x1b[31mil  fp32 graph" in out
    assert "\x1b" not in out


HEAVY = (
    "onnx",
    "onnxruntime",
    "tokenizers",
    "safetensors",
    "torch",
    "sentence_transformers",
    "urllib.request",
    "httpx",
    "xllamacpp",
)


def test_naming_models_loads_no_heavy_library() -> None:
    code = (
        "import sys; from rankproof.models._registry import chat_model_by_name, encoder_by_name, is_ready;"
        "[is_ready(encoder_by_name(name)) for name in ('minilm', 'wordllama', 'a/b')];"
        "is_ready(chat_model_by_name('smollm2'));"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
