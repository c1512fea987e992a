"""Turns: of several threads that want the same, one at a time goes, and the others find what it brought."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock for each key that somebody holds or waits for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def of(self, key: str) -> Iterator[None]:
        """Waits for the key's turn, and passes it on after the block."""
        with self._lock:
            turn, many = self._held.get(key, (threading.Lock(), 0))
            self._held[key] = turn, many + 1
        try:
            with turn:
                yield
        finally:
            with self._lock:
                turn, many = self._held.pop(key)
                if many > 1:
                    self._held[key] = turn, many - 1
