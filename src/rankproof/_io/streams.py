"""Byte streams: files, pipes, gzip, zstd, and other encodings as UTF-8."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from typing import Any, Final, Protocol

from rankproof._extras import extra
from rankproof._io.file_errors import file_error
from rankproof._io.memory import MemoryWatch
from rankproof.errors import ExternalError, InputError, RankproofError, UsageError, escape_invisible, for_message


class ByteStream(Protocol):
    """The methods of a binary file that a reader uses."""

    def readinto(self, buffer: memoryview, /) -> int | None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ByteSource:
    """Decompressed UTF-8 text; each `open` starts from the first byte.

    `path` is set for an uncompressed UTF-8 file, which several threads may read in slices. `head` is its start, if it is known:
    `HEAD_BYTES` bytes, or all of them if there are fewer.
    """

    name: str
    open: Callable[[], ByteStream]
    path: str | None = None
    head: bytes | None = None


ProgressCallback = Callable[[int, int | None], None]
BLOCK_BYTES = 1 << 20
HEAD_BYTES = 1 << 12

_ERROR_CODE_OF_ERRNO = {
    errno.ENOENT: "missing",
    errno.ENOTDIR: "missing",
    errno.EISDIR: "directory",
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.ELOOP: "loop",
}


def open_error(error: OSError | ValueError, name: str) -> RankproofError:
    """The error for a file that cannot be opened or read."""
    if isinstance(error, ValueError):
        return file_error("path", source=name, reason=str(error))
    if error.errno in _ERROR_CODE_OF_ERRNO:
        return file_error(_ERROR_CODE_OF_ERRNO[error.errno], source=name)
    if error.errno == errno.ENAMETOOLONG:
        return file_error("path", source=name, reason="too long")
    return ExternalError(escape_invisible(f"{name}: cannot be read ({error.strerror or error}); check the disk and try again"))


def read_blocks(stream: ByteStream, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The bytes of the stream in blocks."""
    buffer = bytearray(size)
    view = memoryview(buffer)
    while count := stream.readinto(view):
        yield bytes(view[:count])


def _open_plain_file(path: str, folder: str) -> FileIO:
    # Late: writing files, which that module is about, needs others.
    from rankproof._io.files import open_plain_file

    return open_plain_file(path, folder)


WRITER_SECONDS: Final = 10.0


def open_input(path: str) -> FileIO:
    """A file that the user names; a named pipe that no program opens for writing within ten seconds is an error."""
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return FileIO(path)
    opened: list[FileIO | OSError] = []
    # Opening waits for a writer and cannot be interrupted; a daemon thread does not keep the process from ending.
    thread = threading.Thread(target=_open_into, args=(path, opened), daemon=True)
    thread.start()
    thread.join(WRITER_SECONDS)
    is_unwritten = thread.is_alive()
    if is_unwritten:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        thread.join()
    (file,) = opened
    if isinstance(file, OSError):
        raise file
    if is_unwritten:
        file.close()
        raise file_error("unwritten", source=path, seconds=f"{WRITER_SECONDS:g}")
    return file


def _open_into(path: str, opened: list[FileIO | OSError]) -> None:
    try:
        opened.append(FileIO(path))
    except OSError as error:
        opened.append(error)


class FileStream:
    """The bytes of a file; `progress` gets the bytes read and the total. With `folder`, it is a plain file in the folder."""

    def __init__(self, path: str, progress: ProgressCallback | None = None, folder: str | None = None) -> None:
        self._name, self._progress, self._read, self._memory = path, progress, 0, MemoryWatch(path)
        try:
            self._file = open_input(path) if folder is None else _open_plain_file(path, folder)
            self._total = os.fstat(self._file.fileno()).st_size
        except (OSError, ValueError) as error:
            raise open_error(error, path) from None

    def readinto(self, buffer: memoryview) -> int:
        try:
            count = self._file.readinto(buffer) or 0
        except OSError as error:
            raise open_error(error, self._name) from None
        self._read += count
        self._memory.add(count)
        if self._progress is not None:
            self._progress(self._read, self._total)
        return count

    def close(self) -> None:
        self._file.close()


class BlockStream:
    """Blocks as a stream; closing it closes the inner stream."""

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


