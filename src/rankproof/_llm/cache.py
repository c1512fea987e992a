"""Caches the replies of language models, in memory or in a journal on disk."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rankproof._data.identity import identity_key
from rankproof._io.journal import Journal
from rankproof.models._chat.base import ChatReply, ChatRequest


class ResponseCache(Protocol):
    """Replies by the key of their request; safe for several threads."""

    def find(self, key: str) -> ChatReply | None:
        """The cached reply, None if there is none."""
        ...

    def put(self, key: str, reply: ChatReply) -> None:
        """Stores a reply; a disk cache has it on disk before this returns."""
        ...

    def close(self) -> None:
        """Closes files."""
        ...


class MemoryResponseCache:
    """Replies in memory, for this process only."""

    def __init__(self) -> None:
        self._found: dict[str, ChatReply] = {}

    def find(self, key: str) -> ChatReply | None:
        return self._found.get(key)

    def put(self, key: str, reply: ChatReply) -> None:
        self._found[key] = reply

    def close(self) -> None:
        """Does nothing: no file is open."""


def request_key(request: ChatRequest) -> str:
    """The cache key of a request, within the cache of one model."""
    return identity_key(request)


_RESPONSE_KEY_LENGTH = 32


class DiskResponseCache:
    """The replies of one model for one use, in a journal that only this process has open."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._journal = Journal(path, "is calling the same model for the same use and caches its replies here")
        try:
            found = (json.loads(record.block["reply"].tobytes()) for record in self._journal.records())
            self._replies = {each["key"]: _reply_from_json(each["reply"]) for each in found}
        except BaseException:
            self.close()
            raise

    def find(self, key: str) -> ChatReply | None:
        """The cached reply, None if there is none."""
        return self._replies.get(key)

    def put(self, key: str, reply: ChatReply) -> None:
        """Appends the reply to the journal; it is on disk before this returns."""
        content = json.dumps({"key": key, "reply": asdict(reply)}).encode()
        with self._lock:
            self._journal.append({"reply": np.frombuffer(content, np.uint8)}, reply.seconds)
            self._replies[key] = reply

    def close(self) -> None:
        """Closes the journal."""
        self._journal.__exit__(None, None, None)


class ResponseCaches:
    """The response caches in a cache folder, one for each model and use."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "responses"

    def __call__(self, key: str) -> DiskResponseCache:
        return DiskResponseCache(self._folder / f"{key[:_RESPONSE_KEY_LENGTH]}.journal")


def _reply_from_json(values: dict[str, Any]) -> ChatReply:
    first = values["first"]
    return ChatReply(**{**values, "first": None if first is None else tuple((token, value) for token, value in first)})
