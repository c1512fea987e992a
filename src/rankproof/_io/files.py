"""Plain files of others, results folders, atomic writes of files and folders, and checksums."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Any, Final

from rankproof._extras import extra
from rankproof._io.file_errors import file_error
from rankproof._io.memory import check_memory
from rankproof._io.paths import (
    is_temporary,
    remove_abandoned,
    remove_tree,
    temporary_file,
    temporary_folder,
    try_lock,
)
from rankproof.errors import ExternalError, RankproofError, UsageError, escape_invisible, for_message

_DENIED_ERRNOS = (errno.EACCES, errno.EPERM, errno.EROFS)
_USAGE_ERRNOS = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)
_BUFFER_BYTES = 1 << 20


def write_blocks(path: str, blocks: Iterable[bytes | memoryview]) -> None:
    """Replaces the file's content atomically, compressed for the suffixes .gz and .zst; a failure leaves the old content.

    A character device is written directly, and a symbolic link is kept. Opening a pipe would wait for a reader.
    """
    if not path:
        raise UsageError("the path of the file to write is empty", fix="specify the file")
    if "\0" in path:
        raise UsageError(f"{path} is not a valid path", fix="remove the NUL character")
    try:
        target = os.path.realpath(path)
        old = _mode(target)
        content = _compressed(path, blocks)
        if old is not None and stat.S_ISCHR(old):
            _write_into(target, content)
        else:
            check_output_kind(path)
            _replace(target, content, old)
    except OSError as error:
        raise _write_error(path, error) from None


def check_output_kind(path: str) -> None:
    """Refuses to write into a pipe, a socket or a block device."""
    mode = _mode(path)
    if mode is not None and not stat.S_ISCHR(mode) and (kind := _special_kind(mode)):
        raise UsageError(f"{path} is {kind}, not a file", fix="specify a file that does not exist yet")


def _replace(target: str, content: Iterable[bytes | memoryview], old: int | None) -> None:
    folder = os.path.dirname(target)
    with temporary_file(folder) as temporary:
        with open(temporary.handle, "wb", buffering=_BUFFER_BYTES, closefd=False) as file:
            for block in content:
                file.write(block)
            file.flush()
            # Without it, the rename may reach the disk before the content, and a power failure leaves an empty file.
            os.fsync(file.fileno())
        if old is not None:
            # The new file keeps the permissions that the user gave the old one.
            os.chmod(temporary.path, stat.S_IMODE(old))
        if os.name == "nt":
            # Windows renames no open file.
            temporary.close()
        os.replace(temporary.path, target)
    sync_folder(folder)


def _write_into(target: str, content: Iterable[bytes | memoryview]) -> None:
    with open(target, "wb") as file:
        for block in content:
            file.write(block)


def sync_folder(folder: str) -> None:
    """Flushes the folder's entries to disk, on file systems that can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _mode(target: str) -> int | None:
    try:
        return os.stat(target).st_mode
    except FileNotFoundError:
        return None


