"""Vector stores: memory, pgvector, Chroma."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .chroma_store import Chroma as Chroma
    from .memory import Memory as Memory
    from .pgvector_store import PgVector as PgVector
else:
    from .._registry import lazy_names
    from .registry import STORES

    __all__, __getattr__, __dir__ = lazy_names(__name__, STORES)