class ReplayBuffer:
    """The blocks of a pipe so far, kept in memory so that it can be read again."""

    def __init__(self, pull: Callable[[], bytes], name: str, progress: ProgressCallback | None = None) -> None:
        self._pull, self._name, self._progress = pull, name, progress
        self._kept: list[bytes] = []
        self._size, self._ended, self._memory = 0, False, MemoryWatch(name)

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
            raise open_error(error, self._name) from None
        if not block:
            self._ended = True
            return False
        # A pipe cannot be rewound, and detection of the format reads its start before the reader does.
        self._kept.append(block)
        self._size += len(block)
        self._memory.add(len(block))
        if self._progress is not None:
            self._progress(self._size, None)
        return True


class LineCount:
    """The number of line endings so far: LF, CRLF or CR."""

    def __init__(self) -> None:
        self.ended, self._after_cr = 0, False

    def add(self, block: bytes) -> None:
        returns = block.count(b"\r") if b"\r" in block else 0
        # Most blocks have no CR, and are counted once.
        self.ended += block.count(b"\n") + (returns - block.count(b"\r\n") if returns else 0)
        if self._after_cr and block.startswith(b"\n"):
            self.ended -= 1
        self._after_cr = block.endswith(b"\r") or (self._after_cr and not block)


_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
_INPUT_BYTES = 1 << 16
_OUTPUT_BYTES = 1 << 20
_ZSTD_CONTENT_SIZES, _ZSTD_DICTIONARY_SIZES = (0, 2, 4, 8), (0, 1, 2, 4)


def codec_of(head: bytes) -> str | None:
    """`gzip` or `zstd` by the first bytes, else None."""
    if head.startswith(_GZIP_MAGIC):
        return "gzip"
    skippable = head[1:4] == _ZSTD_SKIPPABLE and 0x50 <= head[0] <= 0x5F
    return "zstd" if head.startswith(_ZSTD_MAGIC) or skippable else None


def decompress(codec: str, stream: ByteStream, name: str) -> Iterator[bytes]:
    """The decompressed blocks of the stream."""
    members = _gzip_members if codec == "gzip" else _zstd_frames
    lines, memory = LineCount(), MemoryWatch(name)
    for block in members(stream, name, lines):
        if block:
            memory.add(len(block))
            lines.add(block)
            yield block


def _gzip_members(stream: ByteStream, name: str, lines: LineCount) -> Iterator[bytes]:
    import zlib

    member: Any = None
    ended, data = 0, b""
    for block in read_blocks(stream, _INPUT_BYTES):
        data += block
        while data:
            if member is None:
                # Tapes and some archivers pad the end of a gzip file with zeros, which gzip ignores too.
                data = data.lstrip(b"\0") if ended else data
                if len(data) < len(_GZIP_MAGIC):
                    break
                _check_trailing(data, "gzip", name)
                member = zlib.decompressobj(wbits=31)
            try:
                yield from _decompress_bounded(member, data)
            except zlib.error as error:
                raise file_error("damaged", source=name, codec="gzip", lines=lines.ended, reason=_error_reason(error)) from None
            data = member.unused_data
            if member.eof:
                member, ended = None, ended + 1
    _check_complete(member, data, "gzip", name, lines)


def _decompress_bounded(member: Any, data: bytes) -> Iterator[bytes]:
    """The decompressed data, at most a block at a time."""
    while True:
        out = member.decompress(data, _OUTPUT_BYTES)
        yield out
        data = member.unconsumed_tail
        if member.eof or (not data and len(out) < _OUTPUT_BYTES):
            return


class _ExactReader:
    """Reads exact numbers of bytes, fewer only at the end of the stream."""

    def __init__(self, stream: ByteStream) -> None:
        self._blocks, self._data, self._at = read_blocks(stream, _INPUT_BYTES), b"", 0

    def read(self, count: int) -> bytes:
        while len(self._data) - self._at < count and (block := next(self._blocks, b"")):
            self._data, self._at = self._data[self._at :] + block, 0
        content = self._data[self._at : self._at + count]
        self._at += len(content)
        return content


def _zstd_pieces(stream: ByteStream) -> Iterator[bytes]:
    """The bytes of the stream, at most one compressed block in each piece: a block of 4 bytes may decompress to 128 KiB.

    The library returns everything that one piece contains, so this bounds the memory. Bytes after a frame that begin no other
    frame are one piece.
    """
    source = _ExactReader(stream)
    while magic := source.read(len(_ZSTD_MAGIC)):
        if magic[1:] == _ZSTD_SKIPPABLE:
            size = source.read(4)
            yield magic + size
            left = int.from_bytes(size, "little")
            while left and (piece := source.read(min(left, _INPUT_BYTES))):
                left -= len(piece)
                yield piece
        elif magic == _ZSTD_MAGIC:
            yield from _zstd_frame_pieces(source)
        else:
            yield magic
            return


