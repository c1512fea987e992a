"""Work on several items at once, most of which is waiting for a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from .desk import Desk
from .stopping import AskingStoppedError

T = TypeVar("T")
R = TypeVar("R")


def in_lanes(desk: Desk, work: Callable[[T], R], items: Sequence[T], lanes: int) -> list[R]:
    """What the work gives for each item, in their order, so many at once; one lane works here and starts no thread.

    The first failure ends all: pauses are cut short, nothing more is sent, and what is under way may end, because it is paid for.
    An interrupt does not wait for that either.
    """
    if lanes <= 1 or len(items) <= 1:
        return [work(item) for item in items]
    pool = ThreadPoolExecutor(min(lanes, len(items)))
    try:
        futures = [pool.submit(work, item) for item in items]
        if any(future.exception() for future in wait(futures, return_when=FIRST_EXCEPTION).done):
            desk.stop()
            pool.shutdown(cancel_futures=True)
            raise _first_cause([error for future in futures if not future.cancelled() and (error := future.exception())])
        return [future.result() for future in futures]
    except KeyboardInterrupt:
        desk.stop(at_once=True)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _first_cause(errors: Sequence[BaseException]) -> BaseException:
    """The first that is no mere consequence of another."""
    return next((error for error in errors if not isinstance(error, AskingStoppedError)), errors[0])
