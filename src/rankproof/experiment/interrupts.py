"""Whoever stops a run is told that it stopped, not what closing met on the way: a database cut off in a query refuses more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..errors import RankproofError
from ..stages.base import Searcher


@contextmanager
def closed_after(searcher: Searcher) -> Iterator[None]:
    """Closes the searcher when the block ends; after an interrupt a failure to do so is not told."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(RankproofError):
            searcher.close()
        raise
    except BaseException:
        searcher.close()
        raise
    searcher.close()


@contextmanager
def interrupts_first() -> Iterator[None]:
    """Raises the interrupt behind a failure, where there is one: building cleans up after itself too."""
    try:
        yield
    except RankproofError as error:
        behind: BaseException | None = error
        while behind is not None and not isinstance(behind, KeyboardInterrupt):
            behind = behind.__context__
        if behind is None:
            raise
        raise behind from None
