"""Files are written atomically, whatever fails."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from rankproof._cli.terminal import check_output
from rankproof._data.run import Run
from rankproof._formats.read import read_run
from rankproof._formats.write import write_qrels, write_run
from rankproof._io.files import write_blocks
from rankproof.errors import ExternalError, InputError, RankproofError, UsageError

OLD = b"what was there before\n"


class FullDisk:
    """Stands in for one function of the disk and fails at its n-th call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, at: int) -> None:
        self.calls, self.at, self.real = 0, at, getattr(os, name)
        monkeypatch.setattr(os, name, self)

    def __call__(self, *args: object, **kwargs: object) -> object:
        self.calls += 1
        if self.calls == self.at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.real(*args, **kwargs)


@pytest.mark.parametrize("name", ["open", "fsync", "replace"])
def test_a_disk_that_fails_at_any_step_leaves_the_old_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.run"
    target.write_bytes(OLD)
    FullDisk(monkeypatch, name, at=1)
    with pytest.raises(ExternalError, match=r"r\.run: cannot be written \(No space left on device\)"):
        write_blocks(str(target), [b"new\n"])
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["r.run"]
    assert target.read_bytes() == OLD


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_device_is_reported_and_not_replaced() -> None:
    with pytest.raises(ExternalError, match="No space left on device"):
        write_blocks("/dev/full", [b"x" * 100_000])
    assert not os.path.isfile("/dev/full")


def test_an_error_in_the_rows_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "r.run"
    target.write_bytes(OLD)
    with pytest.raises(InputError, match='document id "has space" contains white space'):
        write_run(Run.from_dict({"q1": {"d1": 3.0, "has space": 2.0}}), target)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("r.run", OLD)]


def test_an_interrupt_leaves_the_old_file(tmp_path: Path) -> None:
    def blocks() -> Iterator[bytes]:
        yield b"new\n"
        raise KeyboardInterrupt

    target = tmp_path / "r.run"
    target.write_bytes(OLD)
    with pytest.raises(KeyboardInterrupt):
        write_blocks(str(target), blocks())
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("r.run", OLD)]


def test_a_kill_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "r.run"
    target.write_bytes(OLD)
    code = """
        import os, signal, sys
        from rankproof._io.files import write_blocks
        def blocks():
            yield b"new" * 1_000_000
            os.kill(os.getpid(), signal.SIGKILL)
        write_blocks(sys.argv[1], blocks())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == OLD


def test_a_new_file_gets_the_usual_mode_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_blocks(str(tmp_path / "new"), [b"x"])
    finally:
        os.umask(before)
    (tmp_path / "old").write_bytes(OLD)
    (tmp_path / "old").chmod(0o604)
    write_blocks(str(tmp_path / "old"), [b"x"])
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "old")] == [0o640, 0o604]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(OLD)
    (tmp_path / "link").symlink_to("real")
    write_blocks(str(tmp_path / "link"), [b"new"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_blocks(os.devnull, [b"x"])
    assert not os.path.isfile(os.devnull)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("kind", ["a named pipe", "a socket"])
def test_an_output_that_is_no_file_is_refused_at_once(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        os.mkfifo("out") if kind == "a named pipe" else listening.bind("out")
        os.symlink("out", "link")
        for name in ("out", "link"):
            with pytest.raises(UsageError, match=f"{name} is {kind}, not a file; specify a file that does not exist yet"):
                write_blocks(name, [b"x"])
            with pytest.raises(UsageError, match=kind):
                check_output(name, [])
    assert sorted(os.listdir()) == ["link", "out"]


@pytest.mark.parametrize("path", ["no/such/folder/r.run", "a\0b.run"])
def test_an_impossible_path_is_a_usage_error(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_blocks(os.path.join(tmp_path, path), [b"x"])


def test_an_empty_path_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="the path of the file to write is empty; specify the file"):
        write_blocks("", [b"x"])


@pytest.mark.parametrize("denied", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_file_that_the_user_may_not_write_is_a_usage_error(
    denied: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(denied, "denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UsageError, match=r"cannot be written \(denied\); specify a writable file"):
        write_blocks(str(tmp_path / "r.run"), [b"x"])


@pytest.mark.parametrize("value", [{"q1": {"d1": 1}}, None, "r.run"])
def test_writing_anything_but_a_run_or_qrels_is_an_error(value: Any, tmp_path: Path) -> None:
    for write in (write_run, write_qrels):
        with pytest.raises(UsageError, match=r"to write cannot be a .*from_dict"):
            write(value, tmp_path / "w.run")
    with pytest.raises(UsageError, match="a path cannot be a bytes"):
        write_run(Run.from_dict({"q1": {"d1": 1.0}}), cast(Any, b"w.run"))


def test_a_folder_cannot_be_overwritten(tmp_path: Path) -> None:
    with pytest.raises(RankproofError, match="cannot be written"):
        write_blocks(str(tmp_path), [b"x"])
    assert tmp_path.is_dir()


def test_a_file_is_converted_in_place(tmp_path: Path) -> None:
    (tmp_path / "r.run").write_text("q1 Q0 d1 7 1 t\nq1 Q0 d2 8 2 t\n")
    write_run(read_run(tmp_path / "r.run"), tmp_path / "r.run")
    assert (tmp_path / "r.run").read_text() == "q1 Q0 d2 1 2.0 t\nq1 Q0 d1 2 1.0 t\n"
