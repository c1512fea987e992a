"""Caches of an experiment: outputs of stages, journals of blocks, and folders for partitions and embedded databases."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self
from weakref import finalize
from zipfile import BadZipFile

from rankproof._data import format_versions
from rankproof._executors.base import Progress
from rankproof._experiment.stage_output import StageOutput, read_stage_output, stage_output_bytes
from rankproof._io.array_files import (
    CHECKSUM_MISMATCH,
    OTHER_CACHE_FIX,
    Block,
    Journal,
    JournalRecord,
    cache_corruption_error,
    cache_io_error,
)
from rankproof._io.cache_items import RUN_FILES, mark_used
from rankproof._io.files import open_plain_file, write_blocks
from rankproof._io.paths import is_same_file, lock_alone, machine_name, remove_abandoned, try_lock, working_folder
from rankproof.errors import ExternalError, InputError, RankproofError
from rankproof.stages._base import PartitionKind

FILE_HEADER = f"rankproof stage {format_versions.STAGE_CACHE}\n".encode()
_DIGEST_LENGTH = 32
_LOCK = "lock"
_NUMBERED = re.compile(r"-[0-9]+$")
# Half of a sha256: still unique, and short enough for a path.
_BLOCK_KEY_LENGTH = 32


class StageCache:
    """Outputs of stages in a folder; files are written atomically and checked by a checksum when read."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "stages"

    def find(self, key: str) -> StageOutput | None:
        """The output of the key, None where there is none; a damaged file is renamed and reported."""
        path = self._path(key)
        try:
            with open_plain_file(os.fspath(path)) as file:
                content = file.read()
        except FileNotFoundError:
            return None
        except InputError:
            raise self._set_aside(path, "no plain file") from None
        except OSError as error:
            raise cache_io_error(path, error) from None
        body = content[len(FILE_HEADER) + _DIGEST_LENGTH :]
        if (
            not content.startswith(FILE_HEADER)
            or content[len(FILE_HEADER) : len(FILE_HEADER) + _DIGEST_LENGTH] != hashlib.sha256(body).digest()
        ):
            raise self._set_aside(path, CHECKSUM_MISMATCH)
        try:
            output = read_stage_output(body)
        except (ValueError, TypeError, LookupError, AttributeError, OSError, EOFError, BadZipFile):
            raise self._set_aside(path, "unreadable content") from None
        mark_used(path)
        return output

    def put(self, key: str, output: StageOutput) -> None:
        """Caches the output."""
        path = self._path(key)
        body = stage_output_bytes(output)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_blocks(os.fspath(path), [FILE_HEADER, hashlib.sha256(body).digest(), body])
        except OSError as error:
            raise cache_io_error(path, error) from None
        except RankproofError as error:
            raise ExternalError(f"{error}; or {OTHER_CACHE_FIX}") from None

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.stage"

    def _set_aside(self, path: Path, what: str) -> ExternalError:
        """The error for a damaged file, which is renamed so that the next run computes it again."""
        try:
            path.replace(path.with_suffix(".damaged"))
        except OSError as error:
            return cache_io_error(path, error)
        return cache_corruption_error(path, what, "it was renamed to .damaged")


class RunFolders:
    """Folders of which each is of one run at a time; one that a killed run left is used again, one in use is not touched."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._locked: dict[str, tuple[Path, int]] = {}

    def open(self, name: str) -> Path:
        """The folder of that name, with a number where another run uses it."""
        try:
            if name not in self._locked:
                self._locked[name] = self._free(name)
            files = self._locked[name][0] / RUN_FILES
            files.mkdir(exist_ok=True)
        except OSError as error:
            raise cache_io_error(self._home / name, error) from None
        mark_used(self._locked[name][0])
        return files

    def clear(self) -> None:
        """Removes the folders, and their parent if it is empty."""
        for folder, handle in self._locked.values():
            _remove_folder(folder, handle)
        self._locked.clear()
        with contextlib.suppress(OSError):
            self._home.rmdir()

    def release(self) -> None:
        """Leaves the folders to the next run."""
        for _, handle in self._locked.values():
            os.close(handle)
        self._locked.clear()

    def remove_left(self, *, numbered_only: bool = False) -> None:
        """Removes the folders that killed runs left, or only those with a number, which the next run does not use again."""
        with contextlib.suppress(OSError):
            for folder in self._home.iterdir():
                if _NUMBERED.search(folder.name) or not numbered_only:
                    _remove_if_left(folder)
            self._home.rmdir()

    def _free(self, name: str) -> tuple[Path, int]:
        for number in count(1):
            folder = self._home / (name if number == 1 else f"{name}-{number}")
            if (handle := _lock_folder(folder)) is not None:
                return folder, handle
        raise AssertionError("unreachable")


def _lock_folder(folder: Path) -> int | None:
    """The handle of the folder's lock, None where another process holds it."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue
        if not try_lock(handle):
            os.close(handle)
            return None
        # A run that ended between our open and our lock has removed the file: a lock of it would keep nobody out.
        if is_same_file(os.fspath(folder / _LOCK), handle):
            os.ftruncate(handle, 0)
            os.write(handle, machine_name().encode())
            return handle
        os.close(handle)


