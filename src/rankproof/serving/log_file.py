"""A file that only grows, by whole lines that are on disk before anybody is told; one process at a time may have it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from ..errors import UsageError, WorldError, shown, visible
from ..experiment.locks import try_lock

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""On Windows nothing is translated; elsewhere a pipe of that name keeps nobody waiting."""


class LogFile:
    """The log, open and locked until it is closed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = _opened(path)
        try:
            if not try_lock(self._handle):
                what = f"{shown(path)} is being written by another rankproof serve"
                raise UsageError(what, fix="judge there, or name another file")
        except BaseException:
            os.close(self._handle)
            raise

    @property
    def content(self) -> bytes:
        """All of it."""
        with open(self.path, "rb") as file:
            return file.read()

    def append(self, lines: bytes) -> int:
        """Adds the lines whole or not at all, and syncs them; gives the size before, to which `shorten` goes back."""
        size = self._checked_size()
        try:
            written = os.write(self._handle, lines)
            if written < len(lines):
                raise OSError("the disk took only a part of the line")
            os.fsync(self._handle)
        except OSError as error:
            self.shorten(size)
            raise WorldError(visible(f"{self.path}: cannot be written ({error.strerror or error}); check the disk")) from None
        return size

    def shorten(self, size: int) -> None:
        """Takes off what was added since it had that size."""
        os.ftruncate(self._handle, size)
        os.fsync(self._handle)

    def close(self) -> None:
        """Lets go of it; an empty one is removed."""
        with suppress(OSError):
            if not os.fstat(self._handle).st_size and self._is_there():
                os.unlink(self.path)
        os.close(self._handle)

    def _checked_size(self) -> int:
        if not self._is_there():
            raise WorldError(visible(f"{self.path} was moved or removed; put it back, or start again with another file"))
        return os.fstat(self._handle).st_size

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._handle))
        except OSError:
            return False


def _opened(path: str) -> int:
    try:
        handle = os.open(path, _FLAGS, 0o666)
    except OSError as error:
        raise UsageError(f"{path} cannot be opened ({error.strerror})", fix="name a file that this user may write") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageError(f"{path} is no plain file", fix="name a new file")
    return handle
