"""Files, pipes and standard input as UTF-8 text and lines."""

from __future__ import annotations

import os
import stat
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from rankproof._data.row_errors import MAX_LINE_BYTES, row_error
from rankproof._io.file_errors import file_error
from rankproof._io.memory import check_memory, free_memory, memory_error
from rankproof._io.paths import is_possible_path
from rankproof._io.streams import (
    BLOCK_BYTES,
    HEAD_BYTES,
    BlockStream,
    ByteSource,
    ByteStream,
    FileStream,
    ProgressCallback,
    ReplayBuffer,
    codec_of,
    decompress,
    is_utf8,
    open_error,
    read_blocks,
    transcode,
)
from rankproof.errors import RankproofError, UsageError, for_message, type_phrase

StrPath = str | os.PathLike[str]
STDIN = "-"
STDIN_NAME = "<stdin>"
_PIPE_BYTES = 1 << 18
_MAGIC_BYTES = 4
PARQUET_MAGIC = b"PAR1"
_MOST_EXPANSION = 100
"""How many times larger decompressed rankings can be; those that are written become 3 to 20 times larger."""

Opener = Callable[[], ByteStream]
_stdin_in_use: list[Any] = [None]


def open_source(path: StrPath, *, encoding: str = "utf-8", progress: ProgressCallback | None = None) -> ByteSource:
    """The file as UTF-8 text that can be read more than once; `progress` gets the bytes read of the file.

    A Parquet file is not decoded. A pipe and standard input (`-`) are read once and kept in memory.
    """
    plain_utf8 = is_utf8(encoding)
    name = path_text(path)
    name, raw, regular = _standard_input(progress) if name == STDIN else _open_file_or_pipe(name, progress)
    head = first_bytes(raw, HEAD_BYTES)
    codec = codec_of(head)
    opener = raw
    if codec is not None:
        opener = _wrap_opener(opener, lambda stream: decompress(codec, stream, name))
    if not plain_utf8 and first_bytes(opener, _MAGIC_BYTES) != PARQUET_MAGIC:
        opener = _wrap_opener(opener, lambda stream: transcode(stream, encoding, name))
    if opener is not raw:
        return ByteSource(name, opener)
    return ByteSource(name, raw, path=name if regular else None, head=head)


def open_folder_source(folder: str, name: str) -> ByteSource:
    """The plain file of a folder that others may have written, as UTF-8 text; `name` has slashes on every system.

    A pipe, a device and a link out of the folder are errors, and so is more data than free memory. Only .gz is decompressed.
    """
    path = os.path.join(folder, *name.split("/"))
    raw = partial(FileStream, path, None, folder)
    head = first_bytes(raw, _MAGIC_BYTES)
    if not name.endswith(".gz") or codec_of(head) != "gzip":
        return ByteSource(path, raw)
    most = os.path.getsize(path) * _MOST_EXPANSION + BLOCK_BYTES
    return ByteSource(path, _wrap_opener(raw, lambda stream: _bounded_blocks(decompress("gzip", stream, path), path, most)))


def _bounded_blocks(blocks: Iterator[bytes], name: str, most: int) -> Iterator[bytes]:
    """The blocks; an error if they have more bytes than that, or than the memory that was free at the first one."""
    free, size = free_memory(), 0
    for block in blocks:
        size += len(block)
        if size > most:
            raise file_error("expansion", source=name, most=_MOST_EXPANSION)
        if free is not None and size > free:
            raise memory_error(name, free)
        yield block


Progress = Callable[[str, int, int], None]
"""Called with a label, the number of items done and their total."""
_LARGE_BYTES = 1 << 25
_MEGABYTE = 1_000_000


