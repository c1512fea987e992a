"""The vector stores by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankproof._registry import Component, Registry
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof.stores._base import Store


STORES: Registry[Store] = Registry(
    "store",
    "rankproof.stores",
    (
        Component("memory", "rankproof.stores._memory:Memory", "exact search in memory"),
        Component("pgvector", "rankproof.stores._pgvector:PgVector", "PostgreSQL with pgvector, exact or HNSW", "pgvector"),
        Component("chroma", "rankproof.stores._chroma:Chroma", "Chroma with an HNSW index", "chroma"),
        Component("lancedb", "rankproof.stores._lancedb:LanceDB", "LanceDB, exact, IVF or HNSW", "lancedb"),
        Component("qdrant", "rankproof.stores._qdrant:Qdrant", "Qdrant, embedded or a server, exact or HNSW", "qdrant"),
        Component("milvus", "rankproof.stores._milvus:Milvus", "Milvus Lite or a Milvus server, exact or HNSW", "milvus"),
        Component(
            "elasticsearch", "rankproof.stores._elasticsearch:Elasticsearch", "an Elasticsearch server, exact or HNSW", "http"
        ),
        Component("opensearch", "rankproof.stores._elasticsearch:OpenSearch", "an OpenSearch server, exact or HNSW", "http"),
    ),
)


def store_by_name(name: str, **settings: Any) -> Store:
    """The store of that name with these settings."""
    if name not in STORES:
        raise UsageError(f"no store is called {for_message(name)}", fix=f"choose one of {', '.join(sorted(STORES.names()))}")
    return STORES.build(name, settings)
