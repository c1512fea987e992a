"""Calls that end: each on a thread of its own, so many at once, by its deadline, or when all are stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class StoppedError(Exception):
    """The calls were stopped while this one was under way or waited for its turn."""


class _Box(Generic[T]):
    """What a call came to."""

    __slots__ = ("error", "is_full", "result")

    def __init__(self) -> None:
        self.is_full = False
        self.result: T | None = None
        self.error: BaseException | None = None


class Calls:
    """At most so many at once; one that is given up ends by itself, on a thread nobody waits for."""

    def __init__(self, most: int) -> None:
        self._most, self._under_way, self._running = most, 0, 0
        self._stopped = False
        self._afterwards: Callable[[], None] = lambda: None
        self._changed = threading.Condition()

    def within(self, seconds: float, call: Callable[[], T]) -> T:
        """The call's result; TimeoutError or StoppedError where there is none. Waiting for its turn does not count."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._under_way < self._most)
            self._refuse_stopped()
            self._under_way += 1
        try:
            return self._awaited(seconds, call)
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def stop(self, afterwards: Callable[[], None]) -> None:
        """Ends every wait, now and from now on; `afterwards` is run when the last call has ended, which may be later."""
        with self._changed:
            self._stopped, self._afterwards = True, afterwards
            is_last = not self._running
            self._changed.notify_all()
        if is_last:
            afterwards()

    def _awaited(self, seconds: float, call: Callable[[], T]) -> T:
        box: _Box[T] = _Box()
        with self._changed:
            self._running += 1
        threading.Thread(target=self._run, args=(call, box), daemon=True).start()
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or box.is_full, seconds)
            if not box.is_full:
                self._refuse_stopped()
                raise TimeoutError
        if box.error is not None:
            raise box.error
        return box.result  # type: ignore[return-value]

    def _run(self, call: Callable[[], T], box: _Box[T]) -> None:
        try:
            box.result = call()
        except BaseException as error:
            # Whoever gets it must not see what the frames of the call hold: headers, and bodies as they came.
            error.__context__ = None
            box.error = error.with_traceback(None)
        with self._changed:
            box.is_full = True
            self._running -= 1
            is_last = self._stopped and not self._running
            self._changed.notify_all()
        if is_last:
            self._afterwards()

    def _refuse_stopped(self) -> None:
        if self._stopped:
            raise StoppedError
