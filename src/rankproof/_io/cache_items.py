"""What the cache folder holds: its kinds, sizes and last use, the limit of its size, and the lock of the runs that use it."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import stat
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from rankproof._io.paths import lock_alone, lock_shared, remove_abandoned, temporary_name
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message

RUN_FILES = "files"
"""The folder of files in an entry that is of one run at a time."""
KINDS = {
    "models": "model weights",
    "corpora": "documents",
    "chunks": "chunks of documents",
    "indexes": "indexes of partitions",
    "vectors": "vectors of partitions",
    "stages": "results of stages",
    "journals": "unfinished stages",
    "hits": "unfinished searches of partitions",
    "databases": "left behind by killed runs",
    "responses": "responses of models and search engines",
}
PAID_KIND = "responses"
_LOCK_FILE = "lock"
_LOCK_WAIT_SECONDS = 60.0
_ROOT = 0
_FINISHED_KINDS = ("corpora", "chunks", "indexes", "vectors", "stages")
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([kmgt]?b|[kmgt])", re.ASCII | re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_CLOCK_SECONDS = 1.0
"""The times of files may lag behind the clock."""


@dataclass(frozen=True, slots=True)
class CacheItem:
    """A file or folder of the cache, its size in bytes and the time of its last use."""

    path: Path
    size: int
    used: float


def cache_items(folder: Path) -> list[CacheItem]:
    """The entries of a folder; none if it is missing or a link."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    try:
        return [item for path in sorted(folder.iterdir()) if (item := _cache_item(path))]
    except OSError as error:
        raise _disk_error(folder, error) from None


def remove_items(entries: Iterable[CacheItem]) -> Iterator[CacheItem]:
    """Removes and yields each entry; of a link only the link itself."""
    for entry in entries:
        # A kill in the middle leaves no entry with a part of its files.
        gone = entry.path.with_name(temporary_name())
        try:
            entry.path.rename(gone)
            if gone.is_dir() and not gone.is_symlink():
                shutil.rmtree(gone)
            else:
                gone.unlink()
        except OSError as error:
            raise _disk_error(entry.path, error) from None
        yield entry


def _cache_item(path: Path) -> CacheItem | None:
    """The entry; None if a run removed it meanwhile."""
    stats = list(_stats(path))
    if not stats:
        return None
    files = [state for state in stats if stat.S_ISREG(state.st_mode)]
    used = [state.st_mtime for state in stats] + [file.st_atime for file in files]
    return CacheItem(path, sum(file.st_size for file in files), max(used))


def _stats(path: Path) -> Iterator[os.stat_result]:
    with contextlib.suppress(FileNotFoundError):
        own = path.lstat()
        yield own
        if stat.S_ISDIR(own.st_mode):
            for inner in path.iterdir():
                yield from _stats(inner)


def _disk_error(path: Path, error: OSError) -> ExternalError:
    return ExternalError(escape_invisible(f"{path}: {error.strerror or error}; check that this user may read and remove it"))


def mark_used(path: Path) -> None:
    """Sets the time of last use to now, where this user may."""
    with contextlib.suppress(OSError):
        os.utime(path)


def size_text(size: float) -> str:
    """Bytes for a reader, such as 1.5 GB."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def checked_size(name: str, value: object) -> int:
    """A number of bytes, or a text such as 20GB, as bytes."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise UsageError(f"{name} is {for_message(str(value))}", fix="specify a size such as 20GB, 500MB or 1.5TB")
    return int(float(match[1]) * _UNITS[match[2].lower().removesuffix("b")])


@dataclass(slots=True)
class _CacheLock:
    """The lock of this process on a cache folder, how many values hold it, and how many of them are runs."""

    handle: int
    holds: int = 0
    runs: int = 0


_cache_locks: dict[Path, _CacheLock] = {}
_guard = threading.RLock()
"""A hold may be released by the garbage collector in a thread that takes one."""


