"""What goes back to a browser, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HTML, JSON, TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """A status, a body and what its headers say of it."""

    status: int
    kind: str
    body: bytes
    policy: str = "default-src 'none'"
    headers: Mapping[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    """A request that is not answered: its status, and words that give nothing away."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


def plain(status: int, words: str) -> Reply:
    """A line of text."""
    return Reply(status, TEXT, f"{words}\n".encode(errors="backslashreplace"))


def as_json(status: int, value: Mapping[str, Any]) -> Reply:
    """A JSON object."""
    return Reply(status, JSON, json.dumps(value, ensure_ascii=True, allow_nan=False).encode())
