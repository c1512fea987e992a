"""How long to wait before a failed request is made again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..models.chat.port import ChatFailedError


@dataclass(frozen=True, slots=True)
class Patience:
    """At most `tries` requests; pauses double from `first` to `longest` seconds, and a pause that the server asks for is kept.

    A server that asks for more than `most_wait` seconds is not waited for. `sleep` is what waits, None for the desk's own way,
    which ends when asking is stopped.
    """

    tries: int = 5
    first: float = 0.5
    longest: float = 30.0
    most_wait: float = 120.0
    sleep: Callable[[float], None] | None = field(default=None, compare=False)

    def pause(self, failure: ChatFailedError, request: int) -> float | None:
        """Seconds to wait after that many requests; None where another one is of no use."""
        if not failure.again or request >= self.tries:
            return None
        own = min(self.first * 2.0 ** (request - 1), self.longest)
        if failure.wait is None:
            return own
        return None if failure.wait > self.most_wait else max(failure.wait, own)
