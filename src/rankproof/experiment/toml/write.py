"""Values written as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ...errors import is_hidden

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile("[^\x20-\x7e]")


def toml_key(name: str) -> str:
    """The name as a key, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A text, number, truth value, list or table, on one line."""
    if isinstance(value, str):
        return _ESCAPED.sub(_escape, json.dumps(value, ensure_ascii=False))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(one)}" for key, one in value.items()) + "}"
    return "[" + ", ".join(map(toml_value, value)) + "]"


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    return f"\\U{ord(char):08x}" if is_hidden(char) else char
