"""One query's documents in the order of their scores, as every ranking here is ordered."""

from __future__ import annotations

from .arrays import FloatArray
from .order import best_first

Ranking = tuple[list[str], FloatArray]


def ranked(docs: list[str], scores: FloatArray) -> Ranking:
    """The documents best first, and their scores."""
    order = best_first(docs, scores)
    return [docs[at] for at in order.tolist()], scores[order]
