"""The Makefile and the scripts of tools/ name modules, tests and C sources that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib import import_module
from importlib.util import find_spec

import pytest

from support.paths import ROOT

SCRIPTS = [ROOT / "Makefile", ROOT / ".ci" / "run", *sorted((ROOT / "tools").rglob("*.sh"))]
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS if path.exists())


@pytest.mark.parametrize("module", sorted(set(re.findall(r"python\)? -m ((?:benchmarks|tools)[\w.]*)", TEXT))))
def test_every_module_that_is_run_exists(module: str) -> None:
    assert find_spec(module) is not None


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(?<![\w/$])(?:tests|tools|src)/[\w/.]+\w", TEXT))))
def test_every_path_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists() or "work" in path


IMPORT_IN_STRING = re.compile(r"[\"';] ?from (rankproof[\w.]*) import (\w+(?:, \w+)*)")


def test_every_target_has_a_help_text() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[0].split()
    assert sorted(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)) == sorted(targets)


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