def _zstd_frame_pieces(source: _ExactReader) -> Iterator[bytes]:
    """The pieces of one frame, by RFC 8878: a header, blocks of 3 bytes and a body, and a checksum of 4 bytes if it has one."""
    descriptor = source.read(1)
    flags = int.from_bytes(descriptor, "little")
    single, checked = flags >> 5 & 1, flags >> 2 & 1
    content = _ZSTD_CONTENT_SIZES[flags >> 6] or single
    yield _ZSTD_MAGIC + descriptor + source.read((1 - single) + _ZSTD_DICTIONARY_SIZES[flags & 3] + content)
    last = False
    while not last and (header := source.read(3)):
        bits = int.from_bytes(header, "little")
        last, is_repeated = bool(bits & 1), bits >> 1 & 3 == 1
        yield header + source.read(1 if is_repeated else bits >> 3)
    if last and checked:
        yield source.read(4)


def _zstd_frames(stream: ByteStream, name: str, lines: LineCount) -> Iterator[bytes]:
    with extra("zstd"):
        import zstandard

    frame: Any = None
    data = b""
    for block in _zstd_pieces(stream):
        data += block
        while data:
            if frame is None:
                if len(data) < len(_ZSTD_MAGIC):
                    break
                _check_trailing(data, "zstd", name)
                frame = zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(data)
            except zstandard.ZstdError as error:
                if "too much memory" in str(error):
                    raise file_error("window", source=name) from None
                raise file_error("damaged", source=name, codec="zstd", lines=lines.ended, reason=_error_reason(error)) from None
            data = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame = None
    _check_complete(frame, data, "zstd", name, lines)


def _check_trailing(data: bytes, codec: str, name: str) -> None:
    if codec_of(data) != codec:
        raise file_error("trailing", source=name, codec=codec)


def _check_complete(member: Any, data: bytes, codec: str, name: str, lines: LineCount) -> None:
    """Checks that no member is open at the end; `data` is too short to begin another member."""
    magic = _GZIP_MAGIC if codec == "gzip" else _ZSTD_MAGIC
    if member is not None or (data and magic.startswith(data)):
        raise file_error("cut", source=name, codec=codec, lines=lines.ended)
    if data:
        raise file_error("trailing", source=name, codec=codec)


def _error_reason(error: Exception) -> str:
    return str(error).rpartition(": ")[2]


_UTF8_NAMES = frozenset({"utf-8", "utf-8-sig"})
_NOT_FOR_FILES = frozenset({"unicode_escape", "unicode-escape", "raw_unicode_escape", "raw-unicode-escape", "idna", "punycode"})


def is_utf8(encoding: str) -> bool:
    """Whether the encoding is UTF-8 by any of its names; an unknown encoding is an error."""
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError, TypeError):
        raise _unknown_encoding_error(str(encoding)) from None
    if not getattr(codec, "_is_text_encoding", True) or codec.name in _NOT_FOR_FILES or codec.incrementaldecoder is None:
        raise _unknown_encoding_error(encoding)
    return codec.name in _UTF8_NAMES


def transcode(stream: ByteStream, encoding: str, name: str) -> Iterator[bytes]:
    """The text of the stream as blocks of UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    lines = LineCount()
    for block, last in _with_final_block(read_blocks(stream)):
        _, state = decoder.getstate()
        try:
            out = decoder.decode(block, last).encode()
        except UnicodeError as error:
            raise _decode_error(error, decoder, state, lines, encoding, name) from None
        lines.add(out)
        if out:
            yield out


def _with_final_block(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    for block in blocks:
        yield block, False
    yield b"", True


def _decode_error(
    error: UnicodeError, decoder: codecs.IncrementalDecoder, state: int, lines: LineCount, encoding: str, name: str
) -> InputError:
    line = None
    if isinstance(error, UnicodeDecodeError):
        # Decodes the block again up to the wrong byte, to count the lines before it.
        decoder.setstate((b"", state))
        lines.add(decoder.decode(error.object[: error.start]).encode(errors="replace"))
        line = lines.ended + 1
        reason = f"byte 0x{error.object[error.start]:02x}: {error.reason}"
    else:
        reason = getattr(error, "reason", str(error))
    return file_error("encoding", source=name, line=line, encoding=encoding, reason=reason)


def _unknown_encoding_error(encoding: str) -> UsageError:
    return UsageError(
        f"no text encoding is called {for_message(encoding)}", fix="specify one that Python knows, like latin-1 or cp1252"
    )
