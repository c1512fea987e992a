"""Several runs made one: reciprocal ranks or scores, fused per query."""

from __future__ import annotations

from .fuse import fuse, partial_queries
from .settings import METHODS, NORMS, Method, Norm

__all__ = ["METHODS", "NORMS", "Method", "Norm", "fuse", "partial_queries"]
