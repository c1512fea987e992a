"""Array files: named arrays and facts in one file with a checksum, written atomically and read as memory maps."""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data import format_versions
from rankproof._io.files import write_blocks
from rankproof._io.journal import ALIGNMENT, OTHER_CACHE_FIX, cache_corruption_error, cache_io_error
from rankproof.errors import ExternalError, RankproofError

Arrays = Mapping[str, NDArray[Any]]


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
_HEADER = struct.Struct("<4sIQQ")
_FOOTER = struct.Struct("<I")
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
    """Name, type and shape of each array, the facts, and where the first array and the footer start."""

    shapes: Sequence[tuple[str, str, Sequence[int]]]
    facts: Mapping[str, Any]
    first: int
    footer: int


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any] | ArrayBlocks], facts: Mapping[str, Any] | None = None) -> None:
    """Writes the arrays and the facts, which are JSON, in place of the file; a failure leaves no part of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_blocks(os.fspath(path), _content(arrays, facts or {}))
        _verified.add(_state(os.stat(path)))
    except OSError as error:
        raise cache_io_error(path, error) from None
    except RankproofError as error:
        raise ExternalError(f"{error}; or {OTHER_CACHE_FIX}") from None


def open_arrays(path: Path) -> ArrayFile:
    """The file; its checksum is verified once in a process, and a damaged file is removed and reported."""
    try:
        with open(path, "rb") as file:
            state = os.fstat(file.fileno())
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if state.st_size else memoryview(b"")
    except OSError as error:
        raise cache_io_error(path, error) from None
    layout = _layout(data)
    if layout is None:
        raise _damaged(path, "wrong size or header")
    if _state(state) not in _verified:
        if _checksum(data[: layout.footer]) != _FOOTER.unpack_from(data, layout.footer)[0]:
            raise _damaged(path, "checksum mismatch")
        _verified.add(_state(state))
        _release_pages(data)
    return ArrayFile(path, _read_arrays(data, layout), layout.facts, len(data))


def _content(arrays: Mapping[str, NDArray[Any] | ArrayBlocks], facts: Mapping[str, Any]) -> Iterator[bytes | memoryview]:
    """Mark, lengths of header and file, header, arrays aligned to 64 bytes, and the checksum of all that."""
    parts = [
        array if isinstance(array, ArrayBlocks) else ArrayBlocks(array.dtype, array.shape, [array]) for array in arrays.values()
    ]
    shapes = [(name, part.dtype.str, part.shape) for name, part in zip(arrays, parts, strict=True)]
    if odd := [name for name, part in zip(arrays, parts, strict=True) if part.dtype.kind not in _KINDS]:
        raise AssertionError(f"arrays of objects cannot be written: {odd}")
    head = json.dumps({"arrays": shapes, "facts": dict(facts)}, ensure_ascii=True, allow_nan=False).encode()
    footer = _aligned(_HEADER.size + len(head)) + sum(_aligned(part.nbytes) for part in parts)
    checksum = 0
    for block in _blocks(_HEADER.pack(_MARK, 0, len(head), footer + _FOOTER.size) + head, parts):
        checksum = zlib.crc32(block, checksum)
        yield block
    yield _FOOTER.pack(checksum)


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
    mark, _, length, size = _HEADER.unpack_from(data, 0)
    if mark != _MARK or size != len(data) or _HEADER.size + length > size:
        return None
    try:
        head = json.loads(bytes(data[_HEADER.size : _HEADER.size + length]))
        shapes, facts, first = head["arrays"], head["facts"], _aligned(_HEADER.size + length)
        footer = first + sum(_aligned(_byte_count(kind, shape)) for _, kind, shape in shapes)
    except (ValueError, KeyError, TypeError):
        return None
    return _Layout(shapes, facts, first, footer) if footer + _FOOTER.size == size else None


def _read_arrays(data: memoryview, layout: _Layout) -> Arrays:
    arrays, start = {}, layout.first
    for name, kind, shape in layout.shapes:
        arrays[name] = np.frombuffer(data, np.dtype(kind), math.prod(shape), start).reshape(shape)
        start += _aligned(_byte_count(kind, shape))
    return arrays


def _byte_count(kind: str, shape: Sequence[int]) -> int:
    dtype = np.dtype(kind)
    if dtype.kind not in _KINDS or not dtype.isnative or min(shape, default=0) < 0:
        raise ValueError(kind)
    return math.prod(shape) * dtype.itemsize


def _release_pages(data: memoryview) -> None:
    """Takes the pages of a memory map out of the memory of this process; they are read from the file when they are used."""
    if isinstance(data.obj, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        data.obj.madvise(mmap.MADV_DONTNEED)


def _checksum(data: memoryview) -> int:
    checksum = 0
    for start in range(0, len(data), _CHUNK_BYTES):
        checksum = zlib.crc32(data[start : start + _CHUNK_BYTES], checksum)
    return checksum


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT


def _state(stat: os.stat_result) -> tuple[int, ...]:
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _damaged(path: Path, what: str) -> ExternalError:
    """The error for a damaged file, which is removed so that the next run computes it again."""
    try:
        path.unlink()
    except OSError as error:
        return cache_io_error(path, error)
    return cache_corruption_error(path, what, "it was removed")
