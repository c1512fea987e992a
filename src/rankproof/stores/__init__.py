"""Vector databases behind one port: memory, pgvector, Chroma."""

from __future__ import annotations

from .chroma_store import Chroma
from .memory import Memory
from .pgvector_store import PgVector

__all__ = ["Chroma", "Memory", "PgVector"]
