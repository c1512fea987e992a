"""StageCache, BlockCache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from rankproof._data import format_versions
from rankproof._experiment.stage_output import StageOutput, read_stage_output, stage_output_bytes
from rankproof._io.files import try_lock, write_blocks
from rankproof._io.journal import (
    CHECKSUM_MISMATCH,
    OTHER_CACHE_FIX,
    Block,
    Journal,
    JournalRecord,
    cache_corruption_error,
    cache_io_error,
)
from rankproof.errors import ExternalError, RankproofError
from rankproof.stages._base import Progress

_FILE_HEADER = f"rankproof stage {format_versions.STAGE_CACHE}\n".encode()
_DIGEST_LENGTH = 32


class StageCache:
    """Outcomes under a folder; a file is written whole or not at all, and believed only where its checksum holds."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "stages"

    def find(self, key: str) -> StageOutput | None:
        """The outcome of that key, None where there is none; a damaged file is set aside and told."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise cache_io_error(path, error) from None
        body = content[len(_FILE_HEADER) + _DIGEST_LENGTH :]
        if (
            not content.startswith(_FILE_HEADER)
            or content[len(_FILE_HEADER) : len(_FILE_HEADER) + _DIGEST_LENGTH] != hashlib.sha256(body).digest()
        ):
            self._set_aside(path)
            raise cache_corruption_error(path, CHECKSUM_MISMATCH, "it was set aside")
        return read_stage_output(body)

    def put(self, key: str, output: StageOutput) -> None:
        """Keeps the outcome."""
        path = self._path(key)
        body = stage_output_bytes(output)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_blocks(os.fspath(path), [_FILE_HEADER, hashlib.sha256(body).digest(), body])
        except OSError as error:
            raise cache_io_error(path, error) from None
        except RankproofError as error:
            raise ExternalError(f"{error}; or {OTHER_CACHE_FIX}") from None

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.stage"

    def _set_aside(self, path: Path) -> None:
        try:
            path.replace(path.with_suffix(".damaged"))
        except OSError as error:
            raise cache_io_error(path, error) from None


_LOCK, _FILES = "lock", "files"


class DatabaseFolders:
    """Folders under a home: what a killed process left under the name is found again, what a live one holds is not touched."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._held: dict[str, tuple[Path, int]] = {}

    def made(self, name: str) -> str:
        """The folder of that name, or of that name with a number where another process is at work on it."""
        try:
            if name not in self._held:
                self._held[name] = self._free(name)
            files = self._held[name][0] / _FILES
            files.mkdir(exist_ok=True)
        except OSError as error:
            raise cache_io_error(self._home / name, error) from None
        return os.fspath(files)

    def clear(self) -> None:
        """Removes them, and the folder that holds them when it is empty."""
        for folder, handle in self._held.values():
            _remove_folder(folder, handle)
        self._held.clear()
        with contextlib.suppress(OSError):
            self._home.rmdir()

    def _free(self, name: str) -> tuple[Path, int]:
        for number in count(1):
            folder = self._home / (name if number == 1 else f"{name}-{number}")
            if (handle := _lock_folder(folder)) is not None:
                return folder, handle
        raise AssertionError("numbers do not end")


def _lock_folder(folder: Path) -> int | None:
    """The handle of the folder's lock, None where another process has it."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue
        if not try_lock(handle):
            os.close(handle)
            return None
        if _is_same_file(folder / _LOCK, handle):
            return handle
        os.close(handle)


def _is_same_file(path: Path, handle: int) -> bool:
    """Whether the file that is locked is still the one at the path; its last owner may have removed it meanwhile."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _remove_folder(folder: Path, handle: int) -> None:
    """The files first; the lock goes last, and is let go only when it is no longer there to be taken."""
    shutil.rmtree(folder / _FILES, ignore_errors=True)
    if os.name == "nt":
        # Windows removes no file that is open, and so none that another process has locked by now.
        os.close(handle)
    with contextlib.suppress(OSError):
        (folder / _LOCK).unlink()
    if os.name != "nt":
        os.close(handle)
    with contextlib.suppress(OSError):
        folder.rmdir()


_BLOCK_KEY_LENGTH = 32


class _FolderBlockCache:
    """What every keep has: folders for embedded databases, cleared when the run ends."""

    def __init__(self, folders: DatabaseFolders, progress: Progress) -> None:
        self._folders, self._progress = folders, progress

    def folder(self, key: str) -> str:
        """A folder for the files of an embedded database, this run's alone."""
        return self._folders.made(key[:_BLOCK_KEY_LENGTH])

    def _report_progress(self, label: str, done: int, count: int, items: int | None) -> None:
        """How far the work is, in what the blocks hold; without that, in blocks."""
        self._progress(label, done * items // count if items and count else done, items or count)

    def uncached(self, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None) -> list[Block]:
        """Every block, made now and kept nowhere."""
        return [block for block, _ in self._timed(count, make, label, items)]

    def _timed(self, count: int, make: Callable[[int], Block], label: str, items: int | None) -> list[tuple[Block, float]]:
        timed = []
        for index in range(count):
            self._report_progress(label, index, count, items)
            timed.append(_make_timed(make, index))
        self._report_progress(label, count, count, items)
        return timed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._folders.clear()


class DiskBlockCache(_FolderBlockCache):
    """Blocks in journals that outlive the process; a database that a kill left behind is found again."""

    def __init__(self, home: Path, progress: Progress) -> None:
        super().__init__(DatabaseFolders(home / "databases"), progress)
        self._home = home

    def blocks(
        self, key: str, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None
    ) -> tuple[list[Block], float]:
        """Goes on after the last whole block."""
        with Journal(self.path(key)) as journal:
            records = _checked_records(count, journal)
            for index in range(len(records), count):
                self._report_progress(label, index, count, items)
                block, seconds = _make_timed(make, index)
                journal.append(block, seconds)
            if len(records) < count:
                self._report_progress(label, count, count, items)
                records = journal.records()
        return [record.block for record in records], sum(record.seconds for record in records)

    def path(self, key: str) -> Path:
        """The journal of that key."""
        return self._home / "journals" / f"{key[:_BLOCK_KEY_LENGTH]}.journal"

    def forget(self, key: str) -> None:
        """Removes the journal of work that is now kept elsewhere."""
        try:
            self.path(key).unlink(missing_ok=True)
        except OSError as error:
            raise cache_io_error(self.path(key), error) from None


class MemoryBlockCache(_FolderBlockCache):
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


def _checked_records(count: int, journal: Journal) -> list[JournalRecord]:
    """What the journal holds; one with more blocks than the work has is another work's, and is emptied."""
    records = journal.records()
    if len(records) > count:
        found = len(records)
        records.clear()
        journal.clear()
        raise cache_corruption_error(journal.path, f"{found} blocks where {count} belong", "it was emptied")
    return records


def _make_timed(make: Callable[[int], Block], index: int) -> tuple[Block, float]:
    start = time.perf_counter()
    block = make(index)
    return block, time.perf_counter() - start
