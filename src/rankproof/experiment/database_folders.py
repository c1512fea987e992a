"""Folders of embedded databases: each one process's alone while it runs, and gone afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
from itertools import count
from pathlib import Path

from .failures import cache_failure
from .locks import try_lock

_LOCK, _FILES = "lock", "files"


class DatabaseFolders:
    """Folders under a home: what a killed process left under the name is found again, what a live one holds is not touched."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._held: dict[str, tuple[Path, int]] = {}

    def made(self, name: str) -> str:
        """The folder of that name, or of that name with a number where another process is at work on it."""
        try:
            if name not in self._held:
                self._held[name] = self._free(name)
            files = self._held[name][0] / _FILES
            files.mkdir(exist_ok=True)
        except OSError as error:
            raise cache_failure(self._home / name, error) from None
        return os.fspath(files)

    def clear(self) -> None:
        """Removes them, and the folder that holds them when it is empty."""
        for folder, handle in self._held.values():
            _remove(folder, handle)
        self._held.clear()
        with contextlib.suppress(OSError):
            self._home.rmdir()

    def _free(self, name: str) -> tuple[Path, int]:
        for number in count(1):
            folder = self._home / (name if number == 1 else f"{name}-{number}")
            if (handle := _locked(folder)) is not None:
                return folder, handle
        raise AssertionError("numbers do not end")


def _locked(folder: Path) -> int | None:
    """The handle of the folder's lock, None where another process has it."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue
        if not try_lock(handle):
            os.close(handle)
            return None
        if _is_there(folder / _LOCK, handle):
            return handle
        os.close(handle)


def _is_there(path: Path, handle: int) -> bool:
    """Whether the file that is locked is still the one at the path; its last owner may have removed it meanwhile."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _remove(folder: Path, handle: int) -> None:
    """The files first; the lock goes last, and is let go only when it is no longer there to be taken."""
    shutil.rmtree(folder / _FILES, ignore_errors=True)
    if os.name == "nt":
        # Windows removes no file that is open, and so none that another process has locked by now.
        os.close(handle)
    with contextlib.suppress(OSError):
        (folder / _LOCK).unlink()
    if os.name != "nt":
        os.close(handle)
    with contextlib.suppress(OSError):
        folder.rmdir()
