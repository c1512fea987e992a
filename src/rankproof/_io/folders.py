"""Folders that are written atomically."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rankproof._io.files import is_temporary, sync_folder, try_lock, write_blocks
from rankproof.errors import ExternalError, RankproofError, UsageError, escape_invisible, for_message

RESULTS_FOLDER_KIND = "results folder"
_PATH_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.EROFS)
_STALE_SECONDS = 3600
_LOCK, _LOCK_ATTEMPTS = "lock", 3


def check_replaceable(path: str, may_replace: Callable[[str], bool], *, kind: str = RESULTS_FOLDER_KIND) -> None:
    """Raises a UsageError unless the path is free, an empty folder, or a folder of that kind, which may be replaced."""
    if not path or "\0" in path:
        raise UsageError(f"the {kind} has no name", fix="specify a folder")
    if _contains_working_directory(path):
        raise UsageError(f"{path} contains the working directory", fix="specify a folder inside it, such as results")
    if os.path.lexists(path) and not _is_empty(path) and not may_replace(path):
        raise UsageError(f"{path} exists and is not a {kind}", fix="specify a folder that does not exist yet")
    above = os.path.dirname(os.path.realpath(path))
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above) or not os.access(above, os.W_OK):
        raise UsageError(f"{path} cannot be created in {above}", fix="specify a writable folder")


@contextmanager
def replace_folder(path: str, may_replace: Callable[[str], bool], *, kind: str = RESULTS_FOLDER_KIND) -> Iterator[str]:
    """A new folder to write into; at the end of the block it replaces what is at the path, on an error it is removed."""
    check_replaceable(path, may_replace, kind=kind)
    target = os.path.realpath(path)
    beside = f"{_temporary_sibling(target)}-{os.urandom(8).hex()}.tmp"
    try:
        recover_folder(target)
        _remove_stale(target)
        os.makedirs(beside)
        yield beside
        sync_folder(beside)
        _move_into_place(beside, target)
    except OSError as error:
        raise _cannot_create_error(path, error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def recover_folder(target: str) -> None:
    """Restores the old folder after a kill between moving it aside and moving the new one into place."""
    old = f"{_temporary_sibling(target)}.old"
    if os.path.isdir(old) and not os.path.lexists(target):
        os.rename(old, target)


def _remove_stale(target: str) -> None:
    """Removes what killed writes of this folder left beside it; a write of the last hour may still be under way."""
    above, name = os.path.split(_temporary_sibling(target))
    left = re.compile(re.escape(name) + r"-[0-9a-f]{16}\.tmp")
    with contextlib.suppress(OSError):
        for entry in filter(left.fullmatch, os.listdir(above)):
            place = os.path.join(above, entry)
            changed = max(os.stat(one).st_mtime for one in (place, *(file.path for file in os.scandir(place))))
            if time.time() - changed > _STALE_SECONDS:
                shutil.rmtree(place, ignore_errors=True)


def remove_stale_files(folder: Path) -> None:
    """Removes the files that killed writes left in the folder; a write of the last hour may still be under way."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if is_temporary(entry.name) and time.time() - entry.stat().st_mtime > _STALE_SECONDS:
                os.unlink(entry)


class LockedFolder:
    """A new folder that no other process removes as long as it is locked; a killed process leaves it unlocked."""

    def __init__(self, above: Path, prefix: str, mode: int) -> None:
        remove_unlocked_folders(above, prefix)
        for _ in range(_LOCK_ATTEMPTS):
            self.path = above / f"{prefix}{os.urandom(8).hex()}"
            self.path.mkdir(mode)
            if self._lock():
                break

    def _lock(self) -> bool:
        """Whether the folder is locked; another process may remove it before, and some file systems have no locks."""
        lock = self.path / _LOCK
        try:
            self._handle = os.open(lock, os.O_CREAT | os.O_RDWR)
        except FileNotFoundError:
            return False
        return try_lock(self._handle) and lock.exists()

    def unlock(self) -> None:
        """Removes the lock; a folder without one stays for an hour."""
        if self._handle >= 0:
            # Windows removes no open file, and a lock that is closed may be taken.
            with contextlib.suppress(OSError):
                os.unlink(self.path / _LOCK)
            os.close(self._handle)
            (self.path / _LOCK).unlink(missing_ok=True)
            self._handle = -1

    def remove(self) -> None:
        """Removes the folder."""
        with contextlib.suppress(OSError):
            self.unlock()
        shutil.rmtree(self.path, ignore_errors=True)