def _compressed(path: str, blocks: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    compressor = _compressor(os.path.splitext(path)[1].lower())
    if compressor is None:
        yield from blocks
        return
    for block in blocks:
        yield compressor.compress(block)
    yield compressor.flush()


def _compressor(suffix: str) -> Any:
    if suffix == ".gz":
        import zlib

        return zlib.compressobj(wbits=31)
    if suffix == ".zst":
        with extra("zstd"):
            import zstandard

        return zstandard.ZstdCompressor().compressobj()
    return None


def _write_error(path: str, error: OSError) -> RankproofError:
    reason = error.strerror or str(error)
    if error.errno in _USAGE_ERRNOS:
        return UsageError(f"{path} cannot be written ({reason})", fix="specify a file in a folder that exists")
    if error.errno in _DENIED_ERRNOS:
        return UsageError(f"{path} cannot be written ({reason})", fix="specify a writable file")
    return ExternalError(escape_invisible(f"{path}: cannot be written ({reason}); free space or check the disk"))


def file_sha256(path: Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal."""
    try:
        stat = os.stat(path)
        return _sha256(str(path), stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise unreadable_file_error(path, error) from None


def combined_sha256(digests: Mapping[str, str]) -> str:
    """One sha256 for many files, from the name and sha256 of each, in order."""
    listed = "\n".join(f"{name} {digest}" for name, digest in digests.items())
    return hashlib.sha256(listed.encode()).hexdigest()


def unreadable_file_error(path: Path, error: OSError) -> ExternalError:
    """The error for a file that cannot be read."""
    return ExternalError(
        escape_invisible(f"{path}: cannot be read ({error.strerror or error}); check the disk, the path and its permissions")
    )


@lru_cache(maxsize=256)
def _sha256(path: str, time: int, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_READ_FLAGS: Final = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOCTTY", "O_NONBLOCK"))
_KINDS: Final = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_plain_file(path: str, folder: str | None = None) -> FileIO:
    """The file, opened without waiting; an OSError if that fails.

    With `folder`, a link out of the folder is refused, and a file larger than the free memory.
    """
    real = path if folder is None else _path_within(path, folder)
    check_plain_file(real, path)
    handle = os.open(real, _READ_FLAGS | (0 if folder is None else getattr(os, "O_NOFOLLOW", 0)))
    try:
        state = os.fstat(handle)
        _check_kind(state.st_mode, path)
        if folder is not None:
            check_memory(state.st_size, path)
        return FileIO(handle, "r")
    except BaseException:
        os.close(handle)
        raise


def log_path(path: str) -> str:
    """The path of the log of a file that people make in the browser."""
    return f"{path}.log.jsonl"


RESULT_FILE: Final = "result.json"
RESULTS_FORMAT: Final = "rankproof-results"
_HEAD_BYTES: Final = 4096


def is_results_folder(path: str) -> bool:
    """Whether the folder has a result.json of rankproof; a result.json that is no plain file of the folder is an error."""
    try:
        with open_plain_file(os.path.join(path, RESULT_FILE), path) as file:
            return f'"format": "{RESULTS_FORMAT}"'.encode() in file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return False


def check_folder_file(path: str, folder: str) -> None:
    """Refuses what is no plain file, and a link out of a results folder, which others may have written."""
    check_plain_file(_path_within(path, folder) if is_results_folder(folder) else path, path)


def check_plain_file(path: str, name: str | None = None) -> None:
    """Refuses a pipe, a socket, a device and a folder at the path."""
    with contextlib.suppress(OSError):
        _check_kind(os.stat(path).st_mode, name or path)


def _check_kind(mode: int, name: str) -> None:
    if kind := _special_kind(mode):
        raise file_error("special", source=name, kind=kind)
    if stat.S_ISDIR(mode):
        raise file_error("directory", source=name)


def _special_kind(mode: int) -> str | None:
    return next((words for is_kind, words in _KINDS if is_kind(mode)), None)


def _path_within(path: str, folder: str) -> str:
    """The path without links; it must be in the folder, whose own path may have links."""
    real, above = os.path.realpath(path), os.path.realpath(folder)
    if not Path(real).is_relative_to(above):
        raise file_error("link-out", source=path)
    return real


RESULTS_FOLDER_KIND = "results folder"
_FOLDER_ERRNOS = (errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.EROFS)


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


@contextlib.contextmanager
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
                    remove_tree(old)
                elif is_free:
                    os.rename(old, target)
    remove_abandoned(os.path.dirname(target))


@contextlib.contextmanager
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
    remove_tree(old)
    os.rename(target, old)
    try:
        os.rename(beside, target)
    except BaseException:
        os.rename(old, target)
        raise
    remove_tree(old)


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
    if error.errno in _FOLDER_ERRNOS:
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
        # A folder without its last file is unfinished: readers reject it, and the next write may replace it.
        for name in sorted(files, key=lambda name: name == last_file):
            write_blocks(str(target / name), [files[name]])
        sync_folder(str(target.parent))
    except BaseException as error:
        if not (target / last_file).exists():
            _remove_written(target)
        if isinstance(error, OSError):
            raise ExternalError(
                escape_invisible(f"{target}: cannot be written ({error.strerror or error}); check the disk")
            ) from None
        raise


def _remove_written(target: Path) -> None:
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
