"""Choices that bytes make: the same bytes make the same choices, so a fuzzer that changes a byte changes a choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


class Choices:
    """Reads the bytes from the front; after the last one every choice is the first."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    def number(self, below: int) -> int:
        """A number from 0."""
        if below <= 1:
            return 0
        size = 1 if below <= 256 else 2
        taken = self._content[self._place : self._place + size]
        self._place += size
        return int.from_bytes(taken, "little") % below

    def pick(self, values: Sequence[_T]) -> _T:
        """One of the values."""
        return values[self.number(len(values))]

    def happens(self, one_in: int) -> bool:
        """Whether something happens that does so rarely."""
        return self.number(one_in) == one_in - 1

    def raw(self, most: int) -> bytes:
        """Up to so many bytes as they are."""
        size = self.number(most + 1)
        taken = self._content[self._place : self._place + size]
        self._place += size
        return taken

    def several(self, make: Callable[[], _T], most: int) -> list[_T]:
        """Up to so many values."""
        return [make() for _ in range(self.number(most + 1))]
