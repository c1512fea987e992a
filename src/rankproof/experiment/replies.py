"""Replies of language models in journals: what came once is never asked for again, whatever ends the process."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..models.chat.port import Reply
from .journal import Journal

_KEY_LENGTH = 32


class JournalReplies:
    """The replies of one book, in one journal that this process alone has open."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._journal = Journal(path, "is asking the same model for the same use and keeps its replies here")
        try:
            found = (json.loads(record.block["reply"].tobytes()) for record in self._journal.records())
            self._replies = {each["key"]: _reply(each["reply"]) for each in found}
        except BaseException:
            self.close()
            raise

    def find(self, key: str) -> Reply | None:
        """The reply of that key."""
        return self._replies.get(key)

    def put(self, key: str, reply: Reply) -> None:
        """Writes the reply, on disk before this returns."""
        content = json.dumps({"key": key, "reply": asdict(reply)}).encode()
        with self._lock:
            self._journal.append({"reply": np.frombuffer(content, np.uint8)}, reply.seconds)
            self._replies[key] = reply

    def close(self) -> None:
        """Closes the journal."""
        self._journal.__exit__(None, None, None)


class Books:
    """The books under a cache folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "replies"

    def __call__(self, key: str) -> JournalReplies:
        return JournalReplies(self._folder / f"{key[:_KEY_LENGTH]}.journal")


def _reply(values: dict[str, Any]) -> Reply:
    first = values["first"]
    return Reply(**{**values, "first": None if first is None else tuple((token, value) for token, value in first)})
