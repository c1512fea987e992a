"""SIGTERM heard as an interrupt, so that whoever is asked to end cleans up first: databases, temporary folders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .endings import TerminatedError


@contextmanager
def heard_termination() -> Iterator[None]:
    """While the block runs; elsewhere than in the main thread, or where somebody else hears the signal, nothing changes."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def terminate(number: int, frame: FrameType | None) -> None:
        # One is enough: a second would stop the cleaning up.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise TerminatedError

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
