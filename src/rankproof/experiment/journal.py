"""An append-only file of blocks: what was written whole is there after any kill, and is not made again."""

from __future__ import annotations

import mmap
import os
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import WorldError, visible
from ..stages.base import Block
from .failures import BROKEN, ELSEWHERE, cache_damage, cache_failure
from .locks import try_lock
from .records import MARK, STEP, Record, record_at, record_bytes


class Journal:
    """A journal open for this process alone; `at_work` is what another one does that has it open."""

    def __init__(self, path: Path, at_work: str = "is at work on the same stage") -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise cache_failure(path, error) from None
        self._file = FileIO(handle, "r+")
        if not try_lock(handle):
            self._file.close()
            raise WorldError(visible(f"{path}: another rankproof {at_work}; wait for it, or {ELSEWHERE}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def records(self) -> list[Record]:
        """Every whole record, as views of the file; one that a kill cut short is dropped, other damage is an error."""
        size = self._file.seek(0, os.SEEK_END)
        data = self._mapped(size)
        found: list[Record] = []
        start = 0
        while start < size and (record := record_at(data, start)) is not None:
            found.append(record)
            start = record.end
        if start == size:
            return found
        damaged = any(record_at(data, at) for at in range(start + STEP, size, STEP) if data[at : at + len(MARK)] == MARK)
        found.clear()
        del data
        self._cut(start)
        if damaged:
            raise cache_damage(self.path, BROKEN, "what stands before the damage was kept")
        return self.records()

    def append(self, block: Block, seconds: float) -> None:
        """Adds a block, on disk before this returns; a failure leaves the journal as it was."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(record_bytes(block, seconds))
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._cut(end)
            raise cache_failure(self.path, error) from None

    def clear(self) -> None:
        """Empties it."""
        self._cut(0)

    def _mapped(self, size: int) -> memoryview:
        """The file in memory, through a handle of its own: views may outlive the lock, which a shared one would prolong."""
        if not size:
            return memoryview(b"")
        with open(self.path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def _cut(self, end: int) -> None:
        try:
            self._file.truncate(end)
        except OSError as error:
            raise cache_failure(self.path, error) from None
