"""Journals: append-only files of blocks of arrays with checksums."""

from __future__ import annotations

import errno
import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from rankproof._data import format_versions
from rankproof._io.temporary import try_lock
from rankproof.errors import ExternalError, escape_invisible

Block = Mapping[str, "np.ndarray[Any, Any]"]


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


_RECORD_HEADER = struct.Struct("<4sIQQd")
RECORD_MARK = f"RPB{format_versions.JOURNAL}".encode()
ALIGNMENT = 64


@dataclass(frozen=True, eq=False, slots=True)
class JournalRecord:
    """A block, the seconds it took to compute, and the offset of the next record."""

    block: Block
    seconds: float
    end: int


def record_bytes(block: Block, seconds: float) -> bytes:
    """Magic bytes, checksum, lengths and seconds, then a JSON list of (name, type, shape), then the arrays, aligned to 64."""
    shapes = json.dumps([(name, array.dtype.str, array.shape) for name, array in block.items()]).encode()
    body = _pad_content(shapes, _RECORD_HEADER.size) + b"".join(
        _pad_content(np.ascontiguousarray(array).tobytes()) for array in block.values()
    )
    checked = struct.pack("<QQd", len(shapes), len(body), seconds) + body
    return _RECORD_HEADER.pack(RECORD_MARK, zlib.crc32(checked), len(shapes), len(body), seconds) + body


def record_at(data: memoryview, start: int) -> JournalRecord | None:
    """The record at that offset, None if it is truncated or corrupt; its arrays are views of the data."""
    if start + _RECORD_HEADER.size > len(data):
        return None
    mark, checksum, header, length, seconds = _RECORD_HEADER.unpack_from(data, start)
    end = start + _RECORD_HEADER.size + length
    if mark != RECORD_MARK or end > len(data) or header > length:
        return None
    if zlib.crc32(data[start + 8 : end]) != checksum:
        return None
    at = start + _RECORD_HEADER.size
    shapes = json.loads(bytes(data[at : at + header]))
    return JournalRecord(_read_arrays(data, at + _padded_length(header, _RECORD_HEADER.size), shapes), seconds, end)


def _read_arrays(data: memoryview, at: int, shapes: list[tuple[str, str, list[int]]]) -> Block:
    block = {}
    for name, kind, shape in shapes:
        dtype = np.dtype(kind)
        count = int(np.prod(shape, dtype=np.int64))
        block[name] = np.frombuffer(data, dtype=dtype, count=count, offset=at).reshape(shape)
        at += _padded_length(count * dtype.itemsize)
    return block


def _pad_content(content: bytes, before: int = 0) -> bytes:
    return content.ljust(_padded_length(len(content), before), b"\0")


def _padded_length(length: int, before: int = 0) -> int:
    """The length with padding to a multiple of 64."""
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
        damaged = any(
            record_at(data, at)
            for at in range(start + ALIGNMENT, size, ALIGNMENT)
            if data[at : at + len(RECORD_MARK)] == RECORD_MARK
        )
        records.clear()
        del data
        self._cut(start)
        if damaged:
            raise cache_corruption_error(self.path, CHECKSUM_MISMATCH, "the records before the damage were kept")
        return self.records()

    def append(self, block: Block, seconds: float) -> int:
        """Adds a block, flushes it to disk and returns its offset; a failure leaves the journal unchanged."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(record_bytes(block, seconds))
            while rest:
                rest = rest[self._file.write(rest) :]
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
