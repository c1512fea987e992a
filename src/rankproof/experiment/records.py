"""One record of a journal: named arrays as bytes, with a checksum, and back."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from ..stages.base import Block

_HEAD = struct.Struct("<4sIQQd")
MARK = b"RPB1"
STEP = 64


@dataclass(frozen=True, eq=False, slots=True)
class Record:
    """A block, the seconds that making it took, and where the next record begins."""

    block: Block
    seconds: float
    end: int


def record_bytes(block: Block, seconds: float) -> bytes:
    """Mark, checksum, lengths and seconds, then a JSON list of (name, type, shape), then the arrays, each on a multiple of 64."""
    shapes = json.dumps([(name, array.dtype.str, array.shape) for name, array in block.items()]).encode()
    body = _padded(shapes, _HEAD.size) + b"".join(_padded(np.ascontiguousarray(array).tobytes()) for array in block.values())
    checked = struct.pack("<QQd", len(shapes), len(body), seconds) + body
    return _HEAD.pack(MARK, zlib.crc32(checked), len(shapes), len(body), seconds) + body


def record_at(data: memoryview, start: int) -> Record | None:
    """The record that begins there, None where it is cut or damaged; its arrays are views of the data."""
    if start + _HEAD.size > len(data):
        return None
    mark, checksum, header, length, seconds = _HEAD.unpack_from(data, start)
    end = start + _HEAD.size + length
    if mark != MARK or end > len(data) or header > length:
        return None
    if zlib.crc32(data[start + 8 : end]) != checksum:
        return None
    at = start + _HEAD.size
    shapes = json.loads(bytes(data[at : at + header]))
    return Record(_arrays(data, at + _pad(header, _HEAD.size), shapes), seconds, end)


def _arrays(data: memoryview, at: int, shapes: list[tuple[str, str, list[int]]]) -> Block:
    block = {}
    for name, kind, shape in shapes:
        dtype = np.dtype(kind)
        count = int(np.prod(shape, dtype=np.int64))
        block[name] = np.frombuffer(data, dtype=dtype, count=count, offset=at).reshape(shape)
        at += _pad(count * dtype.itemsize)
    return block


def _padded(content: bytes, before: int = 0) -> bytes:
    return content.ljust(_pad(len(content), before), b"\0")


def _pad(length: int, before: int = 0) -> int:
    """The length with padding, such that what follows begins on a multiple of 64."""
    return -(-(length + before) // STEP) * STEP - before
