"""Text to vectors by a written graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..data.arrays import Matrix, frozen
from .model_folder import Pooling
from .onnx_session import Session, each
from .tokenizer_file import TokenizerFile, Tokens
from .unit import unit


class OnnxEncoder:
    """A loaded encoder of the BERT family; a text's bits depend on nothing but the text."""

    def __init__(
        self, session: Session, tokenizer: TokenizerFile, *, size: int, pooling: Pooling, threads: int, told: Mapping[str, Any]
    ) -> None:
        self._session, self._tokenizer = session, tokenizer
        self._size, self._pooling, self._threads = size, pooling, threads
        self._told = told

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row a text."""
        rows = np.zeros((len(texts), self._size), dtype=np.float32)
        for row, vector in zip(rows, each(self._vector, self._tokens(texts), threads=self._threads), strict=True):
            row[:] = vector
        return frozen(rows)

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one row a token, special tokens included."""
        return each(self._token_vectors, self._tokens(texts), threads=self._threads)

    def cut(self, texts: Sequence[str]) -> int:
        """How many of the texts are longer than the model reads."""
        return sum(tokens.cut for tokens in self._tokens(texts))

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text are read, special tokens included."""
        return [len(tokens.ids) for tokens in self._tokens(texts)]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """How many tokens stand for something that is not in the vocabulary, and how many there are."""
        return self._tokenizer.unknown(texts)

    def facts(self) -> Mapping[str, Any]:
        """What was told of the model."""
        return {"library": self._session.library, "dimensions": self._size, "pooling": self._pooling, **self._told}

    def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        return each(self._tokenizer.of, texts, threads=self._threads)

    def _vector(self, tokens: Tokens) -> Matrix:
        if not tokens.ids:
            return np.zeros(self._size, dtype=np.float32)
        states = self._session.run(tokens)
        return unit(states[0] if self._pooling == "cls" else states.mean(axis=0, dtype=np.float32))

    def _token_vectors(self, tokens: Tokens) -> Matrix:
        if not tokens.ids:
            return frozen(np.zeros((0, self._size), dtype=np.float32))
        return frozen(unit(self._session.run(tokens)))
