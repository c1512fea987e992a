"""The Makefile and the scripts of tools/ name modules, tests and C sources that exist."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.paths import ROOT
from support.shuffled_tests import shuffle_tests

SCRIPTS = [ROOT / "Makefile", ROOT / ".ci" / "run", *sorted((ROOT / "tools").rglob("*.sh"))]
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS if path.exists())


MODULES = sorted(set(re.findall(r"python\)? -m ((?:benchmarks|tools)[\w.]*)", TEXT)))
PATHS = sorted(set(re.findall(r"(?<![\w/$])(?:tests|tools|src)/[\w/.]+\w", TEXT)))


def test_modules_and_paths_are_found_in_the_scripts() -> None:
    assert len(MODULES) >= 30
    assert len(PATHS) >= 30


@pytest.mark.parametrize("module", MODULES)
def test_every_module_that_is_run_exists(module: str) -> None:
    assert find_spec(module) is not None


@pytest.mark.parametrize("path", PATHS)
def test_every_path_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists() or "work" in path.split("/")


IMPORT_IN_STRING = re.compile(r"[\"';] ?from (rankproof[\w.]*) import (\w+(?:, \w+)*)")


def test_every_target_has_a_help_text() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[0].split()
    assert sorted(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)) == sorted(targets)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("harness", sorted(path.name for path in (ROOT / "tools" / "fuzz").glob("*.c")))
def test_a_fuzzing_harness_compiles(harness: str) -> None:
    command = ["cc", "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-function", harness]
    done = subprocess.run(command, cwd=ROOT / "tools" / "fuzz", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_code_in_strings_imports_what_exists() -> None:
    found = [
        (path, module, name)
        for folder in ("benchmarks", "tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "work" not in path.relative_to(ROOT).parts
        for module, names in IMPORT_IN_STRING.findall(path.read_text(encoding="utf-8"))
        for name in names.split(", ")
    ]
    assert found
    for path, module, name in found:
        assert hasattr(import_module(module), name), f"{path}: {module} has no {name}"


def test_one_variable_names_the_folder_of_collections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_SHARED", str(tmp_path))
    found = runpy.run_path(str(ROOT / "tools" / "shared_folder.py"))
    assert found["DATA"] == tmp_path / "data"
    reason = f"there is no {tmp_path / 'data' / 'x'}; RANKPROOF_SHARED names the folder that contains data/x"
    assert found["missing_data"]("x") == reason
    (tmp_path / "data" / "x").mkdir(parents=True)
    assert found["missing_data"]("x") == ""
    monkeypatch.delenv("RANKPROOF_SHARED")
    assert runpy.run_path(str(ROOT / "tools" / "shared_folder.py"))["SHARED"] == ROOT.resolve().parent / "shared"


def test_a_seed_shuffles_tests_and_keeps_those_of_a_module_together() -> None:
    items: list[Any] = [SimpleNamespace(path=Path(module), name=name) for module in "abcd" for name in range(5)]
    orders = {seed: [(item.path.name, item.name) for item in shuffle_tests(items, seed)] for seed in ("1", "2")}
    assert orders["1"] == [(item.path.name, item.name) for item in shuffle_tests(items, "1")]
    assert orders["1"] != orders["2"]
    for order in orders.values():
        assert sorted(order) == [(item.path.name, item.name) for item in items]
        assert len(list(groupby(order, key=lambda test: test[0]))) == 4
