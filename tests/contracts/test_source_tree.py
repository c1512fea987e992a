"""The shape of the source tree: files in folders, one name for one class, no module for one sibling alone."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from rankproof._registry import Registry
from support.paths import SOURCE
from support.registries import all_registries

MOST_FILES_IN_A_FOLDER = 20
TOGETHER = 400
"""A module that only one sibling uses belongs in that sibling, unless the two exceed so many lines."""


@cache
def modules() -> dict[str, Path]:
    """Every module with code, by its dotted name."""
    found = {".".join(("rankproof", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in SOURCE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in found.items()}


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@cache
def registered() -> set[str]:
    """The modules that a registry loads."""
    found: set[str] = set()
    for table in all_registries():
        if isinstance(table, Registry):
            found.update(component.target.partition(":")[0] for component in table.components)
        else:
            found.update(table.own_modules())
    return found


@cache
def users() -> dict[str, set[str]]:
    """Module to the modules that import it, "registry" among them for what a registry loads."""
    found: dict[str, set[str]] = defaultdict(set, {name: {"registry"} for name in registered()})
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                named = [f"{node.module}.{alias.name}" for alias in node.names]
                for each in (one if one in modules() else node.module for one in named):
                    found[each].add(name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.name].add(name)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found[node.value.partition(":")[0]].add(name)
    return found


def folder_of(name: str) -> str:
    return name.rpartition(".")[0]


def code_modules() -> dict[str, Path]:
    return {name: path for name, path in modules().items() if path.name not in ("__init__.py", "__main__.py")}


@pytest.mark.slow
def test_no_class_name_is_defined_twice() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)
    assert len(found) >= 900
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def counted_modules() -> dict[str, Path]:
    """Every module but the parts of registries, which may grow in number."""
    return {name: path for name, path in modules().items() if name not in registered()}


def test_no_folder_has_too_many_files() -> None:
    counts = Counter(path.parent.relative_to(SOURCE).as_posix() for path in counted_modules().values())
    full = {folder: count for folder, count in counts.items() if count > MOST_FILES_IN_A_FOLDER}
    assert sum(counts.values()) >= 300
    assert full == {}, f"a folder has at most {MOST_FILES_IN_A_FOLDER} files, not counting registered parts; split it"


@pytest.mark.slow
def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 matches `(?:ab?)*+` wrongly (CPython issue 106052), but `(?>(?:ab?)*)` correctly."""
    repeated = re.compile(r"(?<!\\)\)(?:[*+?]|\{\{?\d+(?:,\d*)?\}\}?)\+")
    assert repeated.search("(?:ab?){2,}+")
    patterns = {
        f"{name}:{node.lineno}": node.value
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "(?" in node.value
    }
    assert len(patterns) >= 100
    assert [place for place, pattern in patterns.items() if repeated.search(pattern)] == []


def for_one_sibling() -> dict[str, str]:
    """Small modules that a single module of the same folder uses."""
    found = {}
    for name, path in code_modules().items():
        using = users()[name] - {name}
        if len(using) != 1:
            continue
        (user,) = using
        if folder_of(user) == folder_of(name) and lines_of(path) + lines_of(modules()[user]) <= TOGETHER:
            found[name] = user
    return found


@pytest.mark.slow
def test_no_module_is_there_for_one_sibling_alone() -> None:
    assert len(modules()) >= 300
    assert sum(map(len, users().values())) >= 5_000
    assert for_one_sibling() == {}


def test_the_parts_of_every_registry_are_modules() -> None:
    assert {"rankproof._cli.commands.report", "rankproof._analysis.doctor.checks.rankings"} <= registered() <= set(modules())
