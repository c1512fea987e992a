"""Answers with the best sentence of the first passages, without a language model: the baseline for answers."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.answers import Answer
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.ordering import Ranking
from rankproof._data.sentences import sentences
from rankproof._llm.budget import Estimate
from rankproof._llm.call_counts import CallCounter
from rankproof._llm.embedding import CountingEncoder, load_encoder
from rankproof._registry import Option
from rankproof.models._api.embedding import EmbeddingApi
from rankproof.models._api.errors import ModelRequestError
from rankproof.models._base import Encoder, EncoderModel
from rankproof.stages._analyzer import WordAnalyzer, check_language
from rankproof.stages._base import BuildContext, Cost, OneInput, QueryTimer, Searcher, Stage
from rankproof.stages._bm25 import idf
from rankproof.stages._chunked import whole_documents_note
from rankproof.stages._fields import Fields, check_known_fields, check_settings, passage_text
from rankproof.stages._text_vectors import EncodedPassages, EncodedQueries, text_vectors


@dataclass(frozen=True)
class ExtractAnswer(OneInput):
    """Keeps the ranking of its input and answers with the best sentence of its first `top` passages.

    Without a model, the best sentence has the largest sum of idf over its distinct query words; with a model, the largest cosine
    with the query. Ties go to the first sentence. There is no answer if every score is 0 or less.
    """

    stage: Annotated[Stage, Option("the system whose documents the answer is taken from", key="of")]
    model: Annotated[
        EncoderModel | None, Option("the encoder that compares sentences with the query (default: count shared words)")
    ] = None
    top: Annotated[int, Option("how many documents are read", least=1)] = 5
    fields: Fields = ("text",)
    language: Annotated[str, Option("language of stemmer and stop words")] = "english"
    kind: ClassVar[Literal["answer"]] = "answer"

    def __post_init__(self) -> None:
        check_settings(self)
        check_language(self.language, stemming=True, stop_words=True)

    @property
    def paid_model(self) -> EmbeddingApi | None:
        """The embedding API, None for a local model or none."""
        return self.model if isinstance(self.model, EmbeddingApi) else None

    def estimate(self, queries: Sequence[Query], context: BuildContext) -> Estimate:
        """The query, and the sentences of `top` documents of mean length in one call."""
        if self.paid_model is None:
            return Estimate()
        encoding = EncodedQueries(self.paid_model).estimate(queries)
        passages = EncodedPassages(self.paid_model, "", self.fields).estimate(context.corpus)
        read = passages.tokens_in * self.top * len(queries) // max(len(context.corpus), 1)
        return encoding + Estimate(len(queries), read)

    def build(self, context: BuildContext) -> ExtractSearcher:
        """Counts the document frequency of each word, or loads the model."""
        check_known_fields(context.corpus, self.fields)
        start = time.perf_counter()
        scorer: _IdfSentenceScorer | _CosineSentenceScorer
        if self.model is None:
            scorer = _IdfSentenceScorer(context.corpus, self.fields, self.language)
        else:
            scorer = _CosineSentenceScorer(load_encoder(self.model, context.session, context.threads))
        return ExtractSearcher(self, context.corpus, scorer, time.perf_counter() - start)


class _IdfSentenceScorer:
    """Scores sentences by the idf of their query words."""

    def __init__(self, corpus: Corpus, fields: Sequence[str], language: str) -> None:
        self.is_recorded = False
        self._terms = WordAnalyzer(language, stemming=True, stop_words=True)
        self._size = len(corpus)
        self._found = Counter(
            term for document in corpus.values() for term in set(self._terms.tokenize(passage_text(document, fields)))
        )

    def scores(self, query: str, texts: Sequence[str], counter: CallCounter) -> list[float]:
        wanted = sorted(set(self._terms.tokenize(query)))
        weights = {term: idf(self._found[term], self._size) for term in wanted}
        return [math.fsum(weights[term] for term in wanted if term in own) for own in map(set, map(self._terms.tokenize, texts))]

    def facts(self) -> Mapping[str, Any]:
        return {"by": "words of the query in the sentence, each once, by idf"}


class _CosineSentenceScorer:
    """Scores sentences by cosine."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @property
    def is_recorded(self) -> bool:
        """Whether the times are those of requests to an embedding API."""
        return isinstance(self._encoder, CountingEncoder)

    def scores(self, query: str, texts: Sequence[str], counter: CallCounter) -> list[float]:
        vector = text_vectors(self._encoder, [query], "query", counter)[0]
        return [float(vector @ row) for row in text_vectors(self._encoder, texts, "passage", counter)] if texts else []

    def facts(self) -> Mapping[str, Any]:
        return {"by": "cosine of query and sentence", "model": dict(self._encoder.facts())}


class ExtractSearcher(Searcher):
    """The corpus and the scorer of sentences."""

    def __init__(
        self, stage: ExtractAnswer, corpus: Corpus, scorer: _IdfSentenceScorer | _CosineSentenceScorer, seconds: float
    ) -> None:
        self._stage, self._corpus, self._scorer, self._seconds = stage, corpus, scorer, seconds

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The ranking of the input stage."""
        return inputs[0]

    def answer(self, query: Query, ranking: Ranking, timer: QueryTimer) -> Answer:
        """The best sentence, with its passage as the source."""
        passages = tuple(ranking[0][: self._stage.top])
        with nullcontext() if self._scorer.is_recorded else timer.part("generate"):
            every = [
                (doc, sentence) for doc in passages for field in self._stage.fields for sentence in self._sentences(doc, field)
            ]
            try:
                scores = self._scorer.scores(query.text, [candidate for _, candidate in every], timer.counter("generate"))
            except ModelRequestError as failure:
                timer.counts["failed"] += 1
                timer.counts["refused"] += int(not failure.retryable)
                return Answer("", given=passages, state="failed")
        best = max(range(len(every)), key=scores.__getitem__, default=None)
        if best is None or scores[best] <= 0:
            return Answer("", given=passages, state="abstained")
        doc, text = every[best]
        return Answer(text, (doc,), passages)

    def _sentences(self, doc: str, field: str) -> list[str]:
        return sentences(passage_text(self._corpus[doc], (field,)))

    def cost(self) -> Cost:
        """The time of counting words or loading the model."""
        return Cost(seconds=self._seconds)

    def facts(self) -> Mapping[str, Any]:
        """How sentences are chosen."""
        return {**self._scorer.facts(), "top": self._stage.top}

    def notes(self) -> Sequence[str]:
        """A note if answers are read from whole documents."""
        return whole_documents_note(self._stage.stage)
