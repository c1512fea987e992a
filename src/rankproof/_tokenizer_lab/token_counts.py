"""Numbers of tokens per text for each kind of system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np

from rankproof._data.arrays import IntArray
from rankproof._data.corpus import Corpus
from rankproof.models._base import EncoderModel
from rankproof.models._trained.checkpoint import TrainedEncoder
from rankproof.models._trained.shape import normalise_input, parameter_count
from rankproof.models._transformers import Canine, TransformersModel
from rankproof.stages._base import Stage
from rankproof.stages._bm25 import BM25, BM25Searcher
from rankproof.stages._dense import Dense
from rankproof.stages._fields import passage_texts
from rankproof.stages._text_vectors import add_prompt

_CANINE_DOWNSAMPLING = 4
"""Characters per position of CANINE's deep layers (Clark et al. 2022)."""
_COUNTED_TEXTS = 10_000


class TokenCounter(Protocol):
    """Counts the tokens of texts."""

    def tokens(self, texts: Sequence[str]) -> IntArray | None:
        """The number of tokens of each full text; None if unknown."""

    def read(self, texts: Sequence[str]) -> IntArray | None:
        """The number of positions of each text in the deep layers; None if unknown."""

    def unknown(self, texts: Sequence[str]) -> float | None:
        """The share of unknown tokens; None if unknown."""

    @property
    def facts(self) -> Mapping[str, Any]: ...


def model_counter(model: EncoderModel) -> TokenCounter:
    """The token counter of a checkpoint, a byte or character model, or any loaded encoder."""
    if isinstance(model, TrainedEncoder):
        return TrainedTokenCounter(model)
    return InputUnitCounter(model) if isinstance(model, TransformersModel) else EncoderTokenCounter(model)


class TermCounter:
    """Counts the terms of BM25."""

    def __init__(self, searcher: BM25Searcher) -> None:
        self._searcher = searcher
        self.facts: Mapping[str, Any] = {"vocabulary": searcher.totals.vocabulary}

    def tokens(self, texts: Sequence[str]) -> IntArray:
        """The number of terms of each text."""
        return np.array([len(self._searcher.terms.tokenize(text)) for text in texts], dtype=np.int64)

    def read(self, texts: Sequence[str]) -> None:
        """None: there is no model."""

    def unknown(self, texts: Sequence[str]) -> float | None:
        """The share of terms that no document contains."""
        terms = [term for text in texts for term in self._searcher.terms.tokenize(text)]
        known = sum(frequency > 0 for frequency in self._searcher.frequencies(terms))
        return 1 - known / len(terms) if terms else None


