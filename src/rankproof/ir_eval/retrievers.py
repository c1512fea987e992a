"""Seed 001's retrievers, with fit(corpus) and rank(query): each is one of our stages, and computes nothing itself."""

from __future__ import annotations

from typing import Self

from ..data import checks
from ..data.queries import Query
from ..errors import UsageError
from ..models.ports import EncoderModel
from ..models.registry import is_ready, model_named
from ..stages import BM25, Dense, Keywords, Rerank, Similarity
from ..stages.base import Stage
from .built import Built
from .ranked import Scored
from .texts import Texts, corpus_of

DEPTH = 100


class StageRetriever:
    """A stage with seed 001's two methods; `stage` is what the ladder would climb."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._built: Built | None = None

    def fit(self, corpus: Texts) -> Self:
        """Indexes the documents; those of an earlier fit are forgotten."""
        self._built = Built([self.stage], corpus_of(corpus))
        return self

    def rank(self, query: str, k: int = 10) -> list[Scored]:
        """The first k documents for a query's text, best first."""
        if self._built is None:
            raise UsageError("the retriever has no documents", fix="call fit(corpus) first")
        checks.whole("k", k, most=self.stage.depth)
        docs, scores = self._built.ranking(self.stage, Query("query", checks.text("query", query)))
        return [Scored(doc, score) for doc, score in zip(docs[:k], scores[:k].tolist(), strict=True)]

    def retrieve(self, query: str, top_k: int) -> list[Scored]:
        """The same at seed 002's name, fit for `evaluate_retrieval`."""
        return self.rank(query, top_k)


class BM25Retriever(StageRetriever):
    """BM25 over title and text; English stop words and stemming unless said otherwise."""

    def __init__(
        self,
        k1: float = 1.5,
        b: float = 0.75,
        *,
        language: str = "english",
        stemming: bool = True,
        stop_words: bool | tuple[str, ...] = True,
        depth: int = DEPTH,
    ) -> None:
        super().__init__(BM25(k1, b, language=language, stemming=stemming, stop_words=stop_words, depth=depth))


class EmbeddingRetriever(StageRetriever):
    """The documents nearest to the query by a real encoder; the prompts are put before each query and each passage."""

    def __init__(
        self, model: EncoderModel | str | None = None, *, query_prompt: str = "", passage_prompt: str = "", depth: int = DEPTH
    ) -> None:
        self.model = encoder(model)
        super().__init__(Dense(self.model, query_prompt, passage_prompt, depth=depth))


class EmbeddingReranker(StageRetriever):
    """What another retriever finds, in the encoder's order."""

    def __init__(
        self, over: StageRetriever, model: EncoderModel | str | None = None, *, query_prompt: str = "", passage_prompt: str = ""
    ) -> None:
        self.model = encoder(model)
        below = _stage(over)
        super().__init__(Rerank(below, Similarity(self.model, query_prompt, passage_prompt), top=below.depth))


class KeywordJudge(StageRetriever):
    """What another retriever finds, by how many of the query's words each document has: no language model.

    Documents with as many words stay in the order they had.
    """

    def __init__(self, over: StageRetriever) -> None:
        below = _stage(over)
        super().__init__(Rerank(below, Keywords(), top=below.depth))


def encoder(model: EncoderModel | str | None = None) -> EncoderModel:
    """The model, or the one of that name; for None, what `default_encoder` names."""
    if model is None or isinstance(model, str):
        return model_named(default_encoder() if model is None else model)
    return model


def default_encoder() -> str:
    """The encoder that is used unless another is named: minilm where its weights are in the cache, else wordllama."""
    return "minilm" if is_ready(model_named("minilm")) else "wordllama"


def _stage(over: StageRetriever) -> Stage:
    if not isinstance(over, StageRetriever):
        raise UsageError(f"{type(over).__name__} is no retriever", fix="pass one, such as BM25Retriever()")
    return over.stage
