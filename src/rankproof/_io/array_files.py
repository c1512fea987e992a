"""Arrays in checked files: journals, to which blocks of arrays are appended, and array files, which are written once."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import mmap
import os
import re
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankproof._data import format_versions
from rankproof._io.files import open_plain_file, write_blocks
from rankproof._io.paths import try_lock
from rankproof.errors import ExternalError, InputError, RankproofError, escape_invisible

Arrays = Mapping[str, NDArray[Any]]
Block = Arrays
"""The arrays of a part of some work, such as the rankings of a block of queries."""


_PERMISSION_ERRORS = (errno.EACCES, errno.EPERM, errno.EROFS)
OTHER_CACHE_FIX = "choose another cache folder: --cache FOLDER, or the variable RANKPROOF_CACHE"
CHECKSUM_MISMATCH = "checksum mismatch"


def cache_io_error(path: Path, error: OSError) -> ExternalError:
    """The error for a cache file that cannot be read or written."""
    reason = error.strerror or str(error)
    if error.errno in _PERMISSION_ERRORS:
        return ExternalError(escape_invisible(f"{path}: the cache cannot be written ({reason}); {OTHER_CACHE_FIX}"))
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ExternalError(
            escape_invisible(f"{path}: {reason}; free some space and run again: finished work is cached; or {OTHER_CACHE_FIX}")
        )
    return ExternalError(escape_invisible(f"{path}: the cache failed ({reason}); {OTHER_CACHE_FIX}"))


def cache_corruption_error(path: Path, what: str, done: str) -> ExternalError:
    """The error for a corrupt cache file: what is wrong, and what was done about it."""
    return ExternalError(escape_invisible(f"{path}: the cache file is corrupt ({what}); {done}; run again to continue"))


class JournalInUseError(ExternalError):
    """Another process has the journal open."""


_RECORD_HEADER = struct.Struct("<4s32sQQd")
_RECORD_CHECKED = 36
"""The offset in a record from which its digest counts: lengths and seconds too, so that no damaged length is trusted."""
RECORD_MARK = f"RPB{format_versions.JOURNAL}".encode()
# A cache line, and the widest vector register: arrays in a mapped file are aligned for every type.
ALIGNMENT = 64


@dataclass(frozen=True, eq=False, slots=True)
class JournalRecord:
    """A block, the seconds it took to compute, and the offset of the next record."""

    block: Block
    seconds: float
    end: int


def record_bytes(block: Block, seconds: float) -> bytes:
    """Magic bytes, sha256, lengths and seconds, then a JSON list of (name, type, shape), then the arrays, aligned to 64."""
    shapes = json.dumps([(name, array.dtype.str, array.shape) for name, array in block.items()]).encode()
    body = _pad_content(shapes, _RECORD_HEADER.size) + b"".join(
        _pad_content(np.ascontiguousarray(array).tobytes()) for array in block.values()
    )
    checked = struct.pack("<QQd", len(shapes), len(body), seconds) + body
    return _RECORD_HEADER.pack(RECORD_MARK, hashlib.sha256(checked).digest(), len(shapes), len(body), seconds) + body


def record_at(data: memoryview, start: int) -> JournalRecord | None:
    """The record at that offset, None if it is truncated or corrupt; its arrays are views of the data."""
    if start + _RECORD_HEADER.size > len(data):
        return None
    mark, digest, header, length, seconds = _RECORD_HEADER.unpack_from(data, start)
    end = start + _RECORD_HEADER.size + length
    # A record that ends beyond the file is one that a kill cut off.
    if mark != RECORD_MARK or end > len(data) or header > length:
        return None
    if hashlib.sha256(data[start + _RECORD_CHECKED : end]).digest() != digest:
        return None
    at = start + _RECORD_HEADER.size
    try:
        shapes = json.loads(bytes(data[at : at + header]))
        return JournalRecord(_arrays_at(data, at + _aligned(header, _RECORD_HEADER.size), shapes)[0], seconds, end)
    except _MALFORMED:
        return None


_MALFORMED = (ValueError, TypeError, LookupError, OverflowError, RecursionError)
"""The errors of a header that rankproof did not write; its digest may be right."""
_TYPE = re.compile(r"[<>|][biufS][0-9]{1,9}")


def _arrays_at(data: memoryview, start: int, shapes: Iterable[tuple[str, str, Sequence[int]]]) -> tuple[Arrays, int]:
    """The arrays of these names, types and shapes from `start` on, as views of the data, and where they end."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind, shape in shapes:
        if not isinstance(name, str) or not _TYPE.fullmatch(kind) or any(type(size) is not int or size < 0 for size in shape):
            raise ValueError(name)
        dtype, count = np.dtype(kind), math.prod(shape)
        # An empty array at the very end has no byte that it could be a view of.
        arrays[name] = np.frombuffer(data, dtype, count, start).reshape(shape) if count else np.empty(shape, dtype)
        start += _aligned(count * dtype.itemsize)
    return arrays, start


