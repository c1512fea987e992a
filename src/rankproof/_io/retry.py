"""Failed requests to a server, and when they are sent again; the only retry loop of models, search engines and stores."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from rankproof.errors import ExternalError

T = TypeVar("T")


class RequestError(ExternalError):
    """A request failed.

    `retryable` says whether the same request may succeed later, `wait` how many seconds the server demands before that, and
    `charged` that the request may have cost money. The retry policy sets `requests`, how many were sent.
    """

    def __init__(self, message: str, *, retryable: bool = False, wait: float | None = None, charged: bool = False) -> None:
        self.retryable, self.wait, self.charged = retryable, wait, charged
        self.requests = 0
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `max_requests` requests; pauses double from `first_pause` to `max_pause` seconds, or last as the server demands.

    A server that demands more than `max_wait` seconds is not retried. `sleep` replaces the sleep of the caller.
    """

    # Five requests with these pauses outlast a restart of 7 s; a rate limit per minute is within `max_wait`.
    max_requests: int = 5
    first_pause: float = 0.5
    max_pause: float = 30.0
    max_wait: float = 120.0
    sleep: Callable[[float], None] | None = field(default=None, compare=False)

    def pause(self, failure: RequestError, request: int) -> float | None:
        """Seconds to wait after that many requests; None if the request is not sent again."""
        if not failure.retryable or request >= self.max_requests:
            return None
        own = min(self.first_pause * 2.0 ** (request - 1), self.max_pause)
        if failure.wait is None:
            return own
        return None if failure.wait > self.max_wait else max(failure.wait, own)

    def send(
        self,
        request: Callable[[], T],
        sleep: Callable[[float], None] = time.sleep,
        *,
        is_changed: Callable[[RequestError], bool] = lambda failure: False,
    ) -> tuple[T, int]:
        """What `request` returns, and how many requests it took; the last RequestError if none succeeds.

        `is_changed` says after a failure that the next request differs, so that it is sent at once.
        """
        requests = 0
        while True:
            requests += 1
            try:
                return request(), requests
            except RequestError as failure:
                failure.requests = requests
                if is_changed(failure):
                    continue
                pause = self.pause(failure, requests)
                if pause is None:
                    raise
            (self.sleep or sleep)(pause)
