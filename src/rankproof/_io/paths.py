"""The folders of cache and configuration, files that match a pattern, and file names for names of systems."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from rankproof.errors import InputError, UsageError

CACHE_VARIABLE = "RANKPROOF_CACHE"
CONFIG_VARIABLE = "RANKPROOF_CONFIG"


def cache_home() -> Path:
    """The folder of RANKPROOF_CACHE, else `rankproof` in the user's cache folder; it may not exist."""
    if asked := os.environ.get(CACHE_VARIABLE):
        return Path(asked).expanduser().absolute()
    return _user_cache() / "rankproof"


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _user_home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return _user_home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or _user_home() / ".cache")


def config_home() -> Path:
    """The folder of RANKPROOF_CONFIG, else `rankproof` in the user's configuration folder; it may not exist."""
    if asked := os.environ.get(CONFIG_VARIABLE):
        return Path(asked).expanduser().absolute()
    return _user_config() / "rankproof"


def _user_config() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or _user_home(CONFIG_VARIABLE) / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return _user_home(CONFIG_VARIABLE) / "Library" / "Application Support"
    return Path(os.environ.get("XDG_CONFIG_HOME") or _user_home(CONFIG_VARIABLE) / ".config")


def _user_home(variable: str = CACHE_VARIABLE) -> Path:
    try:
        return Path.home()
    except RuntimeError:
        what = f"this user has no home folder for the {'cache' if variable == CACHE_VARIABLE else 'configuration'}"
        raise UsageError(what, fix=f"set {variable} to a folder") from None


_WILDCARD = re.compile(r"[*?]|\[[^]]+]")
DATASET_PATTERN_FIX = (
    "put the files into a folder as corpus-1.jsonl, corpus-2.jsonl and so on, with queries.jsonl; specify the folder"
)


def is_pattern(path: str) -> bool:
    """Whether the path has a wildcard (`*`, `?`, `[…]`), and no file has just that name."""
    return bool(_WILDCARD.search(path)) and not os.path.exists(path)


def matching_files(pattern: str) -> list[str]:
    """The files that match the pattern, sorted by name; none is an error."""
    import glob

    paths = sorted(path for path in glob.glob(pattern) if os.path.isfile(path))
    if not paths:
        raise InputError("no file matches this pattern", fix="check the path, and quote the pattern", source=pattern)
    return paths


def pattern_name(pattern: str) -> str:
    """The path of the pattern's folder and the part of its name before the wildcard; `runs/part-*.gz` is named `runs`."""
    folder, name = os.path.split(pattern)
    stem = _WILDCARD.split(name)[0].rstrip("._-")
    return folder if folder and stem in _PART_NAMES and not _WILDCARD.search(folder) else stem or "run"


_PART_NAMES = frozenset({"", "part"})
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_FILE_NAME = 80
_RESERVED_NAMES = {
    *("con", "prn", "aux", "nul"),
    *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)),
}


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Each name with a file name without suffix, unique on case-insensitive file systems and valid on Windows."""
    names_of_files: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = file_name(name)
        names_of_files[name] = _unused_name(plain, taken)
        taken.add(names_of_files[name].lower())
    return names_of_files


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


def is_possible_path(name: str) -> bool:
    """Whether the system can have a path of that name, which NUL and surrogates of no byte prevent."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False
