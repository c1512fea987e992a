"""Vector stores: memory, pgvector, Chroma, LanceDB, Qdrant, Milvus, Elasticsearch, OpenSearch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof.stores._chroma import Chroma as Chroma
    from rankproof.stores._elasticsearch import Elasticsearch as Elasticsearch
    from rankproof.stores._elasticsearch import OpenSearch as OpenSearch
    from rankproof.stores._lancedb import LanceDB as LanceDB
    from rankproof.stores._memory import Memory as Memory
    from rankproof.stores._milvus import Milvus as Milvus
    from rankproof.stores._pgvector import PgVector as PgVector
    from rankproof.stores._qdrant import Qdrant as Qdrant
else:
    from rankproof._registry import lazy_names
    from rankproof.stores._registry import STORES

    __all__, __getattr__, __dir__ = lazy_names(__name__, STORES)