class CacheHold:
    """Keeps other processes from clearing a cache folder, until it is released or this value is not used any more.

    The first one in a process removes what killed processes left in the folder.
    """

    def __init__(self, home: Path, runs: int = 0) -> None:
        home = Path(os.path.realpath(home))
        with _guard:
            lock = _cache_locks.get(home) or _lock_cache(home)
            self.lock = lock
            if lock is not None:
                lock.holds, lock.runs = lock.holds + 1, lock.runs + runs
                self.release = weakref.finalize(self, _release, home, lock, runs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.lock is not None:
            self.release()


def _check_owner(folder: Path) -> None:
    """Rejects a folder into which other users can put files: what is read from the cache becomes a number of a result."""
    if not hasattr(os, "geteuid"):
        return
    try:
        state = folder.stat()
    except OSError:
        return
    from rankproof._io.array_files import OTHER_CACHE_FIX

    if state.st_uid not in (os.geteuid(), _ROOT):
        raise ExternalError(escape_invisible(f"{folder}: the cache folder belongs to another user; {OTHER_CACHE_FIX}"))
    if state.st_mode & stat.S_IWOTH:
        what = f"{folder}: every user can write to the cache folder"
        raise ExternalError(escape_invisible(f"{what}; run: chmod o-w {shlex.quote(str(folder))}"))


def _lock_cache(home: Path) -> _CacheLock | None:
    """The lock of this process, after a process that clears the folder; None where no file can be written."""
    for folder in (home, *(home / kind for kind in KINDS)):
        _check_owner(folder)
    try:
        home.mkdir(mode=0o755, parents=True, exist_ok=True)
        handle = os.open(home / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None
    if not lock_shared(handle, _LOCK_WAIT_SECONDS):
        from rankproof._io.array_files import OTHER_CACHE_FIX

        os.close(handle)
        what = f"{home / _LOCK_FILE}: another process has locked the cache for {_LOCK_WAIT_SECONDS:g} s"
        raise ExternalError(escape_invisible(f"{what}; end that process, or {OTHER_CACHE_FIX}"))
    _remove_abandoned_items(home)
    return _cache_locks.setdefault(home, _CacheLock(handle))


def _release(home: Path, lock: _CacheLock, runs: int) -> None:
    with _guard:
        lock.holds, lock.runs = lock.holds - 1, lock.runs - runs
        if not lock.holds:
            del _cache_locks[home]
            os.close(lock.handle)


def _remove_abandoned_items(home: Path) -> None:
    """Removes temporary files and folders in the folder of each kind, in its entries and in the files of unfinished searches."""
    remove_abandoned(os.fspath(home))
    for kind in KINDS:
        folder = os.fspath(home / kind)
        remove_abandoned(folder)
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False):
                    remove_abandoned(entry.path)
                    remove_abandoned(os.path.join(entry.path, RUN_FILES))


class CacheUse:
    """The use of a cache folder by one run; None is no folder. With a limit, the entries that were used longest ago are removed.

    Nothing is removed while another run uses the folder. What this run uses, models and responses stay.
    """

    def __init__(self, home: Path | None, limit: int | None) -> None:
        self._home, self._limit, self._since = home, limit, time.time() - _CLOCK_SECONDS
        self._hold: CacheHold | None = None

    def __enter__(self) -> Self:
        if self._home is not None:
            self._hold = CacheHold(self._home, runs=1)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._hold is not None:
            self._hold.__exit__(kind, error, trace)

    def trim(self) -> list[str]:
        """Removes entries until the cache is within its limit; a note if it is not, or if an entry cannot be removed."""
        try:
            return self._trimmed()
        except ExternalError as error:
            return [f"--cache-limit stopped: {error}"]

    def _trimmed(self) -> list[str]:
        if self._home is None or self._limit is None or self._hold is None or self._hold.lock is None:
            return []
        with self.alone() as alone:
            items = {kind: cache_items(self._home / kind) for kind in KINDS}
            size = sum(item.size for entries in items.values() for item in entries)
            if not alone:
                return self._note(size, "another run uses it, so that nothing was removed")
            finished = (item for kind in _FINISHED_KINDS for item in items[kind] if item.used < self._since)
            for item in sorted(finished, key=lambda item: item.used):
                if size <= self._limit:
                    break
                size -= sum(gone.size for gone in remove_items([item]))
            return self._note(size, "entries of this run, unfinished work, models and responses are not removed")

    def _note(self, size: int, reason: str) -> list[str]:
        if self._limit is None or size <= self._limit:
            return []
        return [f"the cache has {size_text(size)}, above its limit of {size_text(self._limit)}: {reason}"]

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether no other run and no other process uses the folder, which stays so during the block."""
        lock = self._hold.lock if self._hold else None
        if lock is None:
            yield True
            return
        with _guard:
            alone = lock.runs == 1 and lock_alone(lock.handle) is True
            try:
                yield alone
            finally:
                lock_shared(lock.handle, _LOCK_WAIT_SECONDS)
