"""What a reranker asks: how well each of a few documents answers one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from ..data.arrays import FloatArray
from ..data.queries import Query
from .base import Cost, Ground


class Scorer(Protocol):
    """A scorer ready to score."""

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """One finite number a document; higher is better, the scale is the scorer's own."""
        ...

    def cost(self) -> Cost:
        """What building took."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What a reader should know, as JSON."""
        ...

    def notes(self) -> Sequence[str]:
        """Sentences that a reader must see."""
        ...

    def close(self) -> None:
        """Lets go of whatever is open."""
        ...


@runtime_checkable
class CuttingScorer(Scorer, Protocol):
    """A scorer that does not read every pair of query and document to its end."""

    def cut(self, query: Query, docs: Sequence[str]) -> int:
        """How many of the documents are, with the query, too long to be read whole."""
        ...


@runtime_checkable
class QueryCuttingScorer(Scorer, Protocol):
    """A scorer that reads the query alone, and not every one to its end."""

    def cut_queries(self, query: Query) -> int:
        """1 where the query is too long to be read whole, else 0."""
        ...


class ScorerValue(Protocol):
    """The frozen value that stands for a scorer: `Pairs(model)`, `Similarity(model)`, `MaxSim(model)`, `Keywords()`."""

    def build(self, ground: Ground) -> Scorer: ...
