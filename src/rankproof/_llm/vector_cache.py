"""Caches the vectors of an embedding API, one for each text, in memory or in a journal on disk."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._io.journal import Block, Journal

_OPEN_RECORDS = 64
"""Records of the journal that stay mapped: texts of one request are read together."""


@dataclass(frozen=True, eq=False, slots=True)
class CachedVector:
    """The vector of one text with its share of the request: tokens, requests, seconds, and whether tokens are estimated."""

    vector: Matrix
    tokens: int
    requests: int
    seconds: float
    estimated: bool
    masked: bool


@dataclass(frozen=True, eq=False, slots=True)
class VectorBatch:
    """The vectors of one request, a row for each key, with the share of each row in its cost."""

    keys: Sequence[bytes]
    vectors: Matrix
    tokens: Sequence[int]
    requests: int
    seconds: float
    estimated: bool
    masked: bool

    def block(self) -> Block:
        """As arrays; the whole number of requests belongs to the first text."""
        return {
            "keys": np.frombuffer(b"".join(self.keys), np.uint8).reshape(len(self.keys), -1),
            "vectors": np.ascontiguousarray(self.vectors, np.float32),
            "tokens": np.array(self.tokens, np.int64),
            "requests": np.array([self.requests] + [0] * (len(self.keys) - 1), np.int64),
            "marks": np.array([self.estimated, self.masked], np.int64),
        }


class VectorCache(Protocol):
    """Vectors by the key of their text; safe for several threads."""

    def find(self, key: bytes) -> CachedVector | None:
        """The vector of a text, None if there is none."""
        ...

    def has(self, key: bytes) -> bool:
        """Whether the vector of a text is there."""
        ...

    def put(self, batch: VectorBatch) -> None:
        """Adds the vectors of one request; they are on disk before this returns."""
        ...

    def size(self) -> int | None:
        """The dimensions of the vectors, None if there are none."""
        ...

    def close(self) -> None:
        """Closes files."""
        ...


def _cached(block: Block, row: int, seconds: float) -> CachedVector:
    """The vector in a row, with its share of the time; the whole requests and marks belong to the first row."""
    estimated, masked = (bool(mark) and row == 0 for mark in block["marks"])
    share = seconds / len(block["tokens"])
    tokens, requests = int(block["tokens"][row]), int(block["requests"][row])
    return CachedVector(block["vectors"][row], tokens, requests, share, estimated, masked)


class MemoryVectorCache:
    """Vectors in memory, for this process only."""

    def __init__(self) -> None:
        self._found: dict[bytes, CachedVector] = {}
        self._size: int | None = None

    def find(self, key: bytes) -> CachedVector | None:
        return self._found.get(key)

    def has(self, key: bytes) -> bool:
        return key in self._found

    def put(self, batch: VectorBatch) -> None:
        block = batch.block()
        self._found |= {key: _cached(block, row, batch.seconds) for row, key in enumerate(batch.keys)}
        self._size = batch.vectors.shape[1]

    def size(self) -> int | None:
        return self._size

    def close(self) -> None:
        """Does nothing: no file is open."""


class DiskVectorCache:
    """The vectors of one model in a journal that only this process has open; memory holds only where each vector is."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._journal = Journal(path, "is sending the same requests and caches the replies here")
        self._places: dict[bytes, tuple[int, int]] = {}
        self._blocks: OrderedDict[int, tuple[Block, float]] = OrderedDict()
        self._size: int | None = None
        try:
            self._read_places()
        except BaseException:
            self.close()
            raise

    def _read_places(self) -> None:
        offset = 0
        for record in self._journal.records():
            self._index([key.tobytes() for key in record.block["keys"]], offset, record.block["vectors"].shape[1])
            offset = record.end

    def _index(self, keys: Sequence[bytes], offset: int, size: int) -> None:
        self._places |= {key: (offset, row) for row, key in enumerate(keys)}
        self._size = size

    def find(self, key: bytes) -> CachedVector | None:
        """The vector of a text, None if there is none."""
        with self._lock:
            place = self._places.get(key)
            if place is None:
                return None
            block, seconds = self._block(place[0])
            return _cached(block, place[1], seconds)

    def has(self, key: bytes) -> bool:
        """Whether the vector of a text is there."""
        return key in self._places

    def put(self, batch: VectorBatch) -> None:
        """Appends the vectors to the journal; they are on disk before this returns."""
        with self._lock:
            offset = self._journal.append(batch.block(), batch.seconds)
            self._index(batch.keys, offset, batch.vectors.shape[1])

    def size(self) -> int | None:
        """The dimensions of the vectors, None if there are none."""
        return self._size

    def close(self) -> None:
        """Closes the journal."""
        self._blocks.clear()
        self._journal.__exit__(None, None, None)

    def _block(self, offset: int) -> tuple[Block, float]:
        if offset not in self._blocks:
            record = self._journal.record(offset)
            self._blocks[offset] = record.block, record.seconds
            if len(self._blocks) > _OPEN_RECORDS:
                self._blocks.popitem(last=False)
        return self._blocks[offset]


def split_tokens(tokens: int, texts: Sequence[str]) -> list[int]:
    """The tokens of a request shared among its texts by their bytes; the shares are whole numbers that add up exactly."""
    sizes = np.cumsum([len(text.encode("utf-8", "surrogatepass")) for text in texts], dtype=np.float64)
    ends = np.rint(sizes * (tokens / sizes[-1])).astype(np.int64)
    shares: list[int] = np.diff(ends, prepend=0).tolist()
    return shares
