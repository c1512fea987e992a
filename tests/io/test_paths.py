"""Temporary files and folders: those of killed processes are removed, those in use stay."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankproof._io.files import recover_folder, replace_folder, write_blocks
from rankproof._io.paths import is_temporary, remove_abandoned, temporary_file, temporary_folder, temporary_name

WRITING = """
import sys, time
from rankproof._io.files import write_blocks
from rankproof._io.files import replace_folder

def blocks():
    yield b"half of it"
    print("ready", flush=True)
    time.sleep(60)

kind, target = sys.argv[1:]
if kind == "file":
    write_blocks(target, blocks())
with replace_folder(target, lambda path: True) as folder:
    write_blocks(folder + "/part", blocks())
"""
KINDS = ("file", "folder")
DAY = 86_400
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no locks of folders")


@contextmanager
def writing(kind: str, target: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of writing the file or folder."""
    command = [sys.executable, "-c", WRITING, kind, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def temporary_paths(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if is_temporary(path.name)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_killed_process_was_writing_is_removed_by_the_next_write_beside_it(kind: str, tmp_path: Path) -> None:
    with writing(kind, tmp_path / "out"):
        assert len(temporary_paths(tmp_path)) == 1
    assert len(temporary_paths(tmp_path)) == 1
    write_blocks(str(tmp_path / "other"), [b"whole"])
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_what_a_killed_process_was_writing_is_removed_by_the_next_reader_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with writing("folder", tmp_path / "out"):
        pass
    recover_folder(str(tmp_path / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_another_process_is_writing_stays(kind: str, tmp_path: Path) -> None:
    with writing(kind, tmp_path / "out"):
        with replace_folder(str(tmp_path / "other"), lambda path: True):
            pass
        assert len(temporary_paths(tmp_path)) == 1
        os.utime(temporary_paths(tmp_path)[0], (0, 0))
        remove_abandoned(str(tmp_path))
        assert len(temporary_paths(tmp_path)) == 1


def test_what_this_process_is_writing_stays(tmp_path: Path) -> None:
    with temporary_file(str(tmp_path)) as file, temporary_folder(str(tmp_path)) as folder:
        remove_abandoned(str(tmp_path))
        assert {str(path) for path in tmp_path.iterdir()} == {file.path, folder.path}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("age", "stays"), [(DAY - 60, True), (DAY + 60, False)])
def test_what_another_machine_left_is_removed_after_a_day_without_a_change(
    kind: str, age: float, stays: bool, tmp_path: Path
) -> None:
    left = tmp_path / f".rankproof-{'0' * 12}-12345678.tmp"
    if kind == "file":
        left.write_text("half")
    else:
        (left / "inner").mkdir(parents=True)
        (left / "inner" / "part").write_text("half")
        os.utime(left, (0, 0))
        os.utime(left / "inner", (0, 0))
    os.utime(left if kind == "file" else left / "inner" / "part", (time.time() - age,) * 2)
    remove_abandoned(str(tmp_path))
    assert left.exists() == stays


def test_a_link_or_pipe_with_a_temporary_name_is_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    (folder / temporary_name()).symlink_to(tmp_path / "mine")
    (folder / temporary_name()).symlink_to(tmp_path / "mine" / "file")
    os.mkfifo(folder / temporary_name())
    remove_abandoned(str(folder))
    assert len(list(folder.iterdir())) == 3
    assert (tmp_path / "mine" / "file").read_text() == "mine"


def test_a_name_that_is_not_temporary_stays(tmp_path: Path) -> None:
    for name in (".rankproof-notes", "data.tmp", ".other-0.tmp"):
        (tmp_path / name).write_text("mine")
    remove_abandoned(str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 3


def test_a_file_that_another_process_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process finds the new file without a lock, because its owner is just about to lock it."""
    from rankproof._io import paths

    real, found = paths.try_lock, list[int]()

    def late(handle: int) -> bool:
        if not found:
            remove_abandoned(str(tmp_path))
        found.append(handle)
        return real(handle)

    monkeypatch.setattr(paths, "try_lock", late)
    write_blocks(str(tmp_path / "out"), [b"whole"])
    assert len(found) == 2
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"whole")]


def test_a_file_system_without_locks_is_written_to_and_nothing_new_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import fcntl

    def unsupported(*args: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    left = tmp_path / temporary_name()
    left.write_text("half")
    write_blocks(str(tmp_path / "out"), [b"whole"])
    assert left.exists()
    os.utime(left, (0, 0))
    remove_abandoned(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
