"""What a wheel and an sdist hold: the sdist is built here, `make package` builds both and looks inside."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tools.release import check, pythons, tag
from tools.release.contents import (
    COMMAND,
    NATIVE,
    PACKAGE,
    PLUGIN,
    ROOT,
    TAG,
    checked_in,
    code,
    data_patterns,
    package_data,
    sdist_faults,
    wheel_faults,
)
from tools.release.size import LIMIT, Size, is_light, needed_packages, size_in_this_environment

import rankproof

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MANIFEST = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
SOURCES = (".c", ".h", ".clang-format", ".so", ".pyd", ".pyc")


def test_every_file_of_the_package_is_code_a_source_or_data_that_is_installed() -> None:
    files = {
        path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.is_file() and not path.name.endswith(SOURCES)
    }
    assert len(files) >= 500
    assert files - code() - package_data() == set()


def test_every_pattern_of_package_data_finds_something() -> None:
    assert len(data_patterns()) >= 8
    assert [pattern for pattern in data_patterns() if not any(PACKAGE.glob(pattern))] == []
    assert {"py.typed", "_analysis/bands.toml", "_report/templates/page.html.j2"} <= package_data()


@pytest.mark.slow
def test_an_sdist_holds_what_a_clone_holds(tmp_path: Path) -> None:
    try:
        names = checked_in()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no checkout")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    call = "from setuptools import build_meta; print(build_meta.build_sdist('.'))"
    done = subprocess.run([sys.executable, "-c", call], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert sdist_faults(tmp_path / done.stdout.split()[-1]) == []


def test_what_the_manifest_names_is_there() -> None:
    named = [name for line in re.findall(r"^(?:include|graft) (.+)$", MANIFEST, re.MULTILINE) for name in line.split()]
    assert len(named) >= 10
    assert [name for name in named if not (ROOT / name).exists()] == []


ASKED = """
import json, runpy, setuptools
asked = {}
setuptools.setup = lambda **arguments: asked.update(arguments)
runpy.run_path("setup.py")
parts = ("name", "py_limited_api", "optional", "define_macros", "sources", "depends")
asked["ext_modules"] = [{part: getattr(one, part) for part in parts} for one in asked["ext_modules"]]
print(json.dumps(asked, default=str))
"""


@pytest.fixture
def asked_for() -> dict[str, Any]:
    """What setup.py asks setuptools for, in a process of its own: setuptools takes the place of a module that others may have."""
    done = subprocess.run([sys.executable, "-c", ASKED], cwd=ROOT, check=True, capture_output=True, text=True)
    asked: dict[str, Any] = json.loads(done.stdout)
    return asked


def test_every_extension_is_built_for_the_stable_abi_and_has_its_stub(asked_for: dict[str, Any]) -> None:
    built = asked_for["ext_modules"]
    assert {one["name"].removeprefix("rankproof.").replace(".", "/") for one in built} == NATIVE
    assert [name for name in NATIVE if not (PACKAGE / f"{name}.pyi").exists()] == []
    assert all(one["py_limited_api"] and one["optional"] for one in built)
    assert all(one["define_macros"] == [["Py_LIMITED_API", "0x030B0000"]] for one in built)
    assert asked_for["options"]["bdist_wheel"] == {"py_limited_api": TAG.partition("-")[0]}
    assert asked_for["options"]["build_ext"]["parallel"] >= 1
    assert [path for one in built for path in (*one["sources"], *one["depends"]) if not (ROOT / path).exists()] == []


def test_the_oldest_python_is_the_one_that_wheels_are_built_for() -> None:
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert PROJECT["tool"]["cibuildwheel"]["build"] == "cp311-*"


def test_a_plain_install_is_light() -> None:
    size = size_in_this_environment(PACKAGE, PROJECT["project"]["dependencies"])
    assert is_light(size), f"{size} exceeds {LIMIT}; move what is heavy to an extra"
    assert size.megabytes > LIMIT.megabytes / 2, "the limit is far from what an install takes; lower it"


def test_what_a_dependency_needs_is_counted_and_its_extras_are_not() -> None:
    assert {"rich", "pygments", "markdown-it-py", "mdurl"} == needed_packages(["rich>=1"])
    assert needed_packages(["rich; extra == 'pages'"]) == set()
    assert not is_light(Size(LIMIT.packages + 1, 1.0))
    assert not is_light(Size(1, LIMIT.megabytes + 1))


def test_the_python_that_runs_the_tests_is_supported() -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert version in pythons.supported()
    assert pythons.supported()[0] == PROJECT["project"]["requires-python"].removeprefix(">=")


def test_every_check_of_a_release_is_a_target_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert len(check.CHECKS) >= 10
    assert [name for name in check.CHECKS if name not in targets and not name.startswith(check.ON_PYTHON)] == []
    assert f"\n{check.ON_PYTHON}%:" in makefile


def test_a_release_check_says_what_failed_and_what_was_not_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Makefile").write_text("good:\n\t@echo 7 passed\nbad:\n\t@echo 1 failed; exit 1\n")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(check, "CHECKS", ["good", "bad", "python-3.99"])
    monkeypatch.setattr(check, "find", lambda version: None)
    assert check.main([]) == 1
    summary = capsys.readouterr().out.partition("\n\n")[2].splitlines()
    assert [line.split()[0] for line in summary] == ["passed", "failed", "not"]
    assert summary[0].endswith("good             7 passed")
    assert (tmp_path / "logs" / "bad.log").read_text().startswith("1 failed\n")
    assert check.main(["good", "python-3.99"]) == 0
    assert check.main(["best"]) == 2


def test_the_command_and_the_licence_are_declared_and_there() -> None:
    scripts = PROJECT["project"]["scripts"]
    assert [f"{name} = {place}" for name, place in scripts.items()] == [COMMAND]
    module, _, name = scripts["rankproof"].partition(":")
    assert callable(getattr(__import__(module, fromlist=[name]), name))
    assert PROJECT["project"]["license-files"] == ["LICENSE"]
    assert (ROOT / "LICENSE").exists()


@pytest.mark.parametrize("left_out", ["", "LICENSE", "entry_points.txt", "abi3", "py.typed", "align", PLUGIN])
def test_a_wheel_that_lacks_something_is_faulty(left_out: str, tmp_path: Path) -> None:
    wheel = tmp_path / f"rankproof-0-{'cp311-cp311' if left_out == 'abi3' else TAG}-any.whl"
    record = {
        "licenses/LICENSE": "MIT License",
        "entry_points.txt": f"[console_scripts]\n{COMMAND}\n",
        "WHEEL": f"Tag: {TAG}-any",
        "METADATA": "License-File: LICENSE",
    }
    files = {f"rankproof/{name}": "" for name in (*code(), *package_data(), *(f"{one}.abi3.so" for one in NATIVE))}
    files |= {PLUGIN: ""} | {f"rankproof-0.dist-info/{name}": text for name, text in record.items()}
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            if left_out in ("", "abi3") or not re.search(rf"(^|/){left_out}($|\.abi3\.so$)", name):
                archive.writestr(name, text)
    faults = wheel_faults(wheel)
    assert (faults == []) is (left_out == ""), faults
    assert len(faults) == bool(left_out)


def test_the_version_is_said_once_in_code_and_agrees_everywhere_else() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "rankproof._version.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", rankproof.__version__)
    assert citation()["version"] == rankproof.__version__


def test_a_tag_is_published_only_where_it_is_the_version_and_the_tests_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert tag.main(f"v{rankproof.__version__}") == 0
    assert tag.main("v99.0.0") == 1
    assert f"wants v{rankproof.__version__}" in capsys.readouterr().out
    workflow = ROOT / ".github" / "workflows" / "wheels.yml"
    if workflow.exists():
        text = workflow.read_text(encoding="utf-8")
        assert "needs: [version, tests, wheels, sdist]" in text
        assert [action for action in re.findall(r"uses: (\S+)", text) if not re.search(r"@[0-9a-f]{40}$", action)] == []
        assert 'python3 -m tools.release.tag "$GITHUB_REF_NAME"' in text


def test_the_citation_has_what_its_format_asks_for() -> None:
    known = citation()
    assert known["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= known.keys()
    assert known["license"] == PROJECT["project"]["license"]
    assert known["  - name"] == PROJECT["project"]["authors"][0]["name"]


def citation() -> dict[str, str]:
    return dict(re.findall(r"^([ a-z-]+):(?: (.*))?$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
