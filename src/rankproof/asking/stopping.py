"""Asking, stopped: whoever waits on a thread is woken, and nothing more is sent."""

from __future__ import annotations

import threading

from ..errors import WorldError


class AskingStoppedError(WorldError):
    """Another thread met what ends the run, or somebody stopped it."""

    def __init__(self) -> None:
        super().__init__("asking was stopped; every reply so far is kept")


class Stop:
    """Set once, seen by every thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """From now on."""
        self._event.set()

    def check(self) -> None:
        """Raises where it is set."""
        if self._event.is_set():
            raise AskingStoppedError

    def sleep(self, seconds: float) -> None:
        """Waits so long, or until it is set, which is an error."""
        self._event.wait(seconds)
        self.check()
