"""Tokens per text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rankproof._data.arrays import IntArray
from rankproof._data.dataset import Corpus
from rankproof.models._base import EncoderModel
from rankproof.models._trained.encoder import TrainedEncoder
from rankproof.models._trained.shape import normalise_input, parameter_count
from rankproof.models._transformers import Canine, TransformersModel
from rankproof.stages._base import Stage
from rankproof.stages._bm25 import BM25, BM25Searcher
from rankproof.stages._dense import Dense
from rankproof.stages._fields import passage_texts

_CANINE_DOWNSAMPLING = 4
"""Characters to a step of CANINE's deep layers (Clark et al. 2022)."""


class TokenCounter(Protocol):
    """Counts the tokens of texts."""

    def tokens(self, texts: Sequence[str]) -> IntArray | None:
        """How many tokens each whole text has; None where that is not known."""

    def read(self, texts: Sequence[str]) -> IntArray | None:
        """How many places the deep layers of a model see of each text; None where that is not known."""

    def unknown(self, texts: Sequence[str]) -> float | None:
        """The share of the tokens that stand for nothing in the vocabulary; None where that is not known."""

    @property
    def facts(self) -> Mapping[str, Any]: ...


def model_counter(model: EncoderModel) -> TokenCounter:
    """The counter of a checkpoint of the lab, of an alphabet that needs no file, or of what a loaded encoder tells."""
    if isinstance(model, TrainedEncoder):
        return TrainedTokenCounter(model)
    return InputUnitCounter(model) if isinstance(model, TransformersModel) else EncoderTokenCounter(model)


class TermCounter:
    """Terms of BM25, which reads all of them."""

    def __init__(self, searcher: BM25Searcher) -> None:
        self._searcher = searcher
        self.facts: Mapping[str, Any] = {"vocabulary": len(searcher.index.vocabulary)}

    def tokens(self, texts: Sequence[str]) -> IntArray:
        """How many terms each text has."""
        return np.array([len(self._searcher.terms.tokenize(text)) for text in texts], dtype=np.int64)

    def read(self, texts: Sequence[str]) -> None:
        """No model reads them."""

    def unknown(self, texts: Sequence[str]) -> float | None:
        """The share of terms that no document has."""
        terms = [self._searcher.terms.tokenize(text) for text in texts]
        known = sum(len(self._searcher.index.term_ids(each)) for each in terms)
        every = sum(map(len, terms))
        return 1 - known / every if every else None


