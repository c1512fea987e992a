"""Files that others may have put into a folder: only plain files of the folder are opened."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from rankproof._io.files import open_plain_file
from rankproof._io.open import open_folder_source, read_all_bytes
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
