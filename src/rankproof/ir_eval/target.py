"""Seed 002: one target document a query. What it calls Recall@k is Success@k."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..data.ids import checked_id
from ..errors import InputError, UsageError
from ..measures import RR, Success
from .ranked import ids_of, listed, value_of

_CUTOFFS = (1, 3, 5, 10)


class Retriever(Protocol):
    """Whatever finds documents: it gives ids, or mappings with an `id`, best first."""

    def retrieve(self, query: str, top_k: int) -> Iterable[Any]: ...


def recall_at_k(retrieved_ids: Iterable[Any], target_id: Any, k: int) -> int:
    """1 if the target is among the first k, else 0: Success@k."""
    return int(value_of(Success @ k, retrieved_ids, _wanted(target_id)))


def reciprocal_rank(retrieved_ids: Iterable[Any], target_id: Any) -> float:
    """1 over the target's rank, 0 if it was not retrieved."""
    return value_of(RR, retrieved_ids, _wanted(target_id))


def evaluate_retrieval(
    queries: Sequence[Mapping[str, Any]], retriever: Retriever
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Means over queries (`query`, `source_recipe_id`) of the first 10 that the retriever finds, and each query's own figures.

    The means are recall_at_1, _3, _5, _10, mrr and total_queries; a query has query, target_id, recall_1, _3, _5, _10,
    reciprocal_rank and target_rank, which is None where the target was not found.
    """
    if not callable(getattr(retriever, "retrieve", None)):
        raise UsageError(f"{type(retriever).__name__} is no retriever", fix="pass an object with retrieve(query, top_k)")
    results = [_one(query, retriever, at) for at, query in enumerate(listed(queries, "queries"))]
    if not results:
        raise InputError("there are no queries", fix="pass at least one")
    figures = {f"recall_at_{k}": Success.summarise(_column(results, f"recall_{k}")) for k in _CUTOFFS}
    return {**figures, "mrr": RR.summarise(_column(results, "reciprocal_rank")), "total_queries": len(results)}, results


def _one(query: Mapping[str, Any], retriever: Retriever, at: int) -> dict[str, Any]:
    for field in ("query", "source_recipe_id"):
        if not isinstance(query, Mapping) or field not in query:
            what = f"item {at + 1} of the queries has no field {field}"
            raise InputError(what, fix="give each query its text and its target's id")
    text, target = query["query"], query["source_recipe_id"]
    ids = ids_of(retriever.retrieve(text, top_k=max(_CUTOFFS)))[: max(_CUTOFFS)]
    reciprocal = reciprocal_rank(ids, target)
    return {
        "query": text,
        "target_id": target,
        **{f"recall_{k}": recall_at_k(ids, target, k) for k in _CUTOFFS},
        "reciprocal_rank": reciprocal,
        "target_rank": round(1 / reciprocal) if reciprocal else None,
    }


def _wanted(target_id: Any) -> dict[str, int]:
    return {checked_id(target_id, "target"): 1}


def _column(results: list[dict[str, Any]], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([result[name] for result in results], dtype=np.float64)
