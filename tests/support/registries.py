"""Every registry of the package."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

from rankproof._registry import RecordTable, Registry
from support.paths import SOURCE

_DEFINES = re.compile(r"^[A-Z_]+: (?:Registry|RecordTable)\[", re.MULTILINE)


@cache
def all_registries() -> list[Registry[Any] | RecordTable[Any]]:
    """The registries of all modules that define one."""
    files = (path for path in sorted(SOURCE.rglob("*.py")) if _DEFINES.search(path.read_text(encoding="utf-8")))
    names = (".".join(("rankproof", *path.relative_to(SOURCE).with_suffix("").parts)) for path in files)
    found = (value for name in names for value in vars(import_module(name)).values())
    tables = (value for value in found if isinstance(value, Registry | RecordTable))
    return list({id(table): table for table in tables}.values())
