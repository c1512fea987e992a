"""Work on several items at once, most of which is waiting for a language model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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
    return list(in_turn(desk, work, items, lanes))


def in_turn(desk: Desk, work: Callable[[T], R], items: Sequence[T], lanes: int) -> Generator[R, None, None]:
    """The same one after the other, each as soon as it and those before it are done, while the lanes go on with those after it.

    Whoever does not take them to the end closes the iterator, which ends all as an interrupt does.
    """
    if lanes <= 1 or len(items) <= 1:
        yield from map(work, items)
        return

    def one(item: T) -> R:
        try:
            return work(item)
        except BaseException:
            desk.stop()
            raise

    pool = ThreadPoolExecutor(min(lanes, len(items)))
    futures = [pool.submit(one, item) for item in items]
    try:
        for future in futures:
            if future.exception():
                pool.shutdown(cancel_futures=True)
                raise _first_cause(futures)
            yield future.result()
    except (KeyboardInterrupt, GeneratorExit):
        if not all(future.done() for future in futures):
            desk.stop(at_once=True)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _first_cause(futures: Sequence[Future[R]]) -> BaseException:
    """The first that is no mere consequence of another."""
    errors = [error for future in futures if not future.cancelled() and (error := future.exception())]
    return next((error for error in errors if not isinstance(error, AskingStoppedError)), errors[0])
