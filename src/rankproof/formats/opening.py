"""Any path as a source of UTF-8 text: plain, gzip or Zstandard by content, in any encoding, a pipe or standard input."""

from __future__ import annotations

import os
import stat
import sys
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..data.source import ByteStream, Source
from ..errors import RankproofError, UsageError
from .compressed import codec_of, decompressed
from .faults import fault
from .streams import BlockStream, FileStream, Progress, Spool, read_blocks, unopenable
from .transcoding import is_utf8, transcoded

StrPath = str | os.PathLike[str]
STDIN = "-"
STDIN_NAME = "<stdin>"
_PIPE_BYTES = 1 << 18
_MAGIC_BYTES = 4
PARQUET_MAGIC = b"PAR1"

Opener = Callable[[], ByteStream]
_taken: list[Any] = [None]


def open_source(path: StrPath, *, encoding: str = "utf-8", progress: Progress | None = None) -> Source:
    """The file as UTF-8 text that can be read again from the start; progress hears of bytes as they lie in the file.

    A Parquet file is no text, and has no encoding. A pipe and standard input (`-`) are read once and kept in memory.
    """
    plain_utf8 = is_utf8(encoding)
    name = path_text(path)
    name, raw, regular = _standard_input(progress) if name == STDIN else _raw(name, progress)
    codec = codec_of(first_bytes(raw, _MAGIC_BYTES))
    opener = raw
    if codec is not None:
        opener = _layer(opener, lambda stream: decompressed(codec, stream, name))
    if not plain_utf8 and first_bytes(opener, _MAGIC_BYTES) != PARQUET_MAGIC:
        opener = _layer(opener, lambda stream: transcoded(stream, encoding, name))
    return Source(name, opener, path=name if regular and opener is raw else None)


def path_text(path: StrPath) -> str:
    """The path as text; anything that is no path is refused."""
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        raise UsageError(f"a path cannot be a {type(name).__name__}", fix="pass it as text or as pathlib.Path")
    if not name:
        raise UsageError("the path of a file is empty", fix="name the file")
    return name


def first_bytes(opener: Opener, size: int) -> bytes:
    """The first bytes, fewer than `size` only where there are no more."""
    stream = opener()
    buffer, filled = bytearray(size), 0
    try:
        while filled < size and (count := stream.readinto(memoryview(buffer)[filled:])):
            filled += count
    finally:
        stream.close()
    return bytes(memoryview(buffer)[:filled])


def all_bytes(source: Source) -> bytes:
    """The whole of a source."""
    stream = source.open()
    try:
        return b"".join(read_blocks(stream))
    finally:
        stream.close()


def _layer(inner: Opener, blocks: Callable[[ByteStream], Iterator[bytes]]) -> Opener:
    def opened() -> ByteStream:
        stream = inner()
        return BlockStream(blocks(stream), stream)

    return opened


def _raw(path: str, progress: Progress | None) -> tuple[str, Opener, bool]:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise unopenable(error, path) from None
    if stat.S_ISDIR(mode):
        raise fault("directory", source=path)
    if stat.S_ISREG(mode):
        return path, partial(FileStream, path, progress), True
    return path, Spool(_pipe(path), path, progress).open, False


def _pipe(path: str) -> Callable[[], bytes]:
    stream = FileStream(path)
    buffer = bytearray(_PIPE_BYTES)

    def pull() -> bytes:
        count = stream.readinto(memoryview(buffer))
        if not count:
            stream.close()
        return bytes(buffer[:count])

    # Nobody says when a pipe that is not read to its end is done with.
    weakref.finalize(pull, stream.close)
    return pull


def _standard_input(progress: Progress | None) -> tuple[str, Opener, bool]:
    if _taken[0] is not None and _taken[0] is sys.stdin:
        raise fault("stdin-twice")
    _taken[0] = sys.stdin
    return STDIN_NAME, Spool(_stdin_blocks(), STDIN_NAME, progress).open, False


def _stdin_blocks() -> Callable[[], bytes]:
    if sys.stdin is None:
        raise _closed()
    binary = getattr(sys.stdin, "buffer", None)
    if binary is None:
        return lambda: sys.stdin.read(_PIPE_BYTES).encode()
    return lambda: bytes(binary.read1(_PIPE_BYTES))


def _closed() -> RankproofError:
    return fault("path", source=STDIN_NAME, reason="closed")
