"""Query and passage to a score by a written graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..data.arrays import FloatArray, frozen
from .onnx_session import Session, each
from .tokenizer_file import TokenizerFile, Tokens


class OnnxPairScorer:
    """A loaded cross-encoder; a pair's bits depend on nothing but the pair.

    With one label the score is its logit; with two it is the second's less the first's, the log-odds of the second.
    """

    def __init__(self, session: Session, tokenizer: TokenizerFile, *, threads: int, told: Mapping[str, Any]) -> None:
        self._session, self._tokenizer = session, tokenizer
        self._threads = threads
        self._told = told

    def scores(self, query: str, passages: Sequence[str]) -> FloatArray:
        """One score a passage."""
        pairs = self._tokens(query, passages)
        return frozen(np.array(each(self._score, pairs, threads=self._threads), dtype=np.float64))

    def cut(self, query: str, passages: Sequence[str]) -> int:
        """How many of the pairs are longer than the model reads."""
        return sum(tokens.cut for tokens in self._tokens(query, passages))

    def facts(self) -> Mapping[str, Any]:
        """What was told of the model."""
        return {"library": self._session.library, **self._told}

    def _tokens(self, query: str, passages: Sequence[str]) -> list[Tokens]:
        return [self._tokenizer.of_pair(query, passage) for passage in passages]

    def _score(self, tokens: Tokens) -> float:
        logits = self._session.run(tokens).astype(np.float64)
        return float(logits[0] if len(logits) == 1 else logits[1] - logits[0])
