"""Files that others may have put into a folder: only plain files of the folder are opened."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._importers.registry import read_documents
from rankproof._io.files import open_plain_file
from rankproof._io.open import open_folder_source, open_source, read_all_bytes
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs named pipes and links")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "is a named pipe, not a file; put a plain file in its place"),
    "socket": (_socket, "is a socket, not a file"),
    "folder": (os.mkdir, "is a folder"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is a device, not a file"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_a_plain_file_is_refused_without_waiting(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, words = KINDS[kind]
    make(Path("x"))
    with pytest.raises(InputError, match=words):
        open_plain_file("x")


@pytest.mark.parametrize("target", ["../outside", "/etc/passwd", "inner/../../outside", "/dev/zero"])
def test_a_link_out_of_the_folder_is_refused(target: str, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "home" / "inner").mkdir(parents=True)
    (tmp_path / "home" / "x").symlink_to(target)
    with pytest.raises(InputError, match="x: is a link out of the folder; copy the file"):
        open_plain_file(str(tmp_path / "home" / "x"), str(tmp_path / "home"))


def test_a_folder_linked_from_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("secret")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "runs").symlink_to(tmp_path / "other")
    with pytest.raises(InputError, match="is a link out of the folder"):
        open_folder_source(str(tmp_path / "home"), "runs/x")


def test_a_link_inside_the_folder_and_a_link_to_the_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "x").write_text("text")
    (tmp_path / "home" / "y").symlink_to("x")
    (tmp_path / "link").symlink_to("home")
    assert read_all_bytes(open_folder_source(str(tmp_path / "link"), "y")) == b"text"


def test_a_link_to_itself_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("x")
    with pytest.raises(InputError, match="points to itself"):
        open_folder_source(str(tmp_path), "x")


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A named pipe, for whose writer rankproof waits only briefly."""
    monkeypatch.setattr("rankproof._io.streams.WRITER_SECONDS", 0.05)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize(
    "command", ["eval qrels {}", "gate qrels run --baseline {}", "run {}", "generate {} --by heuristic -o out"]
)
def test_a_pipe_that_nobody_writes_is_an_error_and_is_not_waited_for(
    command: str, pipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("q1 0 d1 1\n")
    Path("run").write_text("q1 Q0 d1 1 2.0 t\n")
    assert main(command.format(pipe).split()) == 2
    words = "no program opened this named pipe for writing within 0.05 s; start the program that writes into it, or name a file"
    assert words in capsys.readouterr().err


def test_a_pipe_is_read_however_long_its_writer_takes_once_it_is_open(pipe: Path) -> None:
    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            time.sleep(0.2)
            file.write(b"q1 0 d1 1\n")

    with ThreadPoolExecutor() as pool:
        written = pool.submit(write)
        assert read_all_bytes(open_source(pipe)) == b"q1 0 d1 1\n"
        written.result()


def test_a_pipe_is_waited_for_once_whatever_number_of_importers_look_at_it(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def counted(path: str, **options: Any) -> ByteSource:
        opened.append(path)
        return open_source(path, **options)

    monkeypatch.setattr("rankproof._importers.base.open_source", counted)
    with pytest.raises(InputError, match="no program opened this named pipe"):
        read_documents(pipe)
    assert opened == [str(pipe)]
