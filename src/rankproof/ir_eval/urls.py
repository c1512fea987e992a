"""Seed 003: URLs of retrieved chunks against the relevant URLs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..measures import R
from .ranked import ids_of, value_of


def compute_recall_at_k(retrieved_urls: Iterable[Any], relevant_urls: Iterable[Any], k: int = 10) -> float:
    """R@k of the URLs of the first k chunks; a URL that comes again counts once, and no relevant URL gives 0."""
    relevant = list(relevant_urls) if isinstance(relevant_urls, set | frozenset) else relevant_urls
    return value_of(R @ k, retrieved_urls, dict.fromkeys(ids_of(relevant), 1))
