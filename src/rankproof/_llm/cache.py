"""Caches the replies of models and search engines, and the vectors of embedding APIs, in memory or in a journal on disk."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._data.identity import identity_key
from rankproof._io.array_files import Block, Journal
from rankproof._io.cache_items import CacheHold


class CacheableReply(Protocol):
    """A reply that a cache can hold: a dataclass of JSON values that took some seconds and can be made from its JSON."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def seconds(self) -> float: ...

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self: ...


class PaidReply(CacheableReply, Protocol):
    """A reply of a model with its cost: requests (including failed ones), tokens, and whether they are estimated.

    `masked` says that an API key or a token in the reply is masked.
    """

    @property
    def requests(self) -> int: ...

    @property
    def tokens_in(self) -> int: ...

    @property
    def tokens_out(self) -> int: ...

    @property
    def estimated(self) -> bool: ...

    @property
    def masked(self) -> bool: ...


ReplyT = TypeVar("ReplyT", bound=CacheableReply)


def request_key(request: object) -> str:
    """The cache key of a request, a frozen value, within the cache of one model."""
    return identity_key(request)


_IN_USE = "is sending the same requests and caches the replies here"


class ResponseCache(Generic[ReplyT]):
    """The replies of one model for one use, or of one search engine, by the key of their request; safe for several threads.

    With a path they are in a journal that only this process has open, else in memory.
    """

    def __init__(self, path: Path | None, kind: type[ReplyT]) -> None:
        self._lock = threading.Lock()
        self._replies: dict[str, ReplyT] = {}
        self._journal = None if path is None else Journal(path, _IN_USE)
        try:
            for record in self._journal.records() if self._journal else ():
                line = json.loads(record.block["reply"].tobytes())
                self._replies[line["key"]] = kind.from_json(line["reply"])
        except BaseException:
            self.close()
            raise
        self._earlier = set(self._replies)

    def find(self, key: str) -> ReplyT | None:
        """The cached reply, None if there is none."""
        return self._replies.get(key)

    def is_earlier(self, key: str) -> bool:
        """Whether the reply was cached before this session."""
        return key in self._earlier

    def put(self, key: str, reply: ReplyT) -> None:
        """Stores a reply in place of an earlier one; in a journal it is on disk before this returns."""
        with self._lock:
            if self._journal:
                # The last reply of a key counts, so an earlier one stays in the journal.
                content = json.dumps({"key": key, "reply": asdict(reply)}).encode()
                self._journal.append({"reply": np.frombuffer(content, np.uint8)}, reply.seconds)
            self._replies[key] = reply
            self._earlier.discard(key)

    def close(self) -> None:
        """Closes the journal."""
        if self._journal:
            self._journal.__exit__(None, None, None)


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


def _cached(block: Block, row: int, seconds: float) -> CachedVector:
    """The vector in a row, with its share of the time; the whole requests and marks belong to the first row."""
    estimated, masked = (bool(mark) and row == 0 for mark in block["marks"])
    share = seconds / len(block["tokens"])
    tokens, requests = int(block["tokens"][row]), int(block["requests"][row])
    return CachedVector(block["vectors"][row], tokens, requests, share, estimated, masked)


class VectorCache:
    """The vectors of one model by the key of their text; safe for several threads.

    With a path they are in a journal that only this process has open, and memory holds only where each vector is.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._journal = None if path is None else Journal(path, _IN_USE)
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
        for record in self._journal.records() if self._journal else ():
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
        """Adds the vectors of one request; in a journal they are on disk before this returns."""
        block = batch.block()
        with self._lock:
            if self._journal:
                offset = self._journal.append(block, batch.seconds)
            else:
                offset = len(self._blocks)
                self._blocks[offset] = block, batch.seconds
            self._index(batch.keys, offset, batch.vectors.shape[1])

    def size(self) -> int | None:
        """The dimensions of the vectors, None if there are none."""
        return self._size

    def close(self) -> None:
        """Closes the journal."""
        self._blocks.clear()
        if self._journal:
            self._journal.__exit__(None, None, None)

    def _block(self, offset: int) -> tuple[Block, float]:
        if self._journal and offset not in self._blocks:
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


_RESPONSE_KEY_LENGTH = 32


class ResponseCaches:
    """The caches of a session: in a cache folder one journal for each model and use and each search engine, else in memory."""

    def __init__(self, home: Path | None = None) -> None:
        self._folder = None if home is None else home / "responses"
        self._hold = None if home is None else CacheHold(home)

    def replies(self, key: str, kind: type[ReplyT]) -> ResponseCache[ReplyT]:
        """The replies under a key."""
        return ResponseCache(self._path(key), kind)

    def vectors(self, key: str) -> VectorCache:
        """The vectors of an embedding API under a key."""
        return VectorCache(self._path(key))

    def _path(self, key: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{key[:_RESPONSE_KEY_LENGTH]}.journal"