def _pad_content(content: bytes, before: int = 0) -> bytes:
    return content.ljust(_aligned(len(content), before), b"\0")


def _aligned(length: int, before: int = 0) -> int:
    """The length with padding, so that what follows it is aligned, with these bytes before it."""
    return -(-(length + before) // ALIGNMENT) * ALIGNMENT - before


class Journal:
    """A journal, locked for this process; `at_work` says what another process that has it open does."""

    def __init__(self, path: Path, at_work: str = "is running the same stage") -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise cache_io_error(path, error) from None
        self._file = FileIO(handle, "r+")
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            self._file.close()
            raise ExternalError(escape_invisible(f"{path}: is not a plain file; remove it, or {OTHER_CACHE_FIX}"))
        if not try_lock(handle):
            self._file.close()
            what = f"{path}: another rankproof {at_work}"
            raise JournalInUseError(escape_invisible(f"{what}; wait for it, or {OTHER_CACHE_FIX}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def records(self) -> list[JournalRecord]:
        """Every complete record, as views of the file; a record truncated by a kill is dropped, other damage is an error."""
        size = self._file.seek(0, os.SEEK_END)
        data = self._mapped(size)
        records: list[JournalRecord] = []
        start = 0
        while start < size and (record := record_at(data, start)) is not None:
            records.append(record)
            start = record.end
        if start == size:
            return records
        # A kill leaves one partial record, at the end; a whole record after a broken one means damage.
        damaged = any(
            record_at(data, at)
            for at in range(start + ALIGNMENT, size, ALIGNMENT)
            if data[at : at + len(RECORD_MARK)] == RECORD_MARK
        )
        records.clear()
        # Windows truncates no file that is mapped.
        del data
        self._cut(start)
        if damaged:
            raise cache_corruption_error(self.path, CHECKSUM_MISMATCH, "the records before the damage were kept")
        return self.records()

    def append(self, block: Block, seconds: float) -> int:
        """Adds a block, flushes it to disk and returns its offset; a failure leaves the journal unchanged."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            # An unbuffered file may write less than it was given.
            rest = memoryview(record_bytes(block, seconds))
            while rest:
                rest = rest[self._file.write(rest) :]
            # Before the caller counts the block as done: after a power failure, a record that was reported must be there.
            os.fsync(self._file.fileno())
        except OSError as error:
            self._cut(end)
            raise cache_io_error(self.path, error) from None
        return end

    def record(self, offset: int) -> JournalRecord:
        """The record at the offset that `append` returned, as views of the file."""
        record = record_at(self._mapped(self._file.seek(0, os.SEEK_END)), offset)
        if record is None:
            raise cache_corruption_error(self.path, CHECKSUM_MISMATCH, "nothing was changed")
        return record

    def clear(self) -> None:
        """Removes all records."""
        self._cut(0)

    def _mapped(self, size: int) -> memoryview:
        """The file mapped into memory through its own handle, so that views that outlive the journal do not hold the lock."""
        if not size:
            return memoryview(b"")
        with open(self.path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def _cut(self, end: int) -> None:
        try:
            self._file.truncate(end)
        except OSError as error:
            raise cache_io_error(self.path, error) from None


@dataclass(frozen=True, eq=False, slots=True)
class ArrayBlocks:
    """An array to write that is made block by block."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    blocks: Iterable[NDArray[Any]]

    @property
    def nbytes(self) -> int:
        """The bytes of all blocks."""
        return math.prod(self.shape) * self.dtype.itemsize


_MARK = f"RPA{format_versions.ARRAY_FILE}".encode()
_HEADER = struct.Struct("<4s4xQQ")
_FOOTER = struct.Struct("32s")
_CHUNK_BYTES = 1 << 22
_KINDS = "biufS"
_verified: set[tuple[int, ...]] = set()
"""The states of the files that this process wrote or verified."""


@dataclass(frozen=True, eq=False, slots=True)
class ArrayFile:
    """The arrays of a file, as read-only memory maps, and its facts."""

    path: Path
    arrays: Arrays
    facts: Mapping[str, Any]
    size: int


@dataclass(frozen=True, slots=True)
class _Layout:
    """The arrays, the facts, and where the footer starts."""

    arrays: Arrays
    facts: Mapping[str, Any]
    footer: int


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any] | ArrayBlocks], facts: Mapping[str, Any] | None = None) -> None:
    """Writes the arrays and the facts, which are JSON, in place of the file; a failure leaves no part of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_blocks(os.fspath(path), _content(arrays, facts or {}))
        # What this process has just written need not be read again to check it.
        _verified.add(_state(os.stat(path)))
    except OSError as error:
        raise cache_io_error(path, error) from None
    except RankproofError as error:
        raise ExternalError(f"{error}; or {OTHER_CACHE_FIX}") from None


def open_arrays(path: Path) -> ArrayFile:
    """The file; its checksum is verified once in a process, and a damaged file is removed and reported."""
    try:
        with open_plain_file(os.fspath(path)) as file:
            state = os.fstat(file.fileno())
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if state.st_size else memoryview(b"")
    except OSError as error:
        raise cache_io_error(path, error) from None
    except InputError:
        raise _damaged(path, "no plain file") from None
    layout = _layout(data)
    if layout is None:
        raise _damaged(path, "wrong size or header")
    if _state(state) not in _verified:
        if _digest(data[: layout.footer]) != _FOOTER.unpack_from(data, layout.footer)[0]:
            raise _damaged(path, "checksum mismatch")
        _verified.add(_state(state))
        # Checking has read the whole file; what is not used should not count as memory of this process.
        _release_pages(data)
    return ArrayFile(path, layout.arrays, layout.facts, len(data))


def _content(arrays: Mapping[str, NDArray[Any] | ArrayBlocks], facts: Mapping[str, Any]) -> Iterator[bytes | memoryview]:
    """Mark, lengths of header and file, header, arrays aligned to 64 bytes, and the sha256 of all that."""
    parts = [
        array if isinstance(array, ArrayBlocks) else ArrayBlocks(array.dtype, array.shape, [array]) for array in arrays.values()
    ]
    shapes = [(name, part.dtype.str, part.shape) for name, part in zip(arrays, parts, strict=True)]
    if odd := [name for name, part in zip(arrays, parts, strict=True) if part.dtype.kind not in _KINDS]:
        raise AssertionError(f"arrays of objects cannot be written: {odd}")
    head = json.dumps({"arrays": shapes, "facts": dict(facts)}, ensure_ascii=True, allow_nan=False).encode()
    footer = _aligned(_HEADER.size + len(head)) + sum(_aligned(part.nbytes) for part in parts)
    digest = hashlib.sha256()
    for block in _blocks(_HEADER.pack(_MARK, len(head), footer + _FOOTER.size) + head, parts):
        digest.update(block)
        yield block
    # At the end, because the blocks are written as they are made and their digest is known only then.
    yield _FOOTER.pack(digest.digest())


def _blocks(head: bytes, parts: Sequence[ArrayBlocks]) -> Iterator[bytes | memoryview]:
    yield head.ljust(_aligned(len(head)), b"\0")
    for part in parts:
        written = 0
        for block in part.blocks:
            content = np.ascontiguousarray(block, dtype=part.dtype).reshape(-1).view(np.uint8)
            written += len(content)
            for start in range(0, len(content), _CHUNK_BYTES):
                yield content[start : start + _CHUNK_BYTES].data
        assert written == part.nbytes, "the blocks have the size of the array"
        yield bytes(_aligned(part.nbytes) - part.nbytes)


def _layout(data: memoryview) -> _Layout | None:
    """The layout that the header describes, None unless it agrees with the size of the file."""
    if len(data) < _HEADER.size:
        return None
    mark, length, size = _HEADER.unpack_from(data, 0)
    if mark != _MARK or size != len(data) or _HEADER.size + length > size:
        return None
    try:
        head = json.loads(bytes(data[_HEADER.size : _HEADER.size + length]))
        arrays, footer = _arrays_at(data, _aligned(_HEADER.size + length), head["arrays"])
        facts = head["facts"]
    except _MALFORMED:
        return None
    if not isinstance(facts, dict) or not all(array.dtype.isnative for array in arrays.values()):
        return None
    return _Layout(arrays, facts, footer) if footer + _FOOTER.size == size else None


def _release_pages(data: memoryview) -> None:
    """Takes the pages of a memory map out of the memory of this process; they are read from the file when they are used."""
    if isinstance(data.obj, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        data.obj.madvise(mmap.MADV_DONTNEED)


def _digest(data: memoryview) -> bytes:
    """The sha256, read in blocks: a memory map need not be in memory at once."""
    digest = hashlib.sha256()
    for start in range(0, len(data), _CHUNK_BYTES):
        digest.update(data[start : start + _CHUNK_BYTES])
    return digest.digest()


def _state(status: os.stat_result) -> tuple[int, ...]:
    # Not the path: a file that was replaced has another inode or time, and is verified again.
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _damaged(path: Path, what: str) -> ExternalError:
    """The error for a damaged file, which is removed so that the next run computes it again."""
    try:
        path.unlink()
    except OSError as error:
        return cache_io_error(path, error)
    return cache_corruption_error(path, what, "it was removed")
