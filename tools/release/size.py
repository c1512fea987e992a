"""Packages and MB of an installation: `python -m tools.release.size [WHAT …]`, as in `.` (default), '.[retrieval]' or a wheel.

Each is installed into a fresh environment; pip and setuptools are not counted. Exit code 1 if the core exceeds its limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")


class Size(NamedTuple):
    """What an environment holds beside pip and setuptools."""

    packages: int
    megabytes: float


CORE, LIMIT = ".", Size(10, 110.0)


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
    """Disk space in units of 2^20 bytes, as du -sm counts it."""
    places = [place for place in site.iterdir() if not place.name.startswith(TOOLS)]
    files = [file for place in places for file in (place, *place.rglob("*")) if file.is_file()]
    return sum(file.stat().st_blocks * 512 for file in files) / 2**20


def main() -> int:
    """Prints a line for each; exit code 1 if the core is larger than its limit."""
    light = True
    for what in sys.argv[1:] or [CORE]:
        size = installed_size(what)
        print(f"{size.packages:4} packages {size.megabytes:7.1f} MB  {what}", flush=True)
        light = light and (what != CORE or (size.packages <= LIMIT.packages and size.megabytes <= LIMIT.megabytes))
    if not light:
        print(f"the core may have {LIMIT.packages} packages and {LIMIT.megabytes:.0f} MB; move what is heavy to an extra")
    return 0 if light else 1


if __name__ == "__main__":
    sys.exit(main())
