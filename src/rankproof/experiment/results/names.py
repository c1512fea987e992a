"""Names of systems as names of files that every file system takes, none of them twice."""

from __future__ import annotations

import re
from collections.abc import Iterable

_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80
_RESERVED = {
    *("con", "prn", "aux", "nul"),
    *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)),
}


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Each name with its file name, without suffix; Windows forbids some, and hears no difference between a and A."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = file_name(name)
        found[name] = _free(plain, taken)
        taken.add(found[name].lower())
    return found


def file_name(name: str) -> str:
    """The name in letters, digits, dots, dashes and underscores."""
    plain = _STRANGE.sub("_", name)[:_LONGEST].strip("._-") or "system"
    return f"_{plain}" if plain.split(".")[0].lower() in _RESERVED else plain


def _free(plain: str, taken: set[str]) -> str:
    number, free = 1, plain
    while free.lower() in taken:
        number += 1
        free = f"{plain}-{number}"
    return free
