"""The vectors of texts: queries and passages, blank texts, prompts, and what an embedding API charges for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._llm.budget import CallCounter, Estimate
from rankproof._llm.embedding import CountingEncoder, estimate_texts
from rankproof.errors import for_message
from rankproof.models._api.embedding import EmbeddingApi, TextRole
from rankproof.models._api.settings import ModelRequestError
from rankproof.models._base import Encoder, EncoderModel, encode_queries
from rankproof.stages._base import QueryTimer
from rankproof.stages._fields import passages_of


def is_blank(text: str) -> bool:
    """Whether the text is empty or whitespace."""
    return not text.strip()


def add_prompt(prompt: str, text: str) -> str:
    """The text after its prompt; a blank text gets no prompt."""
    return text if is_blank(text) else f"{prompt}{text}"


def prompt_notes(encoder: Encoder, query_prompt: str, passage_prompt: str) -> list[str]:
    """A note for each prompt that differs from the one the encoder was trained with, if that is known."""
    trained = getattr(encoder, "trained_prompts", None)
    if trained is None:
        return []
    prompts = (("query", trained.query, query_prompt), ("passage", trained.passage, passage_prompt))
    return [
        f"the encoder was trained with {_prompt_phrase(role, own)} and is used with {_prompt_phrase(role, used)}"
        for role, own, used in prompts
        if own != used
    ]


def _prompt_phrase(role: str, prompt: str) -> str:
    return f"the {role} prompt {for_message(repr(prompt))}" if prompt else f"no {role} prompt"


def text_vectors(
    encoder: Encoder, texts: Sequence[str], role: TextRole = "passage", counter: CallCounter | None = None
) -> Matrix:
    """One row per text, zeros for a blank text; the counter gets the calls of an embedding API."""
    if counter is not None and isinstance(encoder, CountingEncoder):
        encoded = encoder.encode_counting(texts, role, counter)
    else:
        encoded = encode_queries(encoder, texts) if role == "query" else encoder.encode(texts)
    vectors = np.array(encoded, dtype=np.float32, order="C")
    vectors[[is_blank(text) for text in texts]] = 0
    return vectors


def query_vector(encoder: Encoder, text: str, timer: QueryTimer) -> Matrix | None:
    """The vector of a query as one row, with its time as the part `embed`; None if the request to an embedding API failed.

    The time of an API is that of the request that brought the vector, in whichever run that was.
    """
    if not isinstance(encoder, CountingEncoder):
        with timer.part("embed"):
            return text_vectors(encoder, [text], "query")
    timer.is_recorded = True
    timer.counts["encoded"] += int(not is_blank(text))
    try:
        return text_vectors(encoder, [text], "query", timer.counter("embed"))
    except ModelRequestError as failure:
        timer.counts["failed"] += 1
        timer.counts["refused"] += int(not failure.retryable)
        return None


@dataclass(frozen=True)
class EncodedPassages:
    """The passages of a corpus that a model encodes; equal ones are encoded once."""

    model: EncoderModel
    prompt: str
    fields: tuple[str, ...]

    def estimate(self, corpus: Corpus) -> Estimate:
        """The calls of an embedding API; none for a local model."""
        if not isinstance(self.model, EmbeddingApi):
            return Estimate()
        texts = (
            add_prompt(self.prompt, text)
            for partition in corpus.partitions
            for text in passages_of(partition, range(len(partition)), self.fields)
        )
        return estimate_texts(self.model, list(texts))


class EncodesTexts:
    """A stage or scorer that encodes queries and passages with one model, and their prompts."""

    model: EncoderModel
    query_prompt: str
    passage_prompt: str
    fields: tuple[str, ...]

    @property
    def paid_model(self) -> EmbeddingApi | None:
        """The embedding API, None for a local model."""
        return self.model if isinstance(self.model, EmbeddingApi) else None

    def encoded_queries(self) -> EncodedQueries:
        """How queries are encoded, which stages of the same model and prompt share."""
        return EncodedQueries(self.model, self.query_prompt)

    def passages(self) -> EncodedPassages:
        """The passages that are encoded, which stages of the same model share."""
        return EncodedPassages(self.model, self.passage_prompt, self.fields)


@runtime_checkable
class EncodesQueries(Protocol):
    """A stage that may encode queries with an embedding API."""

    def encoded_queries(self) -> EncodedQueries | None:
        """How queries are encoded, None if they are not; stages with equal values send each query once."""
        ...


@dataclass(frozen=True)
class EncodedQueries:
    """How a model encodes queries; with an equal model and prompt each query is encoded once."""

    model: EncoderModel
    prompt: str = ""

    def estimate(self, queries: Sequence[Query]) -> Estimate:
        """One call of an embedding API for each distinct query; none for a local model."""
        if not isinstance(self.model, EmbeddingApi):
            return Estimate()
        texts = {add_prompt(self.prompt, query.text) for query in queries if not is_blank(query.text)}
        return Estimate(len(texts), estimate_texts(self.model, list(texts)).tokens_in)
