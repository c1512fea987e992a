"""Where the bench keeps the slow work of stages: journals under the cache folder, or memory alone."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from ..stages.base import Block, Progress
from .database_folders import DatabaseFolders
from .failures import cache_damage, cache_failure
from .journal import Journal
from .records import Record

_KEY_LENGTH = 32


class _FolderKeep:
    """What every keep has: folders for embedded databases, cleared when the run ends."""

    def __init__(self, folders: DatabaseFolders, progress: Progress) -> None:
        self._folders, self._progress = folders, progress

    def folder(self, key: str) -> str:
        """A folder for the files of an embedded database, this run's alone."""
        return self._folders.made(key[:_KEY_LENGTH])

    def _tell(self, label: str, done: int, count: int, items: int | None) -> None:
        """How far the work is, in what the blocks hold; without that, in blocks."""
        self._progress(label, done * items // count if items and count else done, items or count)

    def unkept(self, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None) -> list[Block]:
        """Every block, made now and kept nowhere."""
        return [block for block, _ in self._timed(count, make, label, items)]

    def _timed(self, count: int, make: Callable[[int], Block], label: str, items: int | None) -> list[tuple[Block, float]]:
        timed = []
        for index in range(count):
            self._tell(label, index, count, items)
            timed.append(_timed(make, index))
        self._tell(label, count, count, items)
        return timed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._folders.clear()


class JournalKeep(_FolderKeep):
    """Blocks in journals that outlive the process; a database that a kill left behind is found again."""

    def __init__(self, home: Path, progress: Progress) -> None:
        super().__init__(DatabaseFolders(home / "databases"), progress)
        self._home = home

    def blocks(
        self, key: str, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None
    ) -> tuple[list[Block], float]:
        """Goes on after the last whole block."""
        with Journal(self.path(key)) as journal:
            records = _at_most(count, journal)
            for index in range(len(records), count):
                self._tell(label, index, count, items)
                block, seconds = _timed(make, index)
                journal.append(block, seconds)
            if len(records) < count:
                self._tell(label, count, count, items)
                records = journal.records()
        return [record.block for record in records], sum(record.seconds for record in records)

    def path(self, key: str) -> Path:
        """The journal of that key."""
        return self._home / "journals" / f"{key[:_KEY_LENGTH]}.journal"

    def forget(self, key: str) -> None:
        """Removes the journal of work that is now kept elsewhere."""
        try:
            self.path(key).unlink(missing_ok=True)
        except OSError as error:
            raise cache_failure(self.path(key), error) from None


class MemoryKeep(_FolderKeep):
    """Blocks for this process alone."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(DatabaseFolders(Path(tempfile.mkdtemp(prefix="rankproof-"))), progress)
        self._made: dict[str, tuple[list[Block], float]] = {}

    def blocks(
        self, key: str, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None
    ) -> tuple[list[Block], float]:
        """Every block once."""
        if key not in self._made:
            timed = self._timed(count, make, label, items)
            self._made[key] = [block for block, _ in timed], sum(seconds for _, seconds in timed)
        return self._made[key]

    def forget(self, key: str) -> None:
        """Lets go of the blocks."""
        self._made.pop(key, None)


def _at_most(count: int, journal: Journal) -> list[Record]:
    """What the journal holds; one with more blocks than the work has is another work's, and is emptied."""
    records = journal.records()
    if len(records) > count:
        found = len(records)
        records.clear()
        journal.clear()
        raise cache_damage(journal.path, f"{found} blocks where {count} belong", "it was emptied")
    return records


def _timed(make: Callable[[int], Block], index: int) -> tuple[Block, float]:
    start = time.perf_counter()
    block = make(index)
    return block, time.perf_counter() - start
