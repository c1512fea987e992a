"""Files written whole or not at all: to a temporary file beside the target, synced, then renamed over it."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any

from .._extras import extra
from ..errors import RankproofError, UsageError, WorldError, visible

_DENIED_ERRNOS = (errno.EACCES, errno.EPERM, errno.EROFS)
_USAGE_ERRNOS = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)
_BUFFER_BYTES = 1 << 20
_TEMPORARY = (".rankproof-", ".tmp")


def write_blocks(path: str, blocks: Iterable[bytes]) -> None:
    """The blocks as the file's new content, compressed where the suffix is .gz or .zst; a failure leaves the old content.

    A device or pipe is written to directly, and a symbolic link stays one.
    """
    if not path:
        raise UsageError("the path of the file to write is empty", fix="name the file")
    if "\0" in path:
        raise UsageError(f"{path} is no path", fix="leave out the NUL character")
    try:
        target = os.path.realpath(path)
        old = _mode(target)
        content = _compressed(path, blocks)
        if old is not None and not stat.S_ISREG(old):
            _write_into(target, content)
        else:
            _replace(target, content, old)
    except OSError as error:
        raise _unwritable(path, error) from None


def is_temporary(name: str) -> bool:
    """Whether a file of this name is what a killed writing leaves."""
    return name.startswith(_TEMPORARY[0]) and name.endswith(_TEMPORARY[1])


def _replace(target: str, content: Iterable[bytes], old: int | None) -> None:
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f"{_TEMPORARY[0]}{os.urandom(8).hex()}{_TEMPORARY[1]}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb", buffering=_BUFFER_BYTES) as file:
            for block in content:
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder)


def _write_into(target: str, content: Iterable[bytes]) -> None:
    with open(target, "wb") as file:
        for block in content:
            file.write(block)


def sync_folder(folder: str) -> None:
    """The folder's entries on disk; some file systems cannot, and lose nothing but speed of recovery."""
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


def _compressed(path: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
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


def _unwritable(path: str, error: OSError) -> RankproofError:
    reason = error.strerror or str(error)
    if error.errno in _USAGE_ERRNOS:
        return UsageError(f"{path} cannot be written ({reason})", fix="name a file in a folder that exists")
    if error.errno in _DENIED_ERRNOS:
        return UsageError(f"{path} cannot be written ({reason})", fix="name a file that this user may write")
    return WorldError(visible(f"{path}: cannot be written ({reason}); free space or check the disk"))
