"""Folders that are made whole or not at all, with a manifest of checksums that is checked when they are opened."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import WorldError, visible
from ..places import cache_home
from .checksums import sha256_of
from .json_file import read_object

MANIFEST = "manifest.json"
_UNFINISHED = ".unfinished-"
_ASIDE = ".corrupt-"
_A_DAY = 86_400.0

Facts = Mapping[str, Any]


def models_home() -> Path:
    """Where weights and graphs are kept."""
    return cache_home() / "models"


def kept(target: Path, make: Callable[[Path], Facts]) -> Path:
    """The folder, checked, or made where it is not there; `make` fills an empty folder and tells what is in it."""
    if not target.is_dir():
        _make(target, make)
    return checked(target)


def checked(folder: Path) -> Path:
    """The folder, if its files are those that were written; another is refused, and set aside so that it is made anew."""
    for name, digest in _listed(folder).items():
        path = folder / name
        if not path.is_file() or sha256_of(path) != digest:
            raise _corrupt(folder, name)
    return folder


def _listed(folder: Path) -> dict[str, str]:
    try:
        files = read_object(folder / MANIFEST).get("files")
    except WorldError:
        files = None
    if not isinstance(files, dict):
        raise _corrupt(folder, MANIFEST)
    return files


def facts_of(folder: Path) -> dict[str, Any]:
    """What the maker told of the folder; nothing where it has no manifest."""
    facts = read_object(folder / MANIFEST).get("facts")
    return facts if isinstance(facts, dict) else {}


def _make(target: Path, make: Callable[[Path], Facts]) -> None:
    """Filled beside its place and then renamed; where another process was first, its folder stays."""
    unfinished = target.parent / f"{_UNFINISHED}{target.name}-{os.urandom(4).hex()}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        unfinished.mkdir()
        facts = make(unfinished)
        _write_manifest(unfinished, facts)
        with contextlib.suppress(FileExistsError):
            _rename(unfinished, target)
    except OSError as error:
        where = error.filename or target
        raise WorldError(
            visible(
                f"{where}: cannot be written ({error.strerror or error}); free space, or name another folder in RANKPROOF_CACHE"
            )
        ) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _rename(unfinished: Path, target: Path) -> None:
    try:
        os.rename(unfinished, target)
    except OSError:
        if not target.is_dir():
            raise


def _write_manifest(folder: Path, facts: Facts) -> None:
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    content = {"facts": dict(facts), "files": {name: sha256_of(path) for name, path in files.items()}}
    with open(folder / MANIFEST, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())


def _sweep(parent: Path) -> None:
    """Removes what killed processes left, once it is a day old."""
    for left in parent.glob(f"{_UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < time.time() - _A_DAY:
                shutil.rmtree(left)


def _corrupt(folder: Path, name: str) -> WorldError:
    aside = folder.parent / f"{_ASIDE}{folder.name}-{os.urandom(4).hex()}"
    try:
        os.rename(folder, aside)
    except OSError:
        return WorldError(visible(f"{folder / name}: not what was written there; remove the folder {folder} and try again"))
    return WorldError(visible(f"{folder / name}: not what was written there; it was set aside as {aside.name}, so try again"))
