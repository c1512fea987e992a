"""The model cache: written atomically, verified when opened, with clear errors for disks and files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rankproof.errors import ExternalError
from rankproof.models._bert import Bert
from rankproof.models._download.cached_folder import MANIFEST, cached_folder, checked_folder, folder_facts
from rankproof.models._registry import downloaded_models
from support.tiny_bert import write_bert


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bert:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    return Bert(str(write_bert(tmp_path / "m")), "fp32")


def graph_folder(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "cache" / "models").glob("*-encoder-fp32")
    return folder


def test_a_graph_is_written_once(model: Bert, tmp_path: Path) -> None:
    first = model.load().encode(["a pan"])
    written = graph_folder(tmp_path).stat().st_mtime_ns
    assert (model.load().encode(["a pan"]) == first).all()
    assert graph_folder(tmp_path).stat().st_mtime_ns == written
    assert sorted(path.name for path in graph_folder(tmp_path).iterdir()) == [MANIFEST, "model.onnx", "weights.bin"]
    assert folder_facts(graph_folder(tmp_path))["revision"] == model.revision().partition(",")[0]


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES: dict[str, Any] = {
    "a flipped bit": lambda folder: flipped(folder / "model.onnx"),
    "a cut file": lambda folder: os.truncate(folder / "model.onnx", 100),
    "a missing file": lambda folder: (folder / "model.onnx").unlink(),
    "no manifest": lambda folder: (folder / MANIFEST).unlink(),
    "a cut manifest": lambda folder: os.truncate(folder / MANIFEST, 10),
    "an empty folder": lambda folder: [path.unlink() for path in folder.iterdir()],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_graph_is_reported_renamed_and_written_again(damage: str, model: Bert, tmp_path: Path) -> None:
    first = model.load().encode(["a pan"])
    DAMAGES[damage](graph_folder(tmp_path))
    with pytest.raises(
        ExternalError, match=r"the file does not match its checksum; its folder was renamed to \.corrupt-.*, try again"
    ):
        model.load()
    assert (model.load().encode(["a pan"]) == first).all()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_damaged_graph_in_a_read_only_cache_says_what_to_remove(model: Bert, tmp_path: Path) -> None:
    model.load()
    flipped(graph_folder(tmp_path) / "model.onnx")
    os.chmod(tmp_path / "cache" / "models", 0o500)
    with pytest.raises(ExternalError, match=r"remove the folder .* and try again"):
        model.load()


def test_a_cache_that_cannot_be_written_names_the_variable(model: Bert, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(ExternalError, match=r"cannot be written .* set RANKPROOF_CACHE"):
        model.load()


FULL_DISK = """
import resource, signal, sys
from rankproof.errors import ExternalError
from rankproof.models._bert import Bert
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    Bert(sys.argv[1], "fp32").load()
except ExternalError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_full_disk_is_an_error_and_leaves_nothing(model: Bert, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, model.source], capture_output=True, text=True, check=True)
    assert "cannot be written" in done.stdout
    assert list((tmp_path / "cache" / "models").iterdir()) == []
    assert model.load().encode(["a pan"]).shape == (1, 32)


def test_the_folder_of_the_first_process_stays(tmp_path: Path) -> None:
    def make(folder: Path) -> dict[str, Any]:
        (folder / "mine").write_text("mine")
        if not (tmp_path / "x").exists():
            cached_folder(tmp_path / "x", lambda other: {"by": str((other / "theirs").write_text("theirs"))})
        return {}

    assert [path.name for path in sorted(cached_folder(tmp_path / "x", make).iterdir())] == [MANIFEST, "theirs"]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_failed_make_leaves_nothing(tmp_path: Path) -> None:
    def make(folder: Path) -> dict[str, Any]:
        (folder / "part").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_folder(tmp_path / "x", make)
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_covers_folders_inside(tmp_path: Path) -> None:
    def make(folder: Path) -> dict[str, Any]:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text("{}")
        return {}

    folder = cached_folder(tmp_path / "x", make)
    assert list(json.loads((folder / MANIFEST).read_text())["files"]) == ["1_Pooling/config.json"]
    shutil.rmtree(folder / "1_Pooling")
    with pytest.raises(ExternalError, match=r"1_Pooling/config\.json: the file does not match its checksum"):
        checked_folder(folder)


def test_the_list_has_complete_folders_only(model: Bert, tmp_path: Path) -> None:
    model.load()
    DAMAGES["a flipped bit"](graph_folder(tmp_path))
    with pytest.raises(ExternalError):
        model.load()
    model.load()
    found = {one.model: one for one in downloaded_models()}
    assert found.keys() - {"smollm2"} == {"m"}  # SmolLM2 may be installed as a package
    assert found["m"].kind == "fp32 graph"
    assert found["m"].bytes == sum(path.stat().st_size for path in graph_folder(tmp_path).iterdir())
