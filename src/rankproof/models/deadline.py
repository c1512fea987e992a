"""A time limit for a call that has none of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """The call's result, or TimeoutError; a call that takes longer is left to end by itself, on a thread nobody waits for."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.extend((call(), None))
        except BaseException as error:
            found.extend((None, error))

    waiting = threading.Thread(target=run, daemon=True)
    waiting.start()
    waiting.join(seconds)
    if not found:
        raise TimeoutError(f"no answer within {seconds:g} s")
    if found[1] is not None:
        raise found[1]
    return found[0]
