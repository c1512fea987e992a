"""What a reranker asks: how well each of a few documents answers one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from ..asking.estimate import Estimate
from ..asking.tally import Tally
from ..data.arrays import FloatArray
from ..data.queries import Query
from ..models.chat.port import ChatModel
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


@runtime_checkable
class AskingScorer(Scorer, Protocol):
    """A scorer that waits for a language model; its time is that of the replies, and `lanes` queries may be scored at once."""

    @property
    def lanes(self) -> int: ...

    def scores_asked(self, query: Query, docs: Sequence[str], tally: Tally) -> FloatArray:
        """The scores, with what asking came to on the tally; the order given where the model was of no use, counted as such."""
        ...


class ScorerValue(Protocol):
    """The frozen value that stands for a scorer: `Pairs(model)`, `Similarity(model)`, `MaxSim(model)`, `Keywords()`."""

    def build(self, ground: Ground) -> Scorer: ...


@runtime_checkable
class PricedScorer(Protocol):
    """The value of a scorer that asks a language model, and can say beforehand how much."""

    @property
    def chat(self) -> ChatModel:
        """The model that it asks."""
        ...

    def estimate_top(self, queries: Sequence[Query], ground: Ground, top: int) -> Estimate:
        """What scoring `top` documents of every query comes to, but for repeated attempts."""
        ...


@runtime_checkable
class LimitedScorer(Protocol):
    """The value of a scorer whose work grows faster than the number of documents: it takes no more than `most` of them."""

    @property
    def most(self) -> int: ...