class TrainedTokenCounter:
    """Tokens of a checkpoint of the lab, counted as its net gets them: in lower case."""

    def __init__(self, model: TrainedEncoder) -> None:
        opened = model.checkpoint()
        self._tokenizer, self._shape = opened.tokenizer, opened.shape
        self.facts: Mapping[str, Any] = {"vocabulary": opened.shape.vocabulary, "parameters": parameter_count(opened.shape)}

    def tokens(self, texts: Sequence[str]) -> IntArray:
        """How many tokens each whole text has."""
        return np.array([len(ids) for ids in self._tokenizer.ids(_lowercase(texts))], dtype=np.int64)

    def read(self, texts: Sequence[str]) -> IntArray:
        """How many places the deep layers see of each text, which is cut by characters first."""
        lengths = self.tokens([self._shape.read(text) for text in texts])
        return -(-lengths // self._shape.stride)

    def unknown(self, texts: Sequence[str]) -> float | None:
        """The share of tokens that are none of the vocabulary."""
        strange, every = self._tokenizer.unknown(_lowercase(texts))
        return strange / every if every else None


def _lowercase(texts: Sequence[str]) -> list[str]:
    """The texts as a net of the lab would read them if it cut none."""
    return [normalise_input(text, len(text)) for text in texts]


class InputUnitCounter:
    """Bytes or code points, of which there are no unknown ones."""

    def __init__(self, model: TransformersModel) -> None:
        self._model = model
        self.facts: Mapping[str, Any] = {}

    def tokens(self, texts: Sequence[str]) -> IntArray:
        """How many tokens each whole text has, special ones included."""
        return np.array([self._model.input_units.count(text) for text in texts], dtype=np.int64)

    def read(self, texts: Sequence[str]) -> IntArray:
        """How many places the deep layers see: of CANINE's characters one in four."""
        lengths = np.minimum(self.tokens(texts), self._model.max_tokens)
        return -(-lengths // (_CANINE_DOWNSAMPLING if isinstance(self._model, Canine) else 1))

    def unknown(self, texts: Sequence[str]) -> float:
        """No token: every byte and every code point has an id."""
        return 0.0


class EncoderTokenCounter:
    """Tokens of a loaded encoder, as far as it tells of them."""

    def __init__(self, model: EncoderModel) -> None:
        self._encoder = model.load()
        self.facts: Mapping[str, Any] = self._encoder.facts()

    def tokens(self, texts: Sequence[str]) -> IntArray | None:
        """How many tokens each text has, special tokens included; None where the model cuts one, for it counts none beyond."""
        return None if self._encoder.cut(texts) else self.read(texts)

    def read(self, texts: Sequence[str]) -> IntArray | None:
        """How many tokens of each text the model reads, where it tells."""
        lengths = getattr(self._encoder, "lengths", None)
        return None if lengths is None else np.array(lengths(texts), dtype=np.int64)

    def unknown(self, texts: Sequence[str]) -> float | None:
        """The share of unknown tokens, where the encoder counts them."""
        count = getattr(self._encoder, "unknown", None)
        strange, every = count(texts) if count else (0, 0)
        return strange / every if every else None


@dataclass(frozen=True, slots=True)
class TokenLengths:
    """How many there are in a text: the mean, and the 95th percentile."""

    mean: float
    p95: float


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """`tokens` are those of whole texts, `read` is the sequence as the deep layers of a model see it: cut where the model cuts,
    after any downsampling.

    `unknown` is the share of the queries' tokens that stand for nothing in the vocabulary or, of BM25, that no document has.
    Whatever a model does not tell is None.
    """

    document_tokens: TokenLengths | None = None
    query_tokens: TokenLengths | None = None
    document_read: TokenLengths | None = None
    query_read: TokenLengths | None = None
    unknown: float | None = None
    vocabulary: int | None = None
    parameters: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class DocumentCounts:
    """What was counted of the documents, and the counter that goes on to queries."""

    counter: TokenCounter | None
    tokens: TokenLengths | None = None
    read: TokenLengths | None = None

    def with_queries(self, texts: Sequence[str], told: Mapping[str, Any]) -> TokenCounts:
        """The counts of the documents and of these queries; `told` is what the loaded model says of itself."""
        if self.counter is None:
            return TokenCounts()
        facts = {**told, **self.counter.facts}
        return TokenCounts(
            document_tokens=self.tokens,
            query_tokens=_summarize_lengths(self.counter.tokens(texts)),
            document_read=self.read,
            query_read=_summarize_lengths(self.counter.read(texts)),
            unknown=self.counter.unknown(texts),
            vocabulary=_count(facts.get("vocabulary")),
            parameters=_count(facts.get("parameters")),
        )


def document_counts(stage: Stage, corpus: Corpus) -> DocumentCounts:
    """The counts of a system on all documents; one that no tokenizer is known of counts nothing."""
    if not isinstance(stage, BM25 | Dense):
        return DocumentCounts(None)
    counter: TokenCounter = TermCounter(stage.index(corpus)) if isinstance(stage, BM25) else model_counter(stage.model)
    texts = list(passage_texts(corpus, stage.fields).values())
    return DocumentCounts(counter, _summarize_lengths(counter.tokens(texts)), _summarize_lengths(counter.read(texts)))


def _summarize_lengths(found: IntArray | None) -> TokenLengths | None:
    if found is None or not len(found):
        return None
    return TokenLengths(float(found.mean()), float(np.percentile(found, 95)))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
