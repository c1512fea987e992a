"""Scorers without a language model: cross-encoder, bi-encoder and keywords."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from rankproof._data.arrays import FloatArray
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.identity import identity
from rankproof._llm.budget import CallCounter, Estimate
from rankproof._llm.embedding import CountingEncoder
from rankproof._registry import Option
from rankproof.models._api.settings import ModelRequestError
from rankproof.models._base import CrossEncoderModel, LoadedCrossEncoder, remote_code_note
from rankproof.stages._analyzer import split_words
from rankproof.stages._base import BuildContext, Cost, LoadedScorer, Scorer
from rankproof.stages._fields import (
    DEFAULT_FIELDS,
    EncoderOption,
    Fields,
    PassagePrompt,
    QueryPrompt,
    check_known_fields,
    check_settings,
    passage_text,
)
from rankproof.stages._text_vectors import EncodesTexts, add_prompt, prompt_notes, text_vectors
from rankproof.stages._vectors import PassageVectors


def scores_from_order(order: Sequence[int]) -> FloatArray:
    """Descending integers along the order; `order` has the positions of the documents, best first."""
    scores = np.empty(len(order), dtype=np.float64)
    scores[list(order)] = np.arange(len(order), 0, -1)
    return scores


def scores_or_positions(values: Sequence[float | None]) -> FloatArray:
    """The values if all are known; else ranks, where each document without a value keeps its rank."""
    known = {at: value for at, value in enumerate(values) if value is not None}
    if len(known) == len(values):
        return np.array(values, dtype=np.float64)
    best = iter(sorted(known, key=lambda at: -known[at]))
    return scores_from_order([next(best) if at in known else at for at in range(len(values))])


ScoresOfPassages = Callable[[str, list[str]], ArrayLike]
"""Receives a query and passages; returns one score for each passage, higher is better."""


class PassageScorer(Scorer):
    """A scorer that reads the texts of passages: a subclass is a frozen dataclass with `load`, and `fields` for other texts.

    Its fields are checked by their types and Options.
    """

    fields: tuple[str, ...] = DEFAULT_FIELDS

    def __post_init__(self) -> None:
        check_settings(self)

    @abstractmethod
    def load(self, context: BuildContext) -> ScoresOfPassages:
        """Loads the model, and returns the function that scores passages with it."""

    def facts(self) -> dict[str, Any]:
        """The settings as JSON."""
        return dict(identity(self))

    def build(self, context: BuildContext) -> LoadedPassageScorer:
        """The scorer with its model, for the passages of the corpus."""
        check_known_fields(context.corpus, self.fields)
        start = time.perf_counter()
        scores_of = self.load(context)
        return LoadedPassageScorer(context.corpus, self.fields, scores_of, time.perf_counter() - start, self.facts())


class LoadedPassageScorer(LoadedScorer):
    """Reads the passages of documents for the function that scores them."""

    def __init__(
        self,
        corpus: Corpus,
        fields: Sequence[str],
        scores_of: ScoresOfPassages,
        seconds: float = 0.0,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self._corpus, self._fields, self._scores_of = corpus, fields, scores_of
        self._seconds, self._facts = seconds, facts or {}

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """The scores of the function."""
        return np.asarray(self._scores_of(query.text, self._texts(docs)), dtype=np.float64)

    def cost(self) -> Cost:
        """The time of loading the model."""
        return Cost(seconds=self._seconds)

    def facts(self) -> Mapping[str, Any]:
        """The facts of the scorer."""
        return self._facts

    def _texts(self, docs: Sequence[str]) -> list[str]:
        return [passage_text(self._corpus[doc], self._fields) for doc in docs]


@dataclass(frozen=True)
class KeywordScorer(PassageScorer):
    """Counts the distinct query words that occur in the passage, without stemming or stop words."""

    fields: Fields = DEFAULT_FIELDS

    def load(self, context: BuildContext) -> ScoresOfPassages:
        """The function that counts; there is no model."""
        return shared_words

    def facts(self) -> dict[str, Any]:
        """What is counted."""
        return {"kind": "keywords", "counts": "distinct words of the query in the passage"}


def shared_words(query: str, passages: Sequence[str]) -> list[int]:
    """How many distinct words of the query each passage contains."""
    wanted = set(split_words(query))
    return [len(wanted.intersection(split_words(passage))) for passage in passages]


@dataclass(frozen=True)
class CrossEncoderScorer:
    """Scores by a cross-encoder, which reads query and passage together."""

    model: Annotated[CrossEncoderModel, Option("the cross-encoder: a folder with weights, or a name on the model hub")]
    fields: Fields = DEFAULT_FIELDS

    def __post_init__(self) -> None:
        check_settings(self)

    def build(self, context: BuildContext) -> LoadedCrossEncoderScorer:
        """Loads the model."""
        check_known_fields(context.corpus, self.fields)
        start = time.perf_counter()
        model = self.model.load(threads=context.threads)
        return LoadedCrossEncoderScorer(self, context.corpus, model, time.perf_counter() - start)


class LoadedCrossEncoderScorer(LoadedPassageScorer):
    """The loaded model and the corpus."""

    def __init__(self, settings: CrossEncoderScorer, corpus: Corpus, model: LoadedCrossEncoder, seconds: float) -> None:
        super().__init__(corpus, settings.fields, model.scores, seconds)
        self._model, self._settings = model, settings

    def cut(self, query: Query, docs: Sequence[str]) -> int:
        """The number of documents that are truncated together with the query."""
        return self._model.cut(query.text, self._texts(docs))

    def facts(self) -> Mapping[str, Any]:
        """The kind of scorer and the model."""
        return {"kind": "cross-encoder", "model": dict(self._model.facts())}

    def notes(self) -> Sequence[str]:
        """A note if code that came with the model was run; truncated pairs are counted query by query."""
        return remote_code_note(self._settings.model)


@dataclass(frozen=True)
class BiEncoderScorer(EncodesTexts):
    """Scores by inner product; passage vectors are shared with dense stages of the same model, prompt and fields."""

    model: EncoderOption
    query_prompt: QueryPrompt = ""
    passage_prompt: PassagePrompt = ""
    fields: Fields = DEFAULT_FIELDS

    def __post_init__(self) -> None:
        check_settings(self)

    def build(self, context: BuildContext) -> LoadedBiEncoderScorer:
        """Encodes the passages, or reads their vectors from the cache."""
        vectors = PassageVectors(context, self.model, self.passage_prompt, self.fields)
        return (ApiBiEncoderScorer if isinstance(vectors.encoder, CountingEncoder) else LoadedBiEncoderScorer)(self, vectors)

    def estimate_top(self, queries: Sequence[Query], context: BuildContext, top: int) -> Estimate:
        """One call for each query; the passages are estimated on their own."""
        return self.encoded_queries().estimate(queries)


class LoadedBiEncoderScorer(LoadedScorer):
    """The encoder and the passage vectors."""

    def __init__(self, value: BiEncoderScorer, vectors: PassageVectors) -> None:
        self._value, self._encoder, self._vectors = value, vectors.encoder, vectors

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """Cosine similarities; 0 for an empty passage or query."""
        return self._vectors.scores(docs, text_vectors(self._encoder, [self._text(query)], "query")[0])

    def cut_queries(self, query: Query) -> int:
        """1 if the query is truncated, else 0."""
        return self._encoder.cut([self._text(query)])

    def cost(self) -> Cost:
        """The time of encoding, cached or not, and the bytes of the vectors."""
        seconds, size = self._vectors.seconds, self._vectors.size()
        return Cost(seconds, size, shared={self._vectors.key: (seconds, size)})

    def facts(self) -> Mapping[str, Any]:
        """Model, prompts and statistics of the vectors."""
        prompts = {"query_prompt": self._value.query_prompt, "passage_prompt": self._value.passage_prompt}
        return {"kind": "bi-encoder", "model": dict(self._encoder.facts()), **prompts, **self._vectors.facts()}

    def notes(self) -> Sequence[str]:
        """Notes on other prompts than in training and on the passage vectors."""
        prompts = prompt_notes(self._encoder, self._value.query_prompt, self._value.passage_prompt)
        return [*prompts, *self._vectors.notes()]

    def _text(self, query: Query) -> str:
        return add_prompt(self._value.query_prompt, query.text)


class ApiBiEncoderScorer(LoadedBiEncoderScorer):
    """Encodes queries with an embedding API; the documents of a query that got no vector keep their order."""

    @property
    def concurrency(self) -> int:
        """How many queries run at once."""
        assert isinstance(self._encoder, CountingEncoder)
        return self._encoder.concurrency

    def scores_counting_calls(self, query: Query, docs: Sequence[str], counter: CallCounter) -> FloatArray:
        """Cosine similarities, with the call counted."""
        counter.count("encoded", int(bool(query.text.strip())))
        try:
            vectors = text_vectors(self._encoder, [self._text(query)], "query", counter)
        except ModelRequestError as failure:
            counter.count("failed")
            counter.count("refused", int(not failure.retryable))
            return scores_from_order(range(len(docs)))
        return self._vectors.scores(docs, vectors[0])
