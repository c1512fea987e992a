"""Folders of cache and configuration, names of files, temporary files and folders, and locks of files."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from rankproof.errors import InputError, UsageError

_PREFIX, _SUFFIX = ".rankproof-", ".tmp"
_NAME = re.compile(r"\.rankproof-([0-9a-f]{12})-[0-9a-f]{8}\.tmp")
_IN_USE = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_DAY_SECONDS = 86_400.0
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_FOUND_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_HANDLE = -1
_LOCK_POLL_SECONDS = 0.05


def lock_alone(handle: int) -> bool | None:
    """Locks the file for this process: False if another process holds it, None if the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _IN_USE else None
    return True


def try_lock(handle: int) -> bool:
    """Locks the file for this process; False if another process holds it. Without locks, no process is kept out."""
    return lock_alone(handle) is not False


def lock_shared(handle: int, seconds: float) -> bool:
    """Locks the file together with others; False if a process holds it alone for all that time.

    Windows only has locks of one process, and some file systems have none: then no process is kept out.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            _share(handle)
        except OSError as error:
            if error.errno not in _IN_USE:
                return True
        else:
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(_LOCK_POLL_SECONDS)


def _share(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)


def is_same_file(path: str, handle: int) -> bool:
    """Whether the open file is still at the path."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


class TemporaryPath:
    """A new file or folder, locked until it is closed; as a context, what is still at the path is removed at the end."""

    def __init__(self, path: str, handle: int) -> None:
        self.path, self.handle = path, handle

    def close(self) -> None:
        """Ends the lock, once the file or folder has its final name."""
        if self.handle != _NO_HANDLE:
            os.close(self.handle)
            self.handle = _NO_HANDLE

    def remove(self) -> None:
        """Removes what is at the path and ends the lock."""
        if os.name == "nt":
            # Windows removes no open file.
            self.close()
        with contextlib.suppress(OSError):
            remove_tree(self.path)
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.remove()


def temporary_file(folder: str) -> TemporaryPath:
    """A new file in the folder; what killed processes left there is removed once in this process."""
    _remove_abandoned_once(folder)
    return _locked(folder, lambda path: os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666))


def temporary_folder(above: str) -> TemporaryPath:
    """A new folder in this one, to be filled and renamed; what killed processes left there is removed."""
    remove_abandoned(above)
    return _locked(above, lambda path: _new_folder(path, 0o777))


def working_folder(above: str | None = None) -> TemporaryPath:
    """A new folder to work in, for this user alone, by default in the folder for temporary files.

    What killed processes of this machine left there is removed; other machines may use theirs for long without a change.
    """
    import tempfile

    above = tempfile.gettempdir() if above is None else above
    remove_abandoned(above, of_other_machines=False)
    return _locked(above, lambda path: _new_folder(path, 0o700))


def _new_folder(path: str, mode: int) -> int | None:
    """The handle of the new folder; None if another process has removed it already."""
    os.mkdir(path, mode)
    if os.name == "nt":
        return _NO_HANDLE
    try:
        return os.open(path, _FOLDER_FLAGS)
    except FileNotFoundError:
        return None


def _locked(folder: str, create: Callable[[str], int | None]) -> TemporaryPath:
    """What `create` makes at a new path, locked; another one is created where a process removed it before it was locked."""
    while True:
        path = os.path.join(folder, temporary_name())
        try:
            handle = create(path)
        except FileExistsError:
            continue
        # Between the creation and the lock, another process may take the path for abandoned and remove it.
        if handle is None:
            continue
        if os.name == "nt" or (try_lock(handle) and is_same_file(path, handle)):
            return TemporaryPath(path, handle)
        os.close(handle)


def temporary_name() -> str:
    """A new name for a file or folder in use by this machine."""
    return f"{_PREFIX}{machine_name()}-{os.urandom(4).hex()}{_SUFFIX}"


def is_temporary(name: str) -> bool:
    """Whether a file or folder of this name is in use for a time only, or left by a killed process."""
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


@cache
def machine_name() -> str:
    """A name of this machine since its last start: only the locks of its own processes are sure to be seen."""
    import hashlib

    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            known = file.read()
    except OSError:
        import socket

        known = socket.gethostname().encode()
    return hashlib.sha256(known).hexdigest()[:12]


@lru_cache(maxsize=256)
def _remove_abandoned_once(folder: str) -> None:
    remove_abandoned(folder)


def remove_abandoned(folder: str, *, of_other_machines: bool = True) -> None:
    """Removes this user's temporary files and folders in the folder that no process has locked.

    A lock of another machine may not be seen, so that one of another machine stays until it is unchanged for a day.
    """
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            if is_temporary(entry.name) and (of_other_machines or _is_of_this_machine(entry.name)):
                with contextlib.suppress(OSError):
                    _remove_unlocked(entry.path)


def _is_of_this_machine(name: str) -> bool:
    match = _NAME.fullmatch(name)
    return match is not None and match[1] == machine_name()


