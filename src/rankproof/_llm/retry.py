"""RetryPolicy, CircuitBreaker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from rankproof._llm.budget import replies_saved_note
from rankproof.errors import ExternalError
from rankproof.models._chat.base import ChatRequestError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `tries` requests; pauses double from `first` to `longest` seconds, and a pause that the server asks for is kept.

    A server that asks for more than `most_wait` seconds is not waited for. `sleep` is what waits, None for the desk's own way,
    which ends when asking is stopped.
    """

    max_requests: int = 5
    first_pause: float = 0.5
    max_pause: float = 30.0
    max_wait: float = 120.0
    sleep: Callable[[float], None] | None = field(default=None, compare=False)

    def pause(self, failure: ChatRequestError, request: int) -> float | None:
        """Seconds to wait after that many requests; None where another one is of no use."""
        if not failure.retryable or request >= self.max_requests:
            return None
        own = min(self.first_pause * 2.0 ** (request - 1), self.max_pause)
        if failure.wait is None:
            return own
        return None if failure.wait > self.max_wait else max(failure.wait, own)


MAX_CONSECUTIVE_FAILURES = 10
"""In a row, by all threads together, after which the server is taken to be down."""


class CircuitBreaker:
    """What asks came to, whoever met it."""

    def __init__(self, *, is_persistent: bool = True) -> None:
        self._is_persistent = is_persistent
        self._lock = threading.Lock()
        self._failures, self._refused = 0, 0
        self._has_replied, self._last = False, ""

    def record_reply(self, *, from_cache: bool = False) -> None:
        """A reply came; one from a book says that the model answers, but not that its server is well."""
        with self._lock:
            self._has_replied = True
            self._failures = self._failures if from_cache else 0

    def record_failure(self, failure: ChatRequestError) -> None:
        """An ask brought no reply: ends everything where too many in a row might yet have brought one."""
        with self._lock:
            if not failure.retryable:
                self._refused, self._last = self._refused + 1, str(failure)
                return
            self._failures += 1
            failures = self._failures
        if failures >= MAX_CONSECUTIVE_FAILURES:
            raise ExternalError(
                f"{failures} asks in a row failed, the last one so: {failure}; {replies_saved_note(self._is_persistent)}: "
                "run the same command again when the server is well"
            ) from None

    def refusal_note(self) -> str:
        """What to say where nothing but refusals came, "" elsewhere."""
        with self._lock:
            if self._has_replied or self._failures or not self._refused:
                return ""
            return f"the server refused every ask ({self._refused}), the last one so: {self._last}"
