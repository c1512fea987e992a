"""Values as JSON and as cache keys, and versions of libraries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any

from rankproof.errors import UsageError, for_message

NOT_IN_IDENTITY = {"identity": False}
"""The metadata of a dataclass field that is not part of the identity, such as a path or an address."""
IN_IDENTITY_IF_SET = {"identity": "if set"}
"""The metadata of a dataclass field that is part of the identity only if it is not empty."""

_PLAIN = frozenset({str, int, float, bool, NoneType})


def identity(value: Any) -> Any:
    """A frozen value as JSON: its class name, its fields and, if it has `revision()`, the version of its external parts."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): identity(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [part if type(part) in _PLAIN else identity(part) for part in value]
    if not is_dataclass(value):
        kind = for_message(kind_name(type(value)))
        raise UsageError(f"{kind} has no identity for cache keys", fix="make it a frozen dataclass")
    parts = {part.name: identity(getattr(value, part.name)) for part in fields(value) if _is_identifying(part, value)}
    revision = getattr(value, "revision", None)
    return {"kind": kind_name(type(value)), **parts, **({"revision": revision()} if callable(revision) else {})}


def _is_identifying(part: Field[Any], value: Any) -> bool:
    kept = part.metadata.get("identity", True)
    return bool(getattr(value, part.name)) if kept == IN_IDENTITY_IF_SET["identity"] else bool(kept)


def kind_name(kind: type[Any]) -> str:
    """The name of the class, with its module for a class of another package."""
    ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    return kind.__name__ if ours else f"{kind.__module__}.{kind.__qualname__}"


def identity_key(*parts: Any) -> str:
    """A sha256 of the identities of the parts, in hexadecimal."""
    text = json.dumps([identity(part) for part in parts], sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def installed_version(package: str) -> str | None:
    """The version of the package, None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def library_version(package: str) -> str:
    """The name and version of the package, or `not installed`."""
    return f"{package} {installed_version(package) or 'not installed'}"


def library_versions(*packages: str) -> str:
    """The names and versions of several packages, for a revision."""
    return ", ".join(map(library_version, packages))
