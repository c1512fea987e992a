"""Where the bench keeps the slow work of stages: journals under the cache folder, or memory alone."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from ..stages.base import Block, Progress
from .failures import cache_failure
from .journal import Journal

_KEY_LENGTH = 32


class JournalKeep:
    """Blocks in journals that outlive the process."""

    def __init__(self, home: Path, progress: Progress) -> None:
        self._home, self._progress = home, progress
        self._folders = Folders(home / "databases")

    def blocks(self, key: str, count: int, make: Callable[[int], Block], *, label: str) -> tuple[list[Block], float]:
        """Goes on after the last whole block."""
        with Journal(self.path(key)) as journal:
            records = journal.records()
            for index in range(len(records), count):
                self._progress(label, index, count)
                block, seconds = _timed(make, index)
                journal.append(block, seconds)
            if len(records) < count:
                self._progress(label, count, count)
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

    def folder(self, key: str) -> str:
        """A folder under the cache, the same in every start, so that a database left behind by a kill is found again."""
        return self._folders.made(key[:_KEY_LENGTH])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._folders.clear()


class MemoryKeep:
    """Blocks for this process alone."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._made: dict[str, tuple[list[Block], float]] = {}
        self._folders = Folders(Path(tempfile.mkdtemp(prefix="rankproof-")))

    def blocks(self, key: str, count: int, make: Callable[[int], Block], *, label: str) -> tuple[list[Block], float]:
        """Every block once."""
        if key not in self._made:
            timed = []
            for index in range(count):
                self._progress(label, index, count)
                timed.append(_timed(make, index))
            self._progress(label, count, count)
            self._made[key] = [block for block, _ in timed], sum(seconds for _, seconds in timed)
        return self._made[key]

    def forget(self, key: str) -> None:
        """Lets go of the blocks."""
        self._made.pop(key, None)

    def folder(self, key: str) -> str:
        """A temporary folder."""
        return self._folders.made(key[:_KEY_LENGTH])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._folders.clear()


class Folders:
    """The folders of embedded databases, removed at the end."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._made: list[Path] = []

    def made(self, name: str) -> str:
        """The folder of that name."""
        path = self._home / name
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cache_failure(path, error) from None
        self._made.append(path)
        return os.fspath(path)

    def clear(self) -> None:
        """Removes them, and the folder that holds them when it is empty."""
        for path in self._made:
            shutil.rmtree(path, ignore_errors=True)
        try:
            self._home.rmdir()
        except OSError:
            return


def _timed(make: Callable[[int], Block], index: int) -> tuple[Block, float]:
    start = time.perf_counter()
    block = make(index)
    return block, time.perf_counter() - start