def _remove_unlocked(path: str) -> None:
    found_state = os.lstat(path)
    is_own = os.name == "nt" or found_state.st_uid == os.geteuid()
    if not is_own or not (stat.S_ISDIR(found_state.st_mode) or stat.S_ISREG(found_state.st_mode)):
        return
    is_old = time.time() - _last_change(path) > _DAY_SECONDS
    if os.name == "nt":
        # It has no locks of folders, and removes nothing that is open.
        if is_old:
            remove_tree(path)
    elif is_old or _is_of_this_machine(os.path.basename(path)):
        handle = os.open(path, (_FOLDER_FLAGS if stat.S_ISDIR(found_state.st_mode) else os.O_RDWR) | _FOUND_FLAGS)
        try:
            state = lock_alone(handle)
            if state or (state is None and is_old):
                remove_tree(path)
        finally:
            os.close(handle)


def _last_change(path: str) -> float:
    """The newest modification time of the file, or of the folder and all that is in it."""
    return max(os.lstat(changed).st_mtime for changed in (path, *_inside(path)))


def _inside(path: str) -> Iterator[str]:
    for folder, folders, files in os.walk(path):
        yield from (os.path.join(folder, name) for name in (*folders, *files))


def remove_tree(path: str) -> None:
    """Removes a file, or a folder with all that can be removed in it; nothing if there is none."""
    if os.path.isdir(path) and not os.path.islink(path):
        from shutil import rmtree

        rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


CACHE_VARIABLE = "RANKPROOF_CACHE"
CONFIG_VARIABLE = "RANKPROOF_CONFIG"


def cache_home() -> Path:
    """The folder of RANKPROOF_CACHE, else `rankproof` in the user's cache folder; it may not exist."""
    if asked := os.environ.get(CACHE_VARIABLE):
        return Path(asked).expanduser().absolute()
    return _user_cache() / "rankproof"


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _user_home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return _user_home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or _user_home() / ".cache")


def config_home() -> Path:
    """The folder of RANKPROOF_CONFIG, else `rankproof` in the user's configuration folder; it may not exist."""
    if asked := os.environ.get(CONFIG_VARIABLE):
        return Path(asked).expanduser().absolute()
    return _user_config() / "rankproof"


def _user_config() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or _user_home(CONFIG_VARIABLE) / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return _user_home(CONFIG_VARIABLE) / "Library" / "Application Support"
    return Path(os.environ.get("XDG_CONFIG_HOME") or _user_home(CONFIG_VARIABLE) / ".config")


def _user_home(variable: str = CACHE_VARIABLE) -> Path:
    try:
        return Path.home()
    except RuntimeError:
        what = f"this user has no home folder for the {'cache' if variable == CACHE_VARIABLE else 'configuration'}"
        raise UsageError(what, fix=f"set {variable} to a folder") from None


_WILDCARD = re.compile(r"[*?]|\[[^]]+]")
DATASET_PATTERN_FIX = (
    "put the files into a folder as corpus-1.jsonl, corpus-2.jsonl and so on, with queries.jsonl; specify the folder"
)


def is_pattern(path: str) -> bool:
    """Whether the path has a wildcard (`*`, `?`, `[…]`), and no file has just that name."""
    return bool(_WILDCARD.search(path)) and not os.path.exists(path)


def matching_files(pattern: str) -> list[str]:
    """The files that match the pattern, sorted by name; none is an error."""
    import glob

    paths = sorted(path for path in glob.glob(pattern) if os.path.isfile(path))
    if not paths:
        raise InputError("no file matches this pattern", fix="check the path, and quote the pattern", source=pattern)
    return paths


def pattern_name(pattern: str) -> str:
    """The path of the pattern's folder and the part of its name before the wildcard; `runs/part-*.gz` is named `runs`."""
    folder, name = os.path.split(pattern)
    stem = _WILDCARD.split(name)[0].rstrip("._-")
    return folder if folder and stem in _PART_NAMES and not _WILDCARD.search(folder) else stem or "run"


_PART_NAMES = frozenset({"", "part"})
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_FILE_NAME = 80
_RESERVED_NAMES = {
    *("con", "prn", "aux", "nul"),
    *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)),
}


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Each name with a file name without suffix, unique on case-insensitive file systems and valid on Windows."""
    names_of_files: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = file_name(name)
        names_of_files[name] = _unused_name(plain, taken)
        taken.add(names_of_files[name].lower())
    return names_of_files


def file_name(name: str) -> str:
    """The name with letters, digits, dots, dashes and underscores only."""
    plain = _UNSAFE_CHARACTERS.sub("_", name)[:_MAX_FILE_NAME].strip("._-") or "system"
    return f"_{plain}" if plain.split(".")[0].lower() in _RESERVED_NAMES else plain


def _unused_name(plain: str, taken: set[str]) -> str:
    number, free = 1, plain
    while free.lower() in taken:
        number += 1
        free = f"{plain}-{number}"
    return free


def is_possible_path(name: str) -> bool:
    """Whether the system can have a path of that name, which NUL and surrogates of no byte prevent."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False
