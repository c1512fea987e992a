"""Vector stores: memory, pgvector, Chroma, LanceDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof.stores._chroma import Chroma as Chroma
    from rankproof.stores._lancedb import LanceDB as LanceDB
    from rankproof.stores._memory import Memory as Memory
    from rankproof.stores._pgvector import PgVector as PgVector
else:
    from rankproof._registry import lazy_names
    from rankproof.stores._registry import STORES

    __all__, __getattr__, __dir__ = lazy_names(__name__, STORES)
