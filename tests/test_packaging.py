"""What a wheel and an sdist will hold, told from the files on disk; `make package` builds them and looks inside."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest
from release.contents import NATIVE, PACKAGE, ROOT, checked_in, code, data_patterns, package_data

import rankproof

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MANIFEST = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
SETUP = (ROOT / "setup.py").read_text(encoding="utf-8")
SOURCES = (".c", ".h", ".clang-format", ".so", ".pyd", ".pyc")


def test_every_file_of_the_package_is_code_a_source_or_data_that_is_installed() -> None:
    files = {
        path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.is_file() and not path.name.endswith(SOURCES)
    }
    assert files - code() - package_data() == set()


def test_every_pattern_of_package_data_finds_something() -> None:
    assert [pattern for pattern in data_patterns() if not any(PACKAGE.glob(pattern))] == []
    assert {"py.typed", "analysis/bands/bands.toml", "report/templates/page.html.j2"} <= package_data()


def test_every_folder_and_page_of_the_checkout_goes_into_the_sdist() -> None:
    try:
        names = checked_in()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no checkout")
    grafted = set(re.findall(r"^graft (\S+)$", MANIFEST, re.MULTILINE)) | {"src"}
    included = {name for line in re.findall(r"^include (.+)$", MANIFEST, re.MULTILINE) for name in line.split()}
    always = {"LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py"}
    assert {name.partition("/")[0] for name in names if "/" in name} - grafted == set()
    assert {name for name in names if "/" not in name} - included - always == set()


def test_what_the_manifest_names_is_there() -> None:
    named = [name for line in re.findall(r"^(?:include|graft) (.+)$", MANIFEST, re.MULTILINE) for name in line.split()]
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_extension_is_built_for_the_stable_abi_and_has_its_stub() -> None:
    built = set(re.findall(r'extension\("rankproof\.([a-z.]+_[a-z]+)"', SETUP))
    assert {name.replace(".", "/") for name in built} == NATIVE
    assert [name for name in NATIVE if not (PACKAGE / f"{name}.pyi").exists()] == []
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert oldest == "3.11"
    assert 'define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE' in SETUP
    assert PROJECT["tool"]["cibuildwheel"]["build"] == "cp311-*"


def test_the_version_is_said_once_in_code_and_agrees_everywhere_else() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "rankproof.version.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", rankproof.__version__)
    assert citation()["version"] == rankproof.__version__


def test_the_citation_has_what_its_format_asks_for() -> None:
    known = citation()
    assert known["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= known.keys()
    assert known["license"] == PROJECT["project"]["license"]
    assert known["  - name"] == PROJECT["project"]["authors"][0]["name"]


def citation() -> dict[str, str]:
    return dict(re.findall(r"^([ a-z-]+):(?: (.*))?$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
