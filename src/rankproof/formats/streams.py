"""Streams of bytes: a file, a pipe that is kept as it is read, and blocks that something made of another stream."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator

from ..data.source import ByteStream
from ..errors import RankproofError, WorldError, visible
from .faults import fault

Progress = Callable[[int, int | None], None]
BLOCK_BYTES = 1 << 20

_FAULT_OF_ERRNO = {
    errno.ENOENT: "missing",
    errno.ENOTDIR: "missing",
    errno.EISDIR: "directory",
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.ELOOP: "loop",
}


def unopenable(error: OSError | ValueError, name: str) -> RankproofError:
    """The error for a file that cannot be opened or read."""
    if isinstance(error, ValueError):
        return fault("path", source=name, reason=str(error))
    if error.errno in _FAULT_OF_ERRNO:
        return fault(_FAULT_OF_ERRNO[error.errno], source=name)
    if error.errno == errno.ENAMETOOLONG:
        return fault("path", source=name, reason="too long")
    return WorldError(visible(f"{name}: cannot be read ({error.strerror or error}); check the disk and try again"))


def read_blocks(stream: ByteStream, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The stream's bytes in blocks, to its end."""
    buffer = bytearray(size)
    view = memoryview(buffer)
    while count := stream.readinto(view):
        yield bytes(view[:count])


class FileStream:
    """A file's bytes as they lie there; progress hears how many of how many were read."""

    def __init__(self, path: str, progress: Progress | None = None) -> None:
        self._name, self._progress, self._read = path, progress, 0
        try:
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115
            self._total = os.fstat(self._file.fileno()).st_size
        except (OSError, ValueError) as error:
            raise unopenable(error, path) from None

    def readinto(self, buffer: memoryview) -> int:
        try:
            count = self._file.readinto(buffer) or 0
        except OSError as error:
            raise unopenable(error, self._name) from None
        self._read += count
        if self._progress is not None:
            self._progress(self._read, self._total)
        return count

    def close(self) -> None:
        self._file.close()


class BlockStream:
    """Blocks served through `readinto`; closing it closes the stream they are made of."""

    def __init__(self, blocks: Iterator[bytes], inner: ByteStream | None = None) -> None:
        self._blocks, self._inner, self._rest = blocks, inner, memoryview(b"")

    def readinto(self, buffer: memoryview) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(block)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()


class Spool:
    """What a pipe gave so far, kept so that it can be read again from the start."""

    def __init__(self, pull: Callable[[], bytes], name: str, progress: Progress | None = None) -> None:
        self._pull, self._name, self._progress = pull, name, progress
        self._kept: list[bytes] = []
        self._size, self._ended = 0, False

    def open(self) -> BlockStream:
        """The pipe from its first byte."""
        return BlockStream(self._blocks())

    def _blocks(self) -> Iterator[bytes]:
        index = 0
        while index < len(self._kept) or self._more():
            yield self._kept[index]
            index += 1

    def _more(self) -> bool:
        if self._ended:
            return False
        try:
            block = self._pull()
        except (OSError, ValueError) as error:
            raise unopenable(error, self._name) from None
        if not block:
            self._ended = True
            return False
        self._kept.append(block)
        self._size += len(block)
        if self._progress is not None:
            self._progress(self._size, None)
        return True


class LineCount:
    """How many lines have ended so far; LF, CRLF and CR end one."""

    def __init__(self) -> None:
        self.ended, self._after_cr = 0, False

    def add(self, block: bytes) -> None:
        returns = block.count(b"\r")
        self.ended += block.count(b"\n") + (returns - block.count(b"\r\n") if returns else 0)
        if self._after_cr and block.startswith(b"\n"):
            self.ended -= 1
        self._after_cr = block.endswith(b"\r") or (self._after_cr and not block)
