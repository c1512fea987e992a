"""Where replies are kept, so that nothing is asked twice."""

from __future__ import annotations

from typing import Protocol

from ..data.identity import key_of
from ..models.chat.port import Ask, Reply


class Replies(Protocol):
    """Replies by the key of what was asked; safe for several threads."""

    def find(self, key: str) -> Reply | None:
        """The reply of an earlier ask, None where there is none."""
        ...

    def put(self, key: str, reply: Reply) -> None:
        """Keeps a reply; it is there after any kill once this returns."""
        ...

    def close(self) -> None:
        """Lets go of files."""
        ...


class MemoryReplies:
    """Replies for this process alone."""

    def __init__(self) -> None:
        self._found: dict[str, Reply] = {}

    def find(self, key: str) -> Reply | None:
        return self._found.get(key)

    def put(self, key: str, reply: Reply) -> None:
        self._found[key] = reply

    def close(self) -> None:
        """Nothing is open."""


def key_of_ask(ask: Ask) -> str:
    """The key under which a reply is kept, within the book of one model."""
    return key_of(ask)
