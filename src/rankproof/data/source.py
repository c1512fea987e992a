"""Bytes that can be read again from the start, under the name that messages use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class ByteStream(Protocol):
    """The part of a binary file that a reader needs."""

    def readinto(self, buffer: memoryview, /) -> int | None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Source:
    """Text in UTF-8, decompressed; `open` starts again from the first byte each time.

    `path` is set when the bytes lie as they are in a plain file, which several threads may then read in slices.
    """

    name: str
    open: Callable[[], ByteStream]
    path: str | None = None