def _remove_if_left(folder: Path) -> None:
    """Removes a folder without an owner; that of another machine, whose lock may not be seen, stays."""
    with contextlib.suppress(OSError):
        handle = os.open(folder / _LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        is_left = lock_alone(handle) is True and os.read(handle, 64) == machine_name().encode()
        if is_left and is_same_file(os.fspath(folder / _LOCK), handle):
            _remove_folder(folder, handle)
        else:
            os.close(handle)


def _remove_folder(folder: Path, handle: int) -> None:
    """Removes the files, then the lock file, which is released only after it is removed."""
    shutil.rmtree(folder / RUN_FILES, ignore_errors=True)
    if os.name == "nt":
        # Windows cannot remove an open file, so the lock file is closed first.
        os.close(handle)
    with contextlib.suppress(OSError):
        (folder / _LOCK).unlink()
    if os.name != "nt":
        os.close(handle)
    with contextlib.suppress(OSError):
        folder.rmdir()


class _FolderBlockCache:
    """The part that both block caches share: folders of partitions and of embedded databases, which are removed at the end."""

    def __init__(self, home: Path, progress: Progress) -> None:
        self._home, self._progress = home, progress
        self._folders, self._hits = RunFolders(home / "databases"), RunFolders(home / "hits")
        self.saved_seconds = 0.0

    def folder(self, key: str) -> str:
        """A folder for the files of an embedded database, for this run alone."""
        return os.fspath(self._folders.open(key[:_BLOCK_KEY_LENGTH]))

    def partition_folder(self, key: str, kind: PartitionKind = "indexes") -> Path:
        """The folder for the files of one partition; its modification time is that of its last use."""
        return self._made(self._home / kind / key[:_BLOCK_KEY_LENGTH])

    def hits_folder(self, key: str) -> Path:
        """The folder of this run for what partitions found, removed when the stage is cached or the run ends without an error."""
        folder = self._hits.open(key[:_BLOCK_KEY_LENGTH])
        remove_abandoned(os.fspath(folder))
        return folder

    def add_saved_seconds(self, seconds: float) -> None:
        """Adds the time of searches that an interrupted run finished."""
        self.saved_seconds += seconds

    def forget(self, key: str) -> None:
        """Removes the parts of a stage whose output is cached."""
        self._hits.clear()

    def _made(self, folder: Path) -> Path:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cache_io_error(folder, error) from None
        mark_used(folder)
        remove_abandoned(os.fspath(folder))
        return folder

    def _report_progress(self, label: str, done: int, count: int, items: int | None) -> None:
        """Reports progress in items, or in blocks where the number of items is unknown."""
        self._progress(label, done * items // count if items and count else done, items or count)

    def uncached(self, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None) -> list[Block]:
        """Every block, computed and not cached."""
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
        if kind is None:
            self._hits.clear()
        else:
            # After an error or Ctrl-C the next run continues with what partitions found.
            self._hits.release()
        # Folders without a number are continued by the next run of the same stage; nothing continues those with a number.
        self._hits.remove_left(numbered_only=True)
        self._folders.clear()
        self._folders.remove_left()


class DiskBlockCache(_FolderBlockCache):
    """Blocks in journals on disk, so that an interrupted run continues."""

    def __init__(self, home: Path, progress: Progress) -> None:
        super().__init__(home, progress)

    def blocks(
        self, key: str, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None
    ) -> tuple[list[Block], float]:
        """The blocks of the journal, continued after its last complete block, and the seconds they took."""
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
        """Removes the journal and the hits of partitions, once the output is cached."""
        super().forget(key)
        try:
            self.path(key).unlink(missing_ok=True)
        except OSError as error:
            raise cache_io_error(self.path(key), error) from None


class MemoryBlockCache(_FolderBlockCache):
    """Blocks in memory; files are in a temporary folder, which is removed at the end or with this value."""

    def __init__(self, progress: Progress) -> None:
        folder = working_folder()
        super().__init__(Path(folder.path), progress)
        self._remove = finalize(self, folder.remove)
        self._blocks: dict[str, tuple[list[Block], float]] = {}

    def blocks(
        self, key: str, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None
    ) -> tuple[list[Block], float]:
        """The blocks, computed once, and the seconds they took."""
        if key not in self._blocks:
            timed = self._timed(count, make, label, items)
            self._blocks[key] = [block for block, _ in timed], sum(seconds for _, seconds in timed)
        return self._blocks[key]

    def forget(self, key: str) -> None:
        """Removes the blocks and the hits of partitions."""
        super().forget(key)
        self._blocks.pop(key, None)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        self._remove()


def _checked_records(count: int, journal: Journal) -> list[JournalRecord]:
    """The records of the journal; one with more blocks than expected is damaged and is emptied."""
    records = journal.records()
    if len(records) > count:
        blocks = len(records)
        records.clear()
        journal.clear()
        raise cache_corruption_error(journal.path, f"{blocks} blocks instead of {count}", "it was emptied")
    return records


def _make_timed(make: Callable[[int], Block], index: int) -> tuple[Block, float]:
    start = time.perf_counter()
    block = make(index)
    return block, time.perf_counter() - start
