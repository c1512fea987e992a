"""What a vector store returns, checked against the vectors that it was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rankproof._data.arrays import FloatArray, Matrix
from rankproof._data.ordering import Ranking
from rankproof.errors import ExternalError, for_message
from rankproof.stores._base import ROUNDING, Store, ann_recall, vector_lengths
from rankproof.stores._memory import product_errors


class StoredVectors(Protocol):
    """The vectors that a store was given."""

    def search_all(self, queries: Matrix, k: int) -> list[Ranking]:
        """The k nearest of each query, exactly."""
        ...

    def of_documents(self, docs: Sequence[str]) -> Matrix:
        """The vectors of the documents."""
        ...

    def products(self, rows: Matrix, vector: Matrix) -> FloatArray:
        """The inner products of the rows with the vector, as exact search computes them."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class _StoreSearch:
    query: str
    vector: Matrix
    ranking: Ranking

    def has(self, ranking: Ranking) -> bool:
        """Whether the ranking is the same."""
        return self.ranking[0] == ranking[0] and np.array_equal(self.ranking[1], ranking[1])


class StoreCheck:
    """Records what a store returns; its scores must be inner products, and an exact store must return the nearest vectors.

    The check is made when the facts are read, so that no search is timed with it; an approximate store gets its recall.
    """

    def __init__(self, store: Store, vectors: StoredVectors, depth: int) -> None:
        self._vectors, self._depth, self._exact = vectors, depth, store.exact
        self._name = type(store).__name__
        self._recorded: dict[str, _StoreSearch] = {}
        self._replaced: list[_StoreSearch] = []

    def record(self, query: str, vector: Matrix, ranking: Ranking) -> None:
        """Records one search; the recall counts the last one of a query, a zero vector is left out."""
        if not vector.any():
            return
        before = self._recorded.get(query)
        if before is not None and not before.has(ranking):
            self._replaced.append(before)
        self._recorded[query] = _StoreSearch(query, vector, ranking)

    def facts(self) -> Mapping[str, Any]:
        """The mean recall of the exact results over the queries, None without a query; nothing for an exact store."""
        searches = [*self._recorded.values(), *self._replaced]
        if not searches:
            return {} if self._exact else self._recall_facts(None)
        nearest = self._vectors.search_all(np.array([search.vector for search in searches]), self._depth)
        rankings = [self._checked(search) for search in searches]
        if self._exact:
            for search, ranking, wanted in zip(searches, rankings, nearest, strict=True):
                self._check_nearest(search, ranking, wanted)
            return {}
        count = len(self._recorded)
        return self._recall_facts(ann_recall(rankings[:count], nearest[:count]))

    def _recall_facts(self, recall: float | None) -> dict[str, Any]:
        return {"recall_of_exact": recall, "recall_depth": self._depth, "recall_queries": len(self._recorded)}

    def _checked(self, search: _StoreSearch) -> Ranking:
        """The ranking with the inner products of the vectors; an error if the store returned other scores."""
        docs, scores = search.ranking
        if not docs:
            return [], np.zeros(0)
        rows = self._vectors.of_documents(docs)
        products = self._vectors.products(rows, search.vector)
        wrong = np.flatnonzero(~(np.abs(scores - products) <= _tolerance(rows, search.vector, products)))
        if len(wrong):
            doc, score, product = docs[wrong[0]], scores[wrong[0]], products[wrong[0]]
            what = f"document {for_message(doc)} has the score {score:.6g}, but the inner product of its vectors is {product:.6g}"
            raise self._wrong(search, what)
        return docs, products

    def _check_nearest(self, search: _StoreSearch, ranking: Ranking, nearest: Ranking) -> None:
        """Raises an error if a document is nearer than the last one returned, by more than rounding explains."""
        (docs, products), (wanted, scores) = ranking, nearest
        found = set(docs)
        missing = [(doc, score) for doc, score in zip(wanted, scores.tolist(), strict=True) if doc not in found]
        if not missing:
            return
        doc, score = missing[0]
        slack = 2 * _tolerance(self._vectors.of_documents([doc]), search.vector, np.array([score]))[0]
        if not docs or score > products.min() + slack:
            what = f"{len(wanted) - len(missing)} of the {len(wanted)} nearest documents, without {for_message(doc)}"
            raise self._wrong(search, f"its exact search found {what}")

    def _wrong(self, search: _StoreSearch, what: str) -> ExternalError:
        fix = "check the server, its version and what else writes to the collection, then run again"
        return ExternalError(f"the reply of {self._name} to query {for_message(search.query)} is wrong: {what}; {fix}")


def _tolerance(rows: Matrix, vector: Matrix, products: FloatArray) -> FloatArray:
    """How far a float32 score may be from the product: the rounding of the sum, and of an engine that stores 1 + x or 1 - x."""
    sums = product_errors(rows.shape[1]) * vector_lengths(rows) * float(vector_lengths(vector[np.newaxis])[0])
    tolerance: FloatArray = sums + ROUNDING * np.maximum(1.0, np.abs(products))
    return tolerance
