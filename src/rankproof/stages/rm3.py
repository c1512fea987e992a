"""RM3: the query widened by the words of the documents that BM25 found first, then asked again, without a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from .._registry import Option
from ..data.counting import counted
from ..data.queries import Query
from ..data.ranking import Ranking
from ..errors import UsageError
from .base import Cost, Ground, Stage
from .bm25 import BM25, BM25Searcher
from .clock import Clock
from .passages import passage
from .postings import best_rows
from .relevance_model import Weights, feedback_terms, heaviest, mixed, relevance_model
from .settings import check, stage
from .tokens import WORDS

_SHOWN = 5
_KEPT_DOCUMENTS = 4096


@dataclass(frozen=True)
class RM3:
    """Feedback from the first `docs` documents of a BM25 stage: `terms` words join the query, which keeps the share `weight`.

    Index, word forms, k1 and b are those of the stage below. Terms in more than the share `common` of all documents are no
    feedback. weight 1 is the ranking below.
    """

    stage: Annotated[BM25, Option("the bm25 system whose index is searched again", key="of")]
    docs: Annotated[int, Option("how many of its first documents give words", least=1)] = 10
    terms: Annotated[int, Option("how many words are added to the query", least=1)] = 10
    weight: Annotated[float, Option("weight of the original query, from 0 to 1", least=0, most=1)] = 0.5
    common: Annotated[float, Option("words in more than this share of all documents are left out", least=0, most=1)] = 0.1
    kind: ClassVar[Literal["rewrite"]] = "rewrite"

    def __post_init__(self) -> None:
        stage("stage", self.stage)
        if not isinstance(self.stage, BM25):
            what = f"stage is a {type(self.stage).__name__}"
            raise UsageError(what, fix="pass a BM25 stage: the widened query is asked of its index")
        if self.stage.tokens != WORDS:
            raise UsageError(
                f"RM3 adds words to a query, and its stage has tokens {self.stage.tokens}", fix=f'choose tokens = "{WORDS}"'
            )
        check(self)

    @property
    def depth(self) -> int:
        """As many as the stage below keeps."""
        return self.stage.depth

    def below(self) -> tuple[Stage, ...]:
        """The first search."""
        return (self.stage,)

    def build(self, ground: Ground) -> RM3Searcher:
        """Indexes the passages as the stage below does."""
        return RM3Searcher(self, self.stage.index(ground.corpus))


class RM3Searcher:
    """The index of the stage below, asked with weighted terms."""

    def __init__(self, stage: RM3, first: BM25Searcher) -> None:
        self._stage, self._first = stage, first
        self._names = np.array(first.docs, dtype=object)
        self._examples: dict[str, Weights] = {}
        self._unfed: set[str] = set()
        self._terms_of = lru_cache(_KEPT_DOCUMENTS)(self._document)

    def search(self, query: Query, below: Sequence[Ranking], clock: Clock) -> Ranking:
        """The documents that share a term with the widened query, best first."""
        docs, scores = below[0]
        if self._stage.weight == 1 or not docs:
            return docs, scores
        with clock.part("search"):
            return self._ranked(self.widened(query, below[0]))

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The same rankings; the first search is done in batch."""
        self._examples.clear()
        below = self._first.search_all(queries)
        return [self.search(query, (found,), Clock()) for query, found in zip(queries, below, strict=True)]

    def widened(self, query: Query, below: Ranking) -> Weights:
        """The terms of the query and of its feedback, each with its weight, heaviest first."""
        docs, scores = below[0][: self._stage.docs], below[1][: self._stage.docs].tolist()
        model = relevance_model([self._terms_of(doc) for doc in docs], scores, self._stage.terms)
        if not model:
            self._unfed.add(query.id)
        wide = mixed(self._first.terms.of(query.text), model, self._stage.weight)
        wide = heaviest(wide, len(wide))
        if query.id in self._examples or len(self._examples) < _SHOWN:
            self._examples[query.id] = wide
        return wide

    def _ranked(self, weights: Mapping[str, float]) -> Ranking:
        index = self._first.index
        totals = np.zeros(len(index.lengths))
        for term, weight in weights.items():
            at = index.vocabulary.get(term)
            if at is not None and weight:
                span = slice(index.starts[at], index.starts[at + 1])
                totals[index.rows[span]] += weight * index.weights[span].astype(np.float64)
        rows, scores = best_rows(totals, self._stage.depth)  # type: ignore[arg-type]
        return self._names[rows].tolist(), scores.astype(np.float64)

    def _document(self, doc: str) -> Weights:
        text = passage(self._first.corpus[doc], self._stage.stage.fields)
        return feedback_terms(self._first.terms.of(text), self._is_common, self._stage.terms)

    def _is_common(self, term: str) -> bool:
        index, at = self._first.index, self._first.index.vocabulary[term]
        return int(index.starts[at + 1] - index.starts[at]) > self._stage.common * len(index.lengths)

    def cost(self) -> Cost:
        """Nothing of its own: the index is that of the stage below, and feedback documents are read as they are met."""
        return Cost()

    def facts(self) -> Mapping[str, Any]:
        """The settings, and the first queries as they were asked."""
        stage = self._stage
        shown = {query: {term: round(weight, 4) for term, weight in wide.items()} for query, wide in self._examples.items()}
        return {
            "library": stage.stage.revision(),
            **{"docs": stage.docs, "terms": stage.terms, "weight": stage.weight, "common": stage.common},
            "examples": shown,
        }

    def notes(self) -> Sequence[str]:
        """Queries that no feedback came to."""
        many = len(self._unfed)
        one, more = "query got no feedback term and was asked as it is", "queries got no feedback term and were asked as they are"
        return [counted(many, one, more)] if many else []

    def close(self) -> None:
        """Nothing is open."""
