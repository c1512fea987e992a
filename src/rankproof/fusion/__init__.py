"""Several runs made one: reciprocal ranks or scores, fused per query."""

from __future__ import annotations

from .fuse import METHODS, NORMS, Method, Norm, fuse, partial_queries

__all__ = ["METHODS", "NORMS", "Method", "Norm", "fuse", "partial_queries"]
