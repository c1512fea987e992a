"""What counts tokens: BM25's terms, a checkpoint's tokenizer, an alphabet, or whatever a loaded encoder tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ...data.arrays import IntArray
from ...models.canine import Canine
from ...models.ports import EncoderModel
from ...models.transformers_model import TransformersModel
from ...models.trial.model import Trial
from ...models.trial.shape import parameters, text_read
from ...stages.bm25 import BM25Searcher

_CANINE_RATE = 4
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
    if isinstance(model, Trial):
        return TrialCounter(model)
    return AlphabetCounter(model) if isinstance(model, TransformersModel) else EncoderCounter(model)


class LexicalCounter:
    """Terms of BM25, which reads all of them."""

    def __init__(self, searcher: BM25Searcher) -> None:
        self._searcher = searcher
        self.facts: Mapping[str, Any] = {"vocabulary": len(searcher.index.vocabulary)}

    def tokens(self, texts: Sequence[str]) -> IntArray:
        """How many terms each text has."""
        return np.array([len(self._searcher.terms.of(text)) for text in texts], dtype=np.int64)

    def read(self, texts: Sequence[str]) -> None:
        """No model reads them."""

    def unknown(self, texts: Sequence[str]) -> float | None:
        """The share of terms that no document has."""
        terms = [self._searcher.terms.of(text) for text in texts]
        known = sum(len(self._searcher.index.known(each)) for each in terms)
        every = sum(map(len, terms))
        return 1 - known / every if every else None


class TrialCounter:
    """Tokens of a checkpoint of the lab, counted as its net gets them: in lower case."""

    def __init__(self, model: Trial) -> None:
        opened = model.checkpoint()
        self._tokenizer, self._shape = opened.tokenizer, opened.shape
        self.facts: Mapping[str, Any] = {"vocabulary": opened.shape.vocabulary, "parameters": parameters(opened.shape)}

    def tokens(self, texts: Sequence[str]) -> IntArray:
        """How many tokens each whole text has."""
        return np.array([len(ids) for ids in self._tokenizer.ids(_lowered(texts))], dtype=np.int64)

    def read(self, texts: Sequence[str]) -> IntArray:
        """How many places the deep layers see of each text, which is cut by characters first."""
        lengths = self.tokens([self._shape.read(text) for text in texts])
        return -(-lengths // self._shape.stride)

    def unknown(self, texts: Sequence[str]) -> float | None:
        """The share of tokens that are none of the vocabulary."""
        strange, every = self._tokenizer.unknown(_lowered(texts))
        return strange / every if every else None


def _lowered(texts: Sequence[str]) -> list[str]:
    """The texts as a net of the lab would read them if it cut none."""
    return [text_read(text, len(text)) for text in texts]


class AlphabetCounter:
    """Bytes or code points, of which there are no unknown ones."""

    def __init__(self, model: TransformersModel) -> None:
        self._model = model
        self.facts: Mapping[str, Any] = {}

    def tokens(self, texts: Sequence[str]) -> IntArray:
        """How many tokens each whole text has, special ones included."""
        return np.array([self._model.alphabet.count(text) for text in texts], dtype=np.int64)

    def read(self, texts: Sequence[str]) -> IntArray:
        """How many places the deep layers see: of CANINE's characters one in four."""
        lengths = np.minimum(self.tokens(texts), self._model.max_tokens)
        return -(-lengths // (_CANINE_RATE if isinstance(self._model, Canine) else 1))

    def unknown(self, texts: Sequence[str]) -> float:
        """No token: every byte and every code point has an id."""
        return 0.0


class EncoderCounter:
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