class TrainedTokenCounter:
    """Counts the tokens of a checkpoint, in lower case as its network reads them."""

    def __init__(self, model: TrainedEncoder) -> None:
        opened = model.checkpoint()
        self._tokenizer, self._shape = opened.tokenizer, opened.shape
        self.facts: Mapping[str, Any] = {"vocabulary": opened.shape.vocabulary, "parameters": parameter_count(opened.shape)}

    def tokens(self, texts: Sequence[str]) -> IntArray:
        """The number of tokens of each full text."""
        return np.array([len(ids) for ids in self._tokenizer.ids(_lowercase(texts))], dtype=np.int64)

    def read(self, texts: Sequence[str]) -> IntArray:
        """The number of positions in the deep layers, after truncation by characters."""
        lengths = self.tokens([self._shape.read(text) for text in texts])
        return -(-lengths // self._shape.stride)

    def unknown(self, texts: Sequence[str]) -> float | None:
        """The share of tokens that are not in the vocabulary."""
        unknown, every = self._tokenizer.unknown(_lowercase(texts))
        return unknown / every if every else None


def _lowercase(texts: Sequence[str]) -> list[str]:
    """The texts as the network reads them, without truncation."""
    return [normalise_input(text, len(text)) for text in texts]


class InputUnitCounter:
    """Counts bytes or code points; none is unknown."""

    def __init__(self, model: TransformersModel) -> None:
        self._model = model
        self.facts: Mapping[str, Any] = {}

    def tokens(self, texts: Sequence[str]) -> IntArray:
        """The number of tokens of each full text, with special tokens."""
        return np.array([self._model.input_units.count(text) for text in texts], dtype=np.int64)

    def read(self, texts: Sequence[str]) -> IntArray:
        """The number of positions in the deep layers: one per four characters for CANINE."""
        lengths = np.minimum(self.tokens(texts), self._model.max_tokens)
        return -(-lengths // (_CANINE_DOWNSAMPLING if isinstance(self._model, Canine) else 1))

    def unknown(self, texts: Sequence[str]) -> float:
        """0: every byte and code point has an id."""
        return 0.0


class EncoderTokenCounter:
    """Counts the tokens of a loaded encoder, if it reports them."""

    def __init__(self, model: EncoderModel) -> None:
        self._encoder = model.load()
        self.facts: Mapping[str, Any] = self._encoder.facts()

    def tokens(self, texts: Sequence[str]) -> IntArray | None:
        """The number of tokens of each text, with special tokens; None if the model truncates a text."""
        return None if self._encoder.cut(texts) else self.read(texts)

    def read(self, texts: Sequence[str]) -> IntArray | None:
        """The number of tokens that the model reads of each text, if reported."""
        lengths = getattr(self._encoder, "lengths", None)
        return None if lengths is None else np.array(lengths(texts), dtype=np.int64)

    def unknown(self, texts: Sequence[str]) -> float | None:
        """The share of unknown tokens, if reported."""
        count = getattr(self._encoder, "unknown", None)
        unknown, every = count(texts) if count else (0, 0)
        return unknown / every if every else None


@dataclass(frozen=True, slots=True)
class TokenLengths:
    """The mean and the 95th percentile of the number of tokens per text."""

    mean: float
    p95: float


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Token counts of a system: `tokens` of full texts, `read` of the sequence in the deep layers, truncated and downsampled.

    `unknown` is the share of query tokens that are not in the vocabulary or, for BM25, in no document. Unknown values are None.
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
    """The counts of the documents, and the counter and the prompt of the queries."""

    counter: TokenCounter | None
    tokens: TokenLengths | None = None
    read: TokenLengths | None = None
    query_prompt: str = ""

    def with_queries(self, texts: Sequence[str], model_facts: Mapping[str, Any]) -> TokenCounts:
        """The counts of the documents and of these queries; `model_facts` are those of the loaded model."""
        if self.counter is None:
            return TokenCounts()
        facts, texts = {**model_facts, **self.counter.facts}, [add_prompt(self.query_prompt, text) for text in texts]
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
    """The counts of a system on all documents, after their prompt; empty if its tokenizer is unknown."""
    if not isinstance(stage, BM25 | Dense):
        return DocumentCounts(None)
    counter: TokenCounter = TermCounter(stage.index(corpus)) if isinstance(stage, BM25) else model_counter(stage.model)
    query, passage = (stage.query_prompt, stage.passage_prompt) if isinstance(stage, Dense) else ("", "")
    texts = passage_texts(corpus, stage.fields)
    tokens, read = (
        _summarize_lengths(_counts(count, (add_prompt(passage, text) for text in texts.values())))
        for count in (counter.tokens, counter.read)
    )
    return DocumentCounts(counter, tokens, read, query)


def _counts(count: Callable[[Sequence[str]], IntArray | None], texts: Iterable[str]) -> IntArray | None:
    """The counts of the texts, some texts at a time; None if they are unknown."""
    every, counts = iter(texts), [np.zeros(0, np.int64)]
    # In parts, so that the tokens of a large corpus need not fit in memory.
    while part := list(islice(every, _COUNTED_TEXTS)):
        if (counted := count(part)) is None:
            return None
        counts.append(counted)
    return np.concatenate(counts)


def _summarize_lengths(lengths: IntArray | None) -> TokenLengths | None:
    if lengths is None or not len(lengths):
        return None
    return TokenLengths(float(lengths.mean()), float(np.percentile(lengths, 95)))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
