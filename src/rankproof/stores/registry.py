"""The shelf of stores, by the names that a file or a command uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Any

from ..errors import UsageError, shown
from .chroma_store import Chroma
from .memory import Memory
from .pgvector_store import PgVector
from .ports import Store

STORES: Mapping[str, Callable[..., Store]] = MappingProxyType({"memory": Memory, "pgvector": PgVector, "chroma": Chroma})


def outside_stores() -> dict[str, Callable[..., Store]]:
    """Stores that installed packages offer by the entry point group rankproof.stores, each entry the class of a Store."""
    from importlib.metadata import entry_points

    return {entry.name: entry.load() for entry in entry_points(group="rankproof.stores")}


def store_named(name: str, **settings: Any) -> Store:
    """The store of that name with these settings."""
    make = STORES.get(name)
    if make is None:
        known = {**outside_stores(), **STORES}
        make = known.get(name)
        if make is None:
            raise UsageError(f"there is no store {shown(name)}", fix=f"choose one of {', '.join(sorted(known))}")
    _require_known(name, make, settings)
    return make(**settings)


def _require_known(name: str, make: Callable[..., Store], settings: Mapping[str, Any]) -> None:
    known = [part.name for part in fields(make)] if is_dataclass(make) else list(settings)
    for setting in settings:
        if setting not in known:
            choice = f"choose among {', '.join(known)}" if known else "it has none"
            raise UsageError(f"the store {name} has no setting {shown(setting)}", fix=choice)