def read_progress(paths: Sequence[str], progress: Progress | None) -> list[ProgressCallback | None]:
    """For each file a function that reports the megabytes read of all files; None where the files are small."""
    sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]
    total = sum(sizes)
    if progress is None or total < _LARGE_BYTES:
        return [None] * len(paths)
    what = os.path.basename(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
    report = partial(_report_megabytes, progress, f"reading {what} (MB)", total)
    return [partial(report, before) for before in list(accumulate(sizes, initial=0))[:-1]]


def _report_megabytes(progress: Progress, label: str, total: int, before: int, read: int, size: int | None) -> None:
    # The first blocks of a file are also read to detect its format.
    if read > 2 * BLOCK_BYTES or read == size:
        progress(label, (before + read) // _MEGABYTE, total // _MEGABYTE)


def path_text(path: StrPath, argument: str = "a path") -> str:
    """The path as text; anything else is an error that names the argument."""
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        raise UsageError(f"{argument} cannot be {type_phrase(name)}", fix="pass a path, as text or as pathlib.Path")
    if not name:
        raise UsageError("the file path is empty", fix="specify the file")
    if not is_possible_path(name):
        raise UsageError(f"{for_message(name)} cannot be a path", fix="leave out NUL and surrogate characters")
    return name


def first_bytes(opener: Opener, size: int) -> bytes:
    """The first `size` bytes, or all if there are fewer."""
    stream = opener()
    buffer, filled = bytearray(size), 0
    try:
        while filled < size and (count := stream.readinto(memoryview(buffer)[filled:])):
            filled += count
    finally:
        stream.close()
    return bytes(memoryview(buffer)[:filled])


def read_all_bytes(source: ByteSource) -> bytes:
    """All bytes of a source."""
    stream = source.open()
    try:
        blocks = list(read_blocks(stream))
    finally:
        stream.close()
    # The blocks joined, and decoded: one character that is not ASCII makes all others up to four bytes wide.
    check_memory(sum(map(len, blocks)) * (2 if all(map(bytes.isascii, blocks)) else 5), source.name)
    return b"".join(blocks)


def _wrap_opener(inner: Opener, blocks: Callable[[ByteStream], Iterator[bytes]]) -> Opener:
    def opened() -> ByteStream:
        stream = inner()
        return BlockStream(blocks(stream), stream)

    return opened


def _open_file_or_pipe(path: str, progress: ProgressCallback | None) -> tuple[str, Opener, bool]:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise open_error(error, path) from None
    if stat.S_ISDIR(mode):
        raise file_error("directory", source=path)
    if stat.S_ISREG(mode):
        return path, partial(FileStream, path, progress), True
    return path, ReplayBuffer(_pipe(path), path, progress).open, False


def _pipe(path: str) -> Callable[[], bytes]:
    stream = FileStream(path)
    buffer = bytearray(_PIPE_BYTES)

    def pull() -> bytes:
        count = stream.readinto(memoryview(buffer))
        if not count:
            stream.close()
        return bytes(buffer[:count])

    # A pipe that is not read to its end is closed with its last reference.
    weakref.finalize(pull, stream.close)
    return pull


def _standard_input(progress: ProgressCallback | None) -> tuple[str, Opener, bool]:
    if _stdin_in_use[0] is not None and _stdin_in_use[0] is sys.stdin:
        raise file_error("stdin-twice")
    _stdin_in_use[0] = sys.stdin
    return STDIN_NAME, ReplayBuffer(_stdin_blocks(), STDIN_NAME, progress).open, False


def _stdin_blocks() -> Callable[[], bytes]:
    if sys.stdin is None:
        raise _closed_error()
    binary = getattr(sys.stdin, "buffer", None)
    if binary is None:
        return lambda: sys.stdin.read(_PIPE_BYTES).encode()
    return lambda: bytes(binary.read1(_PIPE_BYTES))


def _closed_error() -> RankproofError:
    return file_error("path", source=STDIN_NAME, reason="closed")


BOM = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def numbered_text_lines(source: ByteSource, *, limit: int = MAX_LINE_BYTES) -> Iterator[tuple[int, str]]:
    """Every line as text with its line ending, for formats whose rows may span lines."""
    for number, line in raw_lines(source, limit=limit):
        yield number, decode_line(line, number, source.name)


def raw_lines(source: ByteSource, *, limit: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Every line with its ending (LF, CRLF or CR) and its number from 1; a byte-order mark is skipped."""
    for number, begun in enumerate(_lines(source, limit + len(BOM) + len(b"\r\n")), start=1):
        line = begun.removeprefix(BOM) if number == 1 else begun
        if len(line) > limit and len(line.rstrip(b"\r\n")) > limit:
            raise row_error("long-line" if limit == MAX_LINE_BYTES else "long-text", source=source.name, line=number)
        yield number, line


def decode_line(line: bytes, number: int, name: str) -> str:
    """The line as text; a byte that is not UTF-8 is an error with its column."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise row_error("utf8", source=name, line=number, byte=line[error.start], column=error.start + 1) from None


def _lines(source: ByteSource, most: int) -> Iterator[bytes]:
    """The lines with their endings; a line over `most` bytes may be incomplete."""
    held, begun = [b""], False
    stream = source.open()
    try:
        for block in read_blocks(stream):
            held.append(block)
            if not begun and b"".join(held[:3]).startswith(UTF16_MARKS):
                raise row_error("utf16", source=source.name)
            # Blocks of one long line are joined once, at its end; a CR may be the first half of CRLF.
            if b"\n" in block or b"\r" in block or held[-2].endswith(b"\r"):
                *lines, rest = b"".join(held).splitlines(keepends=True)
                held, begun = [rest], begun or bool(lines)
                yield from lines
            if sum(map(len, held)) > most:
                yield b"".join(held)
    finally:
        stream.close()
    rest = b"".join(held)
    if not begun and not rest:
        raise row_error("empty", source=source.name)
    yield from rest.splitlines(keepends=True)
