"""Folders that are written atomically."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rankproof._io.files import sync_folder, write_blocks
from rankproof._io.temporary import is_temporary, remove_abandoned, temporary_folder, try_lock
from rankproof.errors import ExternalError, RankproofError, UsageError, escape_invisible, for_message

RESULTS_FOLDER_KIND = "results folder"
_PATH_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.EROFS)


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
    try:
        recover_folder(target)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with temporary_folder(os.path.dirname(target)) as beside:
            yield beside.path
            sync_folder(beside.path)
            _move_into_place(beside.path, target)
    except OSError as error:
        raise _cannot_create_error(path, error) from None


def recover_folder(target: str) -> None:
    """Removes what killed writes left beside the folder, and restores it where one was killed between its two renames."""
    old = _moved_aside(target)
    with contextlib.suppress(OSError):
        if os.path.isdir(old):
            with _folder_lock(old) as is_free:
                if is_free and os.path.lexists(target):
                    shutil.rmtree(old)
                elif is_free:
                    os.rename(old, target)
    remove_abandoned(os.path.dirname(target))


@contextmanager
def _folder_lock(folder: str) -> Iterator[bool]:
    """Locks the folder; False if another process holds it. Windows has no locks of folders."""
    if os.name == "nt":
        yield True
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield try_lock(handle)
    finally:
        os.close(handle)


def _move_into_place(beside: str, target: str) -> None:
    if _is_empty(target) and os.name == "nt":
        os.rmdir(target)
    if not os.path.lexists(target) or _is_empty(target):
        os.rename(beside, target)
    else:
        with _folder_lock(target):
            _swap(beside, target, _moved_aside(target))
    sync_folder(os.path.dirname(target))


def _swap(beside: str, target: str, old: str) -> None:
    """Moves the folder at the target aside, the new one in its place, and removes the old one."""
    shutil.rmtree(old, ignore_errors=True)
    os.rename(target, old)
    try:
        os.rename(beside, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _moved_aside(target: str) -> str:
    return os.path.join(os.path.dirname(target), f".rankproof-{os.path.basename(target)}.old")


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
