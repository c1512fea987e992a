"""Plain files of others, results folders, atomic writes of files, and checksums."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Any, Final

from rankproof._extras import extra
from rankproof._io.file_errors import file_error
from rankproof._io.memory import check_memory
from rankproof._io.temporary import temporary_file
from rankproof.errors import ExternalError, RankproofError, UsageError, escape_invisible

_DENIED_ERRNOS = (errno.EACCES, errno.EPERM, errno.EROFS)
_USAGE_ERRNOS = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)
_BUFFER_BYTES = 1 << 20


def write_blocks(path: str, blocks: Iterable[bytes | memoryview]) -> None:
    """Replaces the file's content atomically, compressed for the suffixes .gz and .zst; a failure leaves the old content.

    A device or pipe is written directly, and a symbolic link is kept.
    """
    if not path:
        raise UsageError("the path of the file to write is empty", fix="specify the file")
    if "\0" in path:
        raise UsageError(f"{path} is not a valid path", fix="remove the NUL character")
    try:
        target = os.path.realpath(path)
        old = _mode(target)
        content = _compressed(path, blocks)
        if old is not None and not stat.S_ISREG(old):
            _write_into(target, content)
        else:
            _replace(target, content, old)
    except OSError as error:
        raise _write_error(path, error) from None


def _replace(target: str, content: Iterable[bytes | memoryview], old: int | None) -> None:
    folder = os.path.dirname(target)
    with temporary_file(folder) as temporary:
        with open(temporary.handle, "wb", buffering=_BUFFER_BYTES, closefd=False) as file:
            for block in content:
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
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
        found = os.fstat(handle)
        _check_kind(found.st_mode, path)
        if folder is not None:
            check_memory(found.st_size, path)
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
    for is_kind, words in _KINDS:
        if is_kind(mode):
            raise file_error("special", source=name, kind=words)
    if stat.S_ISDIR(mode):
        raise file_error("directory", source=name)


def _path_within(path: str, folder: str) -> str:
    """The path without links; it must be in the folder, whose own path may have links."""
    real, above = os.path.realpath(path), os.path.realpath(folder)
    if not Path(real).is_relative_to(above):
        raise file_error("link-out", source=path)
    return real
