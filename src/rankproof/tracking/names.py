"""Names that a tracking store accepts, each still its own, and values no longer than it takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import visible

LONGEST_NAME, LONGEST_VALUE, LONGEST_TAG = 200, 500, 5000
_ILLEGAL = re.compile(r"[^A-Za-z0-9_. -]+|__+")


def legal(names: Iterable[str]) -> dict[str, str]:
    """Each name as letters, digits and _-. alone, as in nDCG_at_10; two that would meet are numbered."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = _plain(name)
        number = 2
        while plain in taken:
            plain, number = f"{_plain(name)[: LONGEST_NAME - 8]}-{number}", number + 1
        taken.add(plain)
        found[name] = plain
    return found


def _plain(name: str) -> str:
    """No slash and no dot at an end, which stores take for paths."""
    plain = _ILLEGAL.sub("_", name.replace("@", "_at_"))
    plain = _ILLEGAL.sub("_", plain)[:LONGEST_NAME].strip(". ")
    return plain or "_"


def flat(value: Any, name: str = "") -> dict[str, str]:
    """A nested value as one text for each part, as in {"stage.encoder.model": "minilm"}."""
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = {str(at): part for at, part in enumerate(value)}.items()
    else:
        return {name: cut(str(value), LONGEST_VALUE)}
    found: dict[str, str] = {}
    for key, part in parts:
        found |= flat(part, f"{name}.{key}" if name else str(key))
    return found or {name: ""}


def cut(text: str, most: int) -> str:
    """The text made visible, with … where it is too long."""
    safe = visible(text)
    return safe if len(safe) <= most else f"{safe[: most - 1]}…"
