"""How much of the exact nearest neighbours an approximate store finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.arrays import Matrix
from ..data.ranking import Ranking
from ..stores.memory import Memory
from ..stores.recall import recall_of
from .passage_vectors import PassageVectors


class Recall:
    """Remembers what was found for which vector, and compares it with an exact search when it is asked."""

    def __init__(self, vectors: PassageVectors, depth: int) -> None:
        self._vectors, self._depth = vectors, depth
        self._found: dict[str, tuple[Matrix, Ranking]] = {}

    def remember(self, query: str, vector: Matrix, found: Ranking) -> None:
        """One search; the same query again replaces it, and one without a direction has no nearest passages to miss."""
        if vector.any():
            self._found[query] = vector, found

    def facts(self) -> Mapping[str, Any]:
        """The mean share of the exact top found, over the queries; None where nothing was asked."""
        share = recall_of([found for _, found in self._found.values()], self._exact()) if self._found else None
        return {"recall_of_exact": share, "recall_depth": self._depth, "recall_queries": len(self._found)}

    def _exact(self) -> list[Ranking]:
        with Memory().open("exact", self._vectors.matrix.shape[1], "") as store:
            store.add(self._vectors.ids, self._vectors.matrix)
            return store.search(np.array([vector for vector, _ in self._found.values()]), self._depth)
