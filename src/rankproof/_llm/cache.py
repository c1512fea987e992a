"""Caches the replies of language models and search engines, in memory or in a journal on disk."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from rankproof._data.identity import identity_key
from rankproof._io.cache_items import CacheHold
from rankproof._io.journal import Journal
from rankproof._llm.vector_cache import DiskVectorCache, MemoryVectorCache, VectorCache


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


class ResponseCache(Protocol[ReplyT]):
    """Replies by the key of their request; safe for several threads."""

    def find(self, key: str) -> ReplyT | None:
        """The cached reply, None if there is none."""
        ...

    def is_earlier(self, key: str) -> bool:
        """Whether the reply was cached before this session."""
        ...

    def put(self, key: str, reply: ReplyT) -> None:
        """Stores a reply in place of an earlier one; a disk cache has it on disk before this returns."""
        ...

    def close(self) -> None:
        """Closes files."""
        ...


class MemoryResponseCache(Generic[ReplyT]):
    """Replies in memory, for this process only."""

    def __init__(self) -> None:
        self._found: dict[str, ReplyT] = {}

    def find(self, key: str) -> ReplyT | None:
        return self._found.get(key)

    def is_earlier(self, key: str) -> bool:
        return False

    def put(self, key: str, reply: ReplyT) -> None:
        self._found[key] = reply

    def close(self) -> None:
        """Does nothing: no file is open."""


def request_key(request: object) -> str:
    """The cache key of a request, a frozen value, within the cache of one model."""
    return identity_key(request)


_RESPONSE_KEY_LENGTH = 32


class DiskResponseCache(Generic[ReplyT]):
    """The replies of one model for one use, or of one search engine, in a journal that only this process has open."""

    def __init__(self, path: Path, kind: type[ReplyT]) -> None:
        self._lock = threading.Lock()
        self._journal = Journal(path, "is sending the same requests and caches the replies here")
        try:
            lines = (json.loads(record.block["reply"].tobytes()) for record in self._journal.records())
            self._replies = {line["key"]: kind.from_json(line["reply"]) for line in lines}
            self._earlier = set(self._replies)
        except BaseException:
            self.close()
            raise

    def find(self, key: str) -> ReplyT | None:
        """The cached reply, None if there is none."""
        return self._replies.get(key)

    def is_earlier(self, key: str) -> bool:
        """Whether the reply was in the journal when it was opened."""
        return key in self._earlier

    def put(self, key: str, reply: ReplyT) -> None:
        """Appends the reply to the journal, where the last one of a key counts; it is on disk before this returns."""
        content = json.dumps({"key": key, "reply": asdict(reply)}).encode()
        with self._lock:
            self._journal.append({"reply": np.frombuffer(content, np.uint8)}, reply.seconds)
            self._replies[key] = reply
            self._earlier.discard(key)

    def close(self) -> None:
        """Closes the journal."""
        self._journal.__exit__(None, None, None)


class OpenCache(Protocol):
    """Opens the cache of a key for one kind of reply."""

    def __call__(self, key: str, kind: type[ReplyT]) -> ResponseCache[ReplyT]: ...

    def vectors(self, key: str) -> VectorCache:
        """Opens the cache of the vectors of an embedding API."""
        ...


class ResponseCaches:
    """The response caches in a cache folder, one for each model and use, and one for each search engine."""

    def __init__(self, home: Path) -> None:
        self._folder, self._hold = home / "responses", CacheHold(home)

    def __call__(self, key: str, kind: type[ReplyT]) -> DiskResponseCache[ReplyT]:
        return DiskResponseCache(self._path(key), kind)

    def vectors(self, key: str) -> DiskVectorCache:
        """The vectors of an embedding API."""
        return DiskVectorCache(self._path(key))

    def _path(self, key: str) -> Path:
        return self._folder / f"{key[:_RESPONSE_KEY_LENGTH]}.journal"


class MemoryCaches:
    """Caches in memory."""

    def __call__(self, key: str, kind: type[ReplyT]) -> MemoryResponseCache[ReplyT]:
        return MemoryResponseCache()

    def vectors(self, key: str) -> MemoryVectorCache:
        """The vectors of an embedding API."""
        return MemoryVectorCache()
