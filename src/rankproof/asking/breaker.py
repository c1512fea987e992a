"""When to end everything: a server that is down answers nobody, one that refuses a request may answer the next."""

from __future__ import annotations

import threading

from ..errors import WorldError
from ..models.chat.port import ChatFailedError
from .budget import kept

MOST_FAILURES = 10
"""In a row, by all threads together, after which the server is taken to be down."""


class Breaker:
    """What asks came to, whoever met it."""

    def __init__(self, *, keeps: bool = True) -> None:
        self._keeps = keeps
        self._lock = threading.Lock()
        self._failures, self._refused = 0, 0
        self._is_heard, self._last = False, ""

    def answered(self, *, kept: bool = False) -> None:
        """A reply came; one from a book says that the model answers, but not that its server is well."""
        with self._lock:
            self._is_heard = True
            self._failures = self._failures if kept else 0

    def failed(self, failure: ChatFailedError) -> None:
        """An ask brought no reply: ends everything where too many in a row might yet have brought one."""
        with self._lock:
            if not failure.again:
                self._refused, self._last = self._refused + 1, str(failure)
                return
            self._failures += 1
            failures = self._failures
        if failures >= MOST_FAILURES:
            raise WorldError(
                f"{failures} asks in a row failed, the last one so: {failure}; {kept(self._keeps)}: "
                "run the same command again when the server is well"
            ) from None

    def refusal(self) -> str:
        """What to say where nothing but refusals came, "" elsewhere."""
        with self._lock:
            if self._is_heard or self._failures or not self._refused:
                return ""
            return f"the server refused every ask ({self._refused}), the last one so: {self._last}"
