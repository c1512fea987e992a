"""ResponseCache."""

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
    """Replies by the key of what was asked; safe for several threads."""

    def find(self, key: str) -> ChatReply | None:
        """The reply of an earlier ask, None where there is none."""
        ...

    def put(self, key: str, reply: ChatReply) -> None:
        """Keeps a reply; it is there after any kill once this returns."""
        ...

    def close(self) -> None:
        """Lets go of files."""
        ...


class MemoryResponseCache:
    """Replies for this process alone."""

    def __init__(self) -> None:
        self._found: dict[str, ChatReply] = {}

    def find(self, key: str) -> ChatReply | None:
        return self._found.get(key)

    def put(self, key: str, reply: ChatReply) -> None:
        self._found[key] = reply

    def close(self) -> None:
        """Nothing is open."""


def request_key(request: ChatRequest) -> str:
    """The key under which a reply is kept, within the book of one model."""
    return identity_key(request)


_RESPONSE_KEY_LENGTH = 32


class DiskResponseCache:
    """The replies of one book, in one journal that this process alone has open."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._journal = Journal(path, "is asking the same model for the same use and keeps its replies here")
        try:
            found = (json.loads(record.block["reply"].tobytes()) for record in self._journal.records())
            self._replies = {each["key"]: _reply_from_json(each["reply"]) for each in found}
        except BaseException:
            self.close()
            raise

    def find(self, key: str) -> ChatReply | None:
        """The reply of that key."""
        return self._replies.get(key)

    def put(self, key: str, reply: ChatReply) -> None:
        """Writes the reply, on disk before this returns."""
        content = json.dumps({"key": key, "reply": asdict(reply)}).encode()
        with self._lock:
            self._journal.append({"reply": np.frombuffer(content, np.uint8)}, reply.seconds)
            self._replies[key] = reply

    def close(self) -> None:
        """Closes the journal."""
        self._journal.__exit__(None, None, None)


class ResponseCaches:
    """The books under a cache folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "responses"

    def __call__(self, key: str) -> DiskResponseCache:
        return DiskResponseCache(self._folder / f"{key[:_RESPONSE_KEY_LENGTH]}.journal")


def _reply_from_json(values: dict[str, Any]) -> ChatReply:
    first = values["first"]
    return ChatReply(**{**values, "first": None if first is None else tuple((token, value) for token, value in first)})
