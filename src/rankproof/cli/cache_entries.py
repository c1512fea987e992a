"""What lies in one folder of the cache; links are never followed, neither to measure nor to remove."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import WorldError, visible


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder of the cache: its bytes, and when it was last written to."""

    path: Path
    size: int
    written: float


def entries_of(folder: Path) -> list[Entry]:
    """What lies in the folder; nothing where it is missing or is a link to somewhere else."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    try:
        return [_entry(path) for path in sorted(folder.iterdir())]
    except OSError as error:
        raise _failed(folder, error) from None


def removed(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Removes each, and gives it; of a link the link alone."""
    for entry in entries:
        try:
            if entry.path.is_dir() and not entry.path.is_symlink():
                shutil.rmtree(entry.path)
            else:
                entry.path.unlink()
        except OSError as error:
            raise _failed(entry.path, error) from None
        yield entry


def _entry(path: Path) -> Entry:
    stats = list(_stats(path))
    return Entry(path, sum(one.st_size for one in stats if stat.S_ISREG(one.st_mode)), max(one.st_mtime for one in stats))


def _stats(path: Path) -> Iterator[os.stat_result]:
    own = path.lstat()
    yield own
    if stat.S_ISDIR(own.st_mode):
        for inner in path.iterdir():
            yield from _stats(inner)


def _failed(path: Path, error: OSError) -> WorldError:
    return WorldError(visible(f"{path}: {error.strerror or error}; check that this user may read and remove it"))
