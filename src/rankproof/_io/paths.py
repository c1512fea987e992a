"""The cache folder, and file names for names of systems."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

CACHE_VARIABLE = "RANKPROOF_CACHE"


def cache_home() -> Path:
    """The folder of RANKPROOF_CACHE, else `rankproof` in the user's cache folder; it may not exist."""
    if asked := os.environ.get(CACHE_VARIABLE):
        return Path(asked).expanduser().absolute()
    return _user_cache() / "rankproof"


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_FILE_NAME = 80
_RESERVED_NAMES = {
    *("con", "prn", "aux", "nul"),
    *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)),
}


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Each name with a file name without suffix, unique on case-insensitive file systems and valid on Windows."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = file_name(name)
        found[name] = _unused_name(plain, taken)
        taken.add(found[name].lower())
    return found


def file_name(name: str) -> str:
    """The name with letters, digits, dots, dashes and underscores only."""
    plain = _UNSAFE_CHARACTERS.sub("_", name)[:_MAX_FILE_NAME].strip("._-") or "system"
    return f"_{plain}" if plain.split(".")[0].lower() in _RESERVED_NAMES else plain


def _unused_name(plain: str, taken: set[str]) -> str:
    number, free = 1, plain
    while free.lower() in taken:
        number += 1
        free = f"{plain}-{number}"
    return free
