"""Python code that an experiment file names runs only after a yes; dry runs import nothing."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._experiment.config_read import read_without_imports
from rankproof._io.named_code import TRUSTED_FILE, models_with_code

MODULE = """
from pathlib import Path
Path("imported.txt").touch()

def search(text):
    return ["sourdough-guide#1"]

def share(grades, ideal):
    return 1.0
"""
TABLES = {
    "function": '[systems.own]\nstage = "python"\nfunction = "{module}:search"\n',
    "hidden": '[systems.own]\nstage = "python"\nfunction = "{module}:search"\nhidden = true\n[systems.bm25]\nstage = "bm25"\n',
    "measure": 'measures = ["nDCG@10", "{module}:share@5"]\n[systems.bm25]\nstage = "bm25"\n',
}


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    return tmp_path


def _write(folder: Path, kind: str = "function") -> str:
    """A module with a name of its own, as imports of a process are kept, and the file that names it."""
    module = f"named_{abs(hash((str(folder), kind)))}"
    (folder / f"{module}.py").write_text(MODULE)
    (folder / "file.toml").write_text('dataset = "sample"\n' + TABLES[kind].format(module=module))
    return module


def _was_imported(folder: Path) -> bool:
    return (folder / "imported.txt").exists()


@pytest.mark.parametrize("kind", list(TABLES))
@pytest.mark.parametrize("command", [["run", "file.toml"], ["tune", "--config", "file.toml", "--system", "bm25"]])
def test_code_that_was_not_trusted_is_not_imported(
    folder: Path, kind: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    module = _write(folder, kind)
    assert main(command) == 2
    error = capsys.readouterr().err
    assert f"file.toml names Python code that was not trusted before: {module}:" in error
    assert "; read that code, then add --trust" in error
    assert not _was_imported(folder)


@pytest.mark.parametrize("kind", list(TABLES))
def test_a_dry_run_imports_nothing_and_says_so(folder: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = _write(folder, kind)
    assert main(["run", "file.toml", "--dry-run", "--trust"]) == 0
    assert f"names Python code, which a dry run does not import: {module}:" in " ".join(capsys.readouterr().err.split())
    assert not _was_imported(folder)


def test_trust_runs_the_code_and_the_next_run_needs_no_option(folder: Path) -> None:
    _write(folder)
    assert main(["run", "file.toml", "--trust", "--no-report", "-o", "out"]) == 0
    assert _was_imported(folder)
    assert main(["run", "file.toml", "--no-report", "-o", "out"]) == 0
    assert (folder / "config" / TRUSTED_FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("yes\n", 0), ("n\n", 2), ("\n", 2), ("", 2), ("maybe\n", 2)])
def test_a_terminal_is_asked_once_and_anything_but_yes_is_no(
    folder: Path, typed: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = _write(folder)
    screen = Keyboard()
    monkeypatch.setattr(sys, "stdin", Keyboard(typed))
    monkeypatch.setattr(sys, "stderr", screen)
    assert main(["run", "file.toml", "--no-report", "-o", "out"]) == code
    assert f"file.toml runs Python code with your rights: {module}:search" in screen.getvalue()
    assert f"{module}.py" in screen.getvalue()
    assert _was_imported(folder) == (code == 0)
    assert main(["run", "file.toml", "--no-report", "-o", "out"]) == code
    assert screen.getvalue().count("Run it? [y/N]") == (1 if code == 0 else 2)


def test_changed_code_is_asked_for_again_and_other_settings_of_the_file_are_not(folder: Path) -> None:
    module = _write(folder)
    _, code = read_without_imports("file.toml")
    code.trust()
    text = (folder / "file.toml").read_text()
    (folder / "file.toml").write_text(f"{text}depth = 5\n")
    assert read_without_imports("file.toml")[1].is_trusted()
    (folder / f"{module}.py").write_text(MODULE + "\nimport os\n")
    assert not read_without_imports("file.toml")[1].is_trusted()


def test_the_same_file_in_another_folder_is_not_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = _write(folder)
    read_without_imports("file.toml")[1].trust()
    other = folder / "other"
    other.mkdir()
    for name in ("file.toml", f"{module}.py"):
        (other / name).write_bytes((folder / name).read_bytes())
    assert not read_without_imports("other/file.toml")[1].is_trusted()
    monkeypatch.chdir(other)
    assert not read_without_imports("file.toml")[1].is_trusted()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="a system without owners of files")
def test_a_list_of_trusted_files_that_others_can_write_trusts_nothing(folder: Path) -> None:
    _write(folder)
    code = read_without_imports("file.toml")[1]
    code.trust()
    assert code.is_trusted()
    (folder / "config" / TRUSTED_FILE).chmod(0o666)
    assert not code.is_trusted()


def test_a_model_that_brings_code_is_named() -> None:
    tables = {
        "own": {"stage": "dense", "model": {"name": "sentence-transformers", "trust_remote_code": True}},
        "bm25": {"of": [1]},
    }
    assert list(models_with_code(tables)) == ["the code of the model sentence-transformers (trust_remote_code)"]
    assert list(models_with_code({"own": {"trust_remote_code": False}})) == []


def test_a_file_without_code_is_not_asked_for(folder: Path) -> None:
    (folder / "file.toml").write_text('dataset = "sample"\n[systems.bm25]\nstage = "bm25"\n')
    assert read_without_imports("file.toml")[1].names == ()
    assert main(["run", "file.toml", "--no-report", "-o", "out", "--limit", "5"]) == 0
