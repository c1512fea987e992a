"""Decides when a failed request is sent again, and when all requests stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from rankproof._llm.budget import replies_saved_note
from rankproof.errors import ExternalError
from rankproof.models._api.errors import ModelRequestError


class FailedRequest(Protocol):
    """A request that failed: whether the same request may succeed later, and how many seconds the server demands before that."""

    retryable: bool
    wait: float | None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `max_requests` requests; pauses double from `first_pause` to `max_pause` seconds, or last as the server demands.

    A server that demands more than `max_wait` seconds is not retried. `sleep` waits; None waits until the session is cancelled.
    """

    max_requests: int = 5
    first_pause: float = 0.5
    max_pause: float = 30.0
    max_wait: float = 120.0
    sleep: Callable[[float], None] | None = field(default=None, compare=False)

    def pause(self, failure: FailedRequest, request: int) -> float | None:
        """Seconds to wait after that many requests; None if the request is not sent again."""
        if not failure.retryable or request >= self.max_requests:
            return None
        own = min(self.first_pause * 2.0 ** (request - 1), self.max_pause)
        if failure.wait is None:
            return own
        return None if failure.wait > self.max_wait else max(failure.wait, own)


MAX_CONSECUTIVE_FAILURES = 10
"""Failures in a row, over all threads, after which the server counts as down."""


class CircuitBreaker:
    """Stops all requests after too many failures in a row, over all threads."""

    def __init__(self, *, is_persistent: bool = True) -> None:
        self._is_persistent = is_persistent
        self._lock = threading.Lock()
        self._failures, self._rejected = 0, 0
        self._has_replied, self._last = False, ""

    def record_reply(self, *, from_cache: bool = False) -> None:
        """Counts a reply; a cached one does not show that the server is up."""
        with self._lock:
            self._has_replied = True
            self._failures = self._failures if from_cache else 0

    def record_failure(self, failure: ModelRequestError) -> None:
        """Counts a failed request; raises an error after too many retryable failures in a row."""
        with self._lock:
            if not failure.retryable:
                self._rejected, self._last = self._rejected + 1, str(failure)
                return
            self._failures += 1
            failures = self._failures
        if failures >= MAX_CONSECUTIVE_FAILURES:
            raise ExternalError(
                f"{failures} requests in a row failed, the last one with: {failure}; "
                f"{replies_saved_note(self._is_persistent)}: run the same command again when the server is up"
            ) from None

    def rejection_note(self) -> str:
        """A note if the server rejected every request, else ""."""
        with self._lock:
            if self._has_replied or self._failures or not self._rejected:
                return ""
            return f"the server rejected every request ({self._rejected}), the last one with: {self._last}"