def remove_unlocked_folders(above: Path, prefix: str) -> None:
    """Removes the locked folders of killed processes, and those without a lock after an hour."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(above):
            if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False):
                _remove_unlocked(Path(entry.path))


def _remove_unlocked(folder: Path) -> None:
    with contextlib.suppress(OSError):
        try:
            handle = os.open(folder / _LOCK, os.O_RDWR)
        except FileNotFoundError:
            if time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
            return
        try:
            if try_lock(handle):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)


def _move_into_place(beside: str, target: str) -> None:
    if _is_empty(target) and os.name == "nt":
        os.rmdir(target)
    if not os.path.lexists(target) or _is_empty(target):
        os.rename(beside, target)
    else:
        old = f"{_temporary_sibling(target)}.old"
        shutil.rmtree(old, ignore_errors=True)
        os.rename(target, old)
        try:
            os.rename(beside, target)
        except BaseException:
            os.rename(old, target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    sync_folder(os.path.dirname(target))


def _temporary_sibling(target: str) -> str:
    return os.path.join(os.path.dirname(target), f".rankproof-{os.path.basename(target)}")


def _contains_working_directory(path: str) -> bool:
    """Whether the path is the working directory or a parent of it."""
    try:
        return Path.cwd().is_relative_to(os.path.realpath(path))
    except OSError:
        return False


def _is_empty(path: str) -> bool:
    try:
        return not os.listdir(path)
    except OSError:
        return False


def _cannot_create_error(path: str, error: OSError) -> RankproofError:
    reason = error.strerror or str(error)
    if error.errno in _PATH_ERRORS:
        return UsageError(f"{path} cannot be created ({reason})", fix="specify a writable folder")
    return ExternalError(escape_invisible(f"{path}: cannot be written ({reason}); free space or check the disk"))


def check_writable_folder(target: Path, last_file: str, parts: Collection[str]) -> None:
    """Raises a UsageError if the folder has its last file, or files other than those of a killed write."""
    present = _names(target)
    if last_file in present:
        raise UsageError(f"{for_message(str(target))} already exists", fix="specify another folder, or remove this one")
    if any(name not in parts and not is_temporary(name) for name in present):
        raise UsageError(f"{for_message(str(target))} contains other files", fix="specify another folder, or remove this one")


def write_folder_atomically(target: Path, files: Mapping[str, bytes], last_file: str) -> None:
    """Writes the files into a free folder, the last file after all others; a failure before that leaves nothing."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        _empty(target)
        for name in sorted(files, key=lambda name: name == last_file):
            write_blocks(str(target / name), [files[name]])
        sync_folder(str(target.parent))
    except BaseException as error:
        if not (target / last_file).exists():
            _remove(target)
        if isinstance(error, OSError):
            raise ExternalError(
                escape_invisible(f"{target}: cannot be written ({error.strerror or error}); check the disk")
            ) from None
        raise


def _remove(target: Path) -> None:
    with contextlib.suppress(OSError, UsageError):
        _empty(target)
        target.rmdir()


def _empty(target: Path) -> None:
    for name in _names(target):
        os.unlink(target / name)


def _names(target: Path) -> list[str]:
    """The names in the folder; none if it does not exist."""
    try:
        return os.listdir(target)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(
            f"the folder {for_message(str(target))} cannot be read ({error.strerror})", fix="specify another folder"
        ) from None
