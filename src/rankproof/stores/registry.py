"""The shelf of stores, by the names that a file or a command uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ..data.offered import built, loaded, name_offered, offered
from ..errors import UsageError, shown
from .chroma_store import Chroma
from .memory import Memory
from .pgvector_store import PgVector
from .ports import Store

STORES: Mapping[str, Callable[..., Store]] = MappingProxyType({"memory": Memory, "pgvector": PgVector, "chroma": Chroma})
_GROUP = "rankproof.stores"


def store_named(name: str, **settings: Any) -> Store:
    """The store of that name with these settings: ours, or one that an installed package offers."""
    make = STORES.get(name) or _outside(name)
    store: Store = built("store", name, make, settings)
    return store


def name_of_store(store: object) -> str | None:
    """The name under which a store is known, None where nobody offers it."""
    ours = (name for name, made in STORES.items() if made is type(store))
    return next(ours, None) or name_offered(_GROUP, type(store))


def _outside(name: str) -> Callable[..., Store]:
    there = offered(_GROUP)
    if name not in there:
        raise UsageError(f"there is no store {shown(name)}", fix=f"choose one of {', '.join(sorted({*there, *STORES}))}")
    return loaded(there[name])
