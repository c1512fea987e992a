"""What a value depends on, as plain JSON, and the key that follows from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

NOT_PART = {"identity": False}
"""The metadata of a dataclass field that says where a thing is, not what it is: a connection string, say."""


def identity(value: Any) -> Any:
    """A frozen value as JSON: its kind, its parts and, where it has `revision()`, the version of what lies behind it."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): identity(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [identity(part) for part in value]
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} is no value with an identity")
    parts = {part.name: identity(getattr(value, part.name)) for part in fields(value) if part.metadata.get("identity", True)}
    revision = getattr(value, "revision", None)
    return {"kind": type(value).__name__, **parts, **({"revision": revision()} if callable(revision) else {})}


def key_of(*parts: Any) -> str:
    """A sha256 of the identities of the parts, in hexadecimal."""
    text = json.dumps([identity(part) for part in parts], sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
