"""A folder of files that is written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from ...errors import UsageError, WorldError, shown, visible
from ...formats.atomic import sync_folder


def written_folder(target: Path, files: Mapping[str, bytes], *, marked_by: str) -> None:
    """The files in a folder beside the target, synced, then renamed to it; an old folder of the same kind gives way.

    A folder that has other files in it, and not the one that marks the kind, is refused.
    """
    target = target.expanduser().absolute()
    if target.exists() and not (target / marked_by).is_file() and not _is_empty(target):
        raise UsageError(f"{shown(str(target))} is there, and not a checkpoint", fix="name another folder, or remove it")
    mark = os.urandom(4).hex()
    unfinished, aside = target.parent / f".unfinished-{mark}", target.parent / f".replaced-{mark}"
    try:
        unfinished.mkdir(parents=True)
        _fill(unfinished, files)
        _rename(unfinished, target, aside)
    except OSError as error:
        raise WorldError(
            visible(f"{target}: cannot be written ({error.strerror or error}); free space, or check the disk")
        ) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(aside, ignore_errors=True)


def _is_empty(target: Path) -> bool:
    return target.is_dir() and not any(target.iterdir())


def _fill(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        with open(folder / name, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    sync_folder(str(folder))


def _rename(unfinished: Path, target: Path, aside: Path) -> None:
    """The new folder in the old one's place; where the last step fails the old one comes back."""
    if target.exists():
        os.rename(target, aside)
    try:
        os.rename(unfinished, target)
    except OSError:
        if aside.exists():
            os.rename(aside, target)
        raise
    sync_folder(str(target.parent))
