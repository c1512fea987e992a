"""Packages and MB of an installation: `python -m tools.release.size [WHAT …]`, as in `.` (default), '.[retrieval]' or a wheel.

Each is installed into a fresh environment; pip and setuptools are not counted. Exit code 1 if an install
without extras exceeds the limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")


class Size(NamedTuple):
    """What an environment holds beside pip and setuptools."""

    packages: int
    megabytes: float


CORE, LIMIT = ".", Size(8, 110.0)
"""A plain install may not exceed this; numpy takes 72 of the MB."""


def installed_size(what: str) -> Size:
    """The size of a fresh environment after `pip install what`."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True, symlinks=True)
        python = str(Path(folder) / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what], check=True)
        listed = [python, "-m", "pip", "list", "--disable-pip-version-check", "--format", "json"]
        names = [one["name"] for one in json.loads(subprocess.run(listed, check=True, stdout=subprocess.PIPE).stdout)]
        return Size(len(set(names) - set(TOOLS)), _megabytes(next(Path(folder).glob("lib/python*/site-packages"))))


def _megabytes(site: Path) -> float:
    places = [place for place in site.iterdir() if not place.name.startswith(TOOLS)]
    return _disk_space(file for place in places for file in (place, *place.rglob("*")))


def _disk_space(files: Iterable[Path]) -> float:
    """Disk space in units of 2^20 bytes, as du -sm counts it."""
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file()) / 2**20


def size_in_this_environment(package: Path, dependencies: Iterable[str]) -> Size:
    """The size of a plain install of the package, by what its dependencies take in the running environment."""
    names = needed_packages(dependencies)
    listed = [Path(str(file.locate())) for name in sorted(names) for file in distribution(name).files or ()]
    own = [file for file in package.rglob("*") if file.suffix not in (".c", ".h")]
    return Size(len(names) + 1, _disk_space([*listed, *own]))


def needed_packages(requirements: Iterable[str]) -> set[str]:
    """The packages of the requirements with all that those need, by the metadata of what is installed."""
    from packaging.requirements import Requirement

    found, waiting = set[str](), [Requirement(one) for one in requirements]
    while waiting:
        one = waiting.pop()
        name = one.name.lower().replace("_", "-")
        if name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found.add(name)
            waiting += map(Requirement, distribution(name).requires or ())
    return found


def is_light(size: Size) -> bool:
    """Whether a plain install is within the limit."""
    return size.packages <= LIMIT.packages and size.megabytes <= LIMIT.megabytes


def main() -> int:
    """Prints a line for each; exit code 1 if the core is larger than its limit."""
    light = True
    for what in sys.argv[1:] or [CORE]:
        size = installed_size(what)
        print(f"{size.packages:4} packages {size.megabytes:7.1f} MB  {what}", flush=True)
        light = light and ("[" in what or is_light(size))
    if not light:
        print(f"the core may have {LIMIT.packages} packages and {LIMIT.megabytes:.0f} MB; move what is heavy to an extra")
    return 0 if light else 1


if __name__ == "__main__":
    sys.exit(main())
