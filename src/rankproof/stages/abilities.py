"""What a searcher or a stage may do beyond ranking one query: each ability is a method or two, and is found by having them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ..asking.estimate import Estimate
from ..data.answers import Answer
from ..data.queries import Query
from ..data.ranking import Ranking
from ..models.chat.port import ChatModel
from .base import Ground, Searcher, Stage
from .clock import Clock


@runtime_checkable
class BatchSearcher(Searcher, Protocol):
    """A searcher that answers many queries faster together than one by one."""

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The same rankings, up to the last bits of the scores."""
        ...


@runtime_checkable
class AskingSearcher(Searcher, Protocol):
    """A searcher that waits for a language model: `lanes` queries go at once, and its times are those of the replies."""

    @property
    def lanes(self) -> int: ...


@runtime_checkable
class AnsweringSearcher(Searcher, Protocol):
    """A searcher that also answers; the rankings of a stage above keep the answers."""

    def answer(self, query: Query, ranking: Ranking, clock: Clock) -> Answer:
        """The answer from its own ranking; a failure is an answer too, of that state."""
        ...


@runtime_checkable
class Regrounded(Stage, Protocol):
    """A stage whose stages below search other documents, such as chunks."""

    def ground_below(self, ground: Ground) -> Ground:
        """What the stages below are built on; its corpus_key differs from the one given."""
        ...


@runtime_checkable
class Requeried(Stage, Protocol):
    """A stage whose stages below are asked other queries, such as rewritten ones."""

    def queries_below(self, ground: Ground, queries: Sequence[Query]) -> Sequence[Query]:
        """One query for each, under the same ids; what this asks of a model, its searcher finds in the book again."""
        ...


@runtime_checkable
class Priced(Protocol):
    """A stage or scorer that may ask a language model, and can say beforehand how much."""

    @property
    def chat(self) -> ChatModel | None:
        """The model that it asks, None where it asks none."""
        ...

    def estimate(self, queries: Sequence[Query], ground: Ground) -> Estimate:
        """What asking for all queries comes to at most, but for repeated attempts."""
        ...
