"""Compares a wheel and an sdist with the checkout and prints missing and superfluous files; exit code 1 if there are any."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "rankproof"
NATIVE = {
    "_native/align",
    "_native/bm25",
    "_native/documents",
    "_native/merge",
    "_native/topk",
    "_native/bert",
    "_native/word_vectors",
    "_native/permutation",
    "_native/wordpiece",
}
NOT_SHIPPED = (".ci/", ".github/", ".gitignore")
TAG = "cp311-abi3"
PLUGIN = "pytest_rankproof.py"
COMMAND = "rankproof = rankproof._cli.main:entry"
BUILT = (".pyc", ".so", ".pyd")


def data_patterns() -> list[str]:
    """What pyproject.toml says that belongs to the package beside its code."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    return [str(pattern) for pattern in settings["package-data"]["rankproof"]]


def package_data() -> set[str]:
    """The files that those patterns find."""
    return {
        path.relative_to(PACKAGE).as_posix() for pattern in data_patterns() for path in PACKAGE.glob(pattern) if path.is_file()
    }


def code() -> set[str]:
    """The modules, and the stubs of the native ones."""
    return {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py*") if path.suffix in (".py", ".pyi")}


def checked_in() -> set[str]:
    """What git would give to a clone, new files that nobody ignores included."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    return {name for name in listed if name and (ROOT / name).exists() and not name.startswith(NOT_SHIPPED)}


def wheel_faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel: it holds the code, the data, the extensions and its own record, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        every = archive.namelist()
        record = {name.partition(".dist-info/")[2]: archive.read(name).decode() for name in every if ".dist-info/" in name}
    names = [name for name in every if ".dist-info/" not in name]
    inside = {name.removeprefix("rankproof/") for name in names if not name.endswith(("/", *BUILT))}
    built = {name.removeprefix("rankproof/").split(".")[0] for name in names if name.endswith(BUILT)}
    wanted = code() | package_data() | {PLUGIN}
    return [*_differences(inside, wanted), *_differences(built, NATIVE), *_record_faults(wheel, record)]


def _record_faults(wheel: Path, record: dict[str, str]) -> list[str]:
    """What the wheel says of itself: the licence, the command, and that it serves every Python from the oldest on."""
    wanted = {"licenses/LICENSE": "MIT", "entry_points.txt": COMMAND, "WHEEL": f"Tag: {TAG}", "METADATA": "License-File: LICENSE"}
    faults = [f"has no {text!r} in {name}" for name, text in wanted.items() if text not in record.get(name, "")]
    return faults if f"-{TAG}-" in wheel.name else [*faults, f"is not named for {TAG}"]


def sdist_faults(sdist: Path) -> list[str]:
    """What is wrong with an sdist: it holds what a clone holds."""
    with tarfile.open(sdist) as archive:
        inside = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    made = {name for name in inside if name in ("PKG-INFO", "setup.cfg") or ".egg-info/" in name}
    return _differences(inside - made, checked_in())


def _differences(inside: set[str], wanted: set[str]) -> list[str]:
    return [*(f"lacks {name}" for name in sorted(wanted - inside)), *(f"has {name}" for name in sorted(inside - wanted))]


def main(folder: Path) -> int:
    """Looks at every wheel and sdist in the folder."""
    faults = [f"{path.name} {fault}" for path in sorted(folder.glob("*.whl")) for fault in wheel_faults(path)]
    faults += [f"{path.name} {fault}" for path in sorted(folder.glob("*.tar.gz")) for fault in sdist_faults(path)]
    print("\n".join(faults) or f"{folder}: nothing missing, nothing too much")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
