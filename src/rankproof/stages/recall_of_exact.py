"""How much of the exact nearest neighbours an approximate store finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..data.arrays import Matrix
from .passage_vectors import PassageVectors

TOLERANCE = 1e-6


class Recall:
    """Remembers what was found for which vector, and compares it with an exact search when it is asked."""

    def __init__(self, vectors: PassageVectors, depth: int) -> None:
        self._matrix = vectors.matrix
        self._row = {doc: at for at, doc in enumerate(vectors.ids)}
        self._depth = min(depth, len(vectors.ids))
        self._found: dict[str, tuple[Matrix, list[int]]] = {}

    def remember(self, query: str, vector: Matrix, docs: Sequence[str]) -> None:
        """One search; the same query again replaces it, and one without a direction has no nearest passages to miss."""
        if vector.any():
            self._found[query] = vector, [self._row[doc] for doc in docs]

    def facts(self) -> Mapping[str, Any]:
        """The mean share of the exact top found, over the queries; equally good documents count as found."""
        shares = [self._share(vector, rows) for vector, rows in self._found.values()]
        mean = sum(shares) / len(shares) if shares else None
        return {"recall_of_exact": mean, "recall_depth": self._depth, "recall_queries": len(shares)}

    def _share(self, vector: Matrix, rows: list[int]) -> float:
        if not self._depth:
            return 1.0
        scores = self._matrix @ vector
        least = np.partition(scores, len(scores) - self._depth)[len(scores) - self._depth]
        return float(np.count_nonzero(scores[rows] >= least - TOLERANCE)) / self._depth
