"""Tests in random order."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest


def shuffle_tests(items: Iterable[pytest.Item], seed: str) -> list[pytest.Item]:
    """The modules in random order, and the tests of each; a module's tests stay together, as its fixtures are built once."""
    random = Random(seed)
    modules: dict[Path, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    tests_of_modules = list(modules.values())
    random.shuffle(tests_of_modules)
    return [test for tests in tests_of_modules for test in random.sample(tests, len(tests))]
