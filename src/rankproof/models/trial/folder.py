"""A folder of files that counts only when the last of them is there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from ...errors import UsageError, WorldError, shown, visible
from ...formats.atomic import is_temporary, sync_folder, write_blocks


def check_free(target: Path, mark: str, parts: Collection[str]) -> None:
    """Refuses a folder that has its mark already, or anything else in it than a writing that was killed can have left."""
    there = _names(target)
    if mark in there:
        raise UsageError(f"{shown(str(target))} is there already", fix="name another folder, or remove it")
    if any(name not in parts and not is_temporary(name) for name in there):
        raise UsageError(f"{shown(str(target))} has other files in it", fix="name another folder, or remove it")


def write_marked(target: Path, files: Mapping[str, bytes], mark: str) -> None:
    """The files into a folder that is free, the mark after all others, each whole; a failure before the mark leaves nothing."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        _empty(target)
        for name in sorted(files, key=lambda name: name == mark):
            write_blocks(str(target / name), [files[name]])
        sync_folder(str(target.parent))
    except BaseException as error:
        if not (target / mark).exists():
            _remove(target)
        if isinstance(error, OSError):
            raise WorldError(visible(f"{target}: cannot be written ({error.strerror or error}); check the disk")) from None
        raise


def _remove(target: Path) -> None:
    with contextlib.suppress(OSError, UsageError):
        _empty(target)
        target.rmdir()


def _empty(target: Path) -> None:
    for name in _names(target):
        os.unlink(target / name)


def _names(target: Path) -> list[str]:
    """What is in the folder; nothing where there is none."""
    try:
        return os.listdir(target)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(
            f"{shown(str(target))} is no folder that can be read ({error.strerror})", fix="name another folder"
        ) from None
