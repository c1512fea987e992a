"""The vector stores by the names that experiment files and commands use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._registry import Component, Registry
from ..errors import UsageError, shown

if TYPE_CHECKING:
    from .ports import Store

STORES: Registry[Store] = Registry(
    "store",
    "rankproof.stores",
    (
        Component("memory", "rankproof.stores.memory:Memory", "exact search in memory"),
        Component("pgvector", "rankproof.stores.pgvector_store:PgVector", "PostgreSQL with pgvector, exact or HNSW", "pgvector"),
        Component("chroma", "rankproof.stores.chroma_store:Chroma", "Chroma with an HNSW index", "chroma"),
    ),
)


def store_named(name: str, **settings: Any) -> Store:
    """The store of that name with these settings."""
    if name not in STORES:
        raise UsageError(f"there is no store {shown(name)}", fix=f"choose one of {', '.join(sorted(STORES.names()))}")
    return STORES.build(name, settings)
