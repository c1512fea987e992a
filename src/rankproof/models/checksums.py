"""The sha256 of files, read once a process for as long as a file's time and size stay the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from ..errors import WorldError, visible


def sha256_of(path: Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal."""
    try:
        stat = os.stat(path)
        return _sha256(str(path), stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise unreadable(path, error) from None


def sha256_of_all(digests: Mapping[str, str]) -> str:
    """One sha256 for many files, from the name and the sha256 of each, in their order."""
    listed = "\n".join(f"{name} {digest}" for name, digest in digests.items())
    return hashlib.sha256(listed.encode()).hexdigest()


def unreadable(path: Path, error: OSError) -> WorldError:
    """The error for a file that the system will not give."""
    return WorldError(
        visible(f"{path}: cannot be read ({error.strerror or error}); check the disk, the path and its permissions")
    )


@lru_cache(maxsize=256)
def _sha256(path: str, time: int, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
