"""Cached folders, written atomically, with a manifest of checksums that is verified when they are opened."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from rankproof._io.cache_items import CacheHold
from rankproof._io.files import file_sha256
from rankproof._io.paths import cache_home
from rankproof._io.strict_json import read_json_object
from rankproof._io.temporary import temporary_folder
from rankproof.errors import ExternalError, escape_invisible

MANIFEST = "manifest.json"
_CORRUPT_MARK = ".corrupt-"

FolderFacts = Mapping[str, Any]


def models_cache_folder() -> Path:
    """The cache folder of weights and graphs."""
    return cache_home() / "models"


def _hold_cache(folder: Path) -> None:
    """Keeps other processes from clearing the cache as long as this process may read the folder."""
    if folder.is_relative_to(models_cache_folder()):
        _held_cache(cache_home())


@lru_cache(maxsize=16)
def _held_cache(home: Path) -> CacheHold:
    return CacheHold(home)


def cached_folder(target: Path, make: Callable[[Path], FolderFacts]) -> Path:
    """The verified folder, created if it is missing; `make` fills an empty folder and returns facts for its manifest."""
    _hold_cache(target)
    if not target.is_dir():
        _make_folder(target, make)
    return checked_folder(target)


def checked_folder(folder: Path) -> Path:
    """The folder, if its files match the manifest; a corrupt folder is moved away and raises an error."""
    _hold_cache(folder)
    for name, digest in _read_manifest(folder).items():
        path = folder / name
        if not path.is_file() or file_sha256(path) != digest:
            raise _corrupt_error(folder, name)
    return folder


def _read_manifest(folder: Path) -> dict[str, str]:
    try:
        files = read_json_object(folder / MANIFEST).get("files")
    except ExternalError:
        files = None
    if not isinstance(files, dict):
        raise _corrupt_error(folder, MANIFEST)
    return files


def folder_facts(folder: Path) -> dict[str, Any]:
    """The facts in the manifest, empty if there are none."""
    facts = read_json_object(folder / MANIFEST).get("facts")
    return facts if isinstance(facts, dict) else {}


def _make_folder(target: Path, make: Callable[[Path], FolderFacts]) -> None:
    """Fills a temporary folder and renames it; if another process was first, its folder stays."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(os.fspath(target.parent)) as temporary:
            unfinished = Path(temporary.path)
            facts = make(unfinished)
            _write_manifest(unfinished, facts)
            with contextlib.suppress(FileExistsError):
                _rename(unfinished, target)
    except OSError as error:
        where = error.filename or target
        raise ExternalError(
            escape_invisible(f"{where}: cannot be written ({error.strerror or error}); free disk space, or set RANKPROOF_CACHE")
        ) from None


def _rename(unfinished: Path, target: Path) -> None:
    try:
        os.rename(unfinished, target)
    except OSError:
        if not target.is_dir():
            raise


def _write_manifest(folder: Path, facts: FolderFacts) -> None:
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    content = {"facts": dict(facts), "files": {name: file_sha256(path) for name, path in files.items()}}
    with open(folder / MANIFEST, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())


def _corrupt_error(folder: Path, name: str) -> ExternalError:
    aside = folder.parent / f"{_CORRUPT_MARK}{folder.name}-{os.urandom(4).hex()}"
    try:
        os.rename(folder, aside)
    except OSError:
        return ExternalError(
            escape_invisible(f"{folder / name}: the file does not match its checksum; remove the folder {folder} and try again")
        )
    return ExternalError(
        escape_invisible(
            f"{folder / name}: the file does not match its checksum; its folder was renamed to {aside.name}, try again"
        )
    )
